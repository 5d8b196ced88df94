// SPDX-License-Identifier: Apache-2.0
///
/// Kernels whose rows choose among columns, and kernels on rows that are such choices.
#include "dialects/Dataflow/Dataflow.h"
#include "heddle/Limits.h"
#include "heddle/Selection.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;

namespace heddle::dataflow {

/// Returns the dimension of the choices of rows; an invalid size if these rows can have no choices.
static int64_t choicesOf(int64_t rows, int64_t count) {
  std::optional<RowSpace> space = rowSpaceOf(rows);
  std::optional<RowSpace> choices = space ? space->choices(count) : std::nullopt;
  return choices ? RowDimension{*choices}.number() : anySize;
}

/// Checks that each row chooses at most as many columns as there are.
static LogicalResult verifyChoices(KernelFamily family, EmitError emitError, int64_t count,
                                   int64_t columns) {
  if (failed(verifyPositive(family, emitError, {count, columns}))) {
    return failure();
  }
  if (count > columns || count > SplitSize::mostParts) {
    return emitError() << "expects at most " << std::min(columns, SplitSize::mostParts)
                       << " choices of " << columns << " columns, got " << count;
  }
  return success();
}

/// Checks that the rows are not choices themselves: choices have no choices of their own.
static LogicalResult verifyChoosing(EmitError emitError, FunctionType type) {
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  return rows && rows->isSplit()
             ? LogicalResult(emitError()
                             << "expects rows that are no choices themselves, got " << rows->text())
             : success();
}

// --- top_k -----------------------------------------------------------------------------------

StringRef TopKAttr::getNoun() const { return "a choice of the largest"; }

std::string TopKAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}of{1}", getCount(), getColumns());
}

LogicalResult TopKAttr::verifyNumbers(EmitError emitError) const {
  return verifyChoices(*this, emitError, getCount(), getColumns());
}

int64_t TopKAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> TopKAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getColumns()}}};
}

SmallVector<KernelResult> TopKAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getCount()}},
          {.shape = SmallVector<int64_t>{choicesOf(rowsOf(type), getCount())}, .isInteger = true}};
}

LogicalResult TopKAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  return verifyChoosing(emitError, type);
}

Division TopKAttr::getDivision(FunctionType) const { return {}; }

Flops TopKAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport TopKAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> TopKAttr::getEpilogueResult() const { return std::nullopt; }

bool TopKAttr::hidesLaterKeys() const { return false; }

std::optional<double> TopKAttr::evaluate(const KernelRun &run, unsigned result, int64_t row,
                                         int64_t column) const {
  int64_t of = result == 0 ? row : row / getCount();
  int64_t place = result == 0 ? column : row % getCount();
  SmallVector<int64_t> columns(getColumns());
  std::iota(columns.begin(), columns.end(), 0);
  llvm::sort(columns, [&](int64_t left, int64_t right) {
    double a = run.at(0, of, left), b = run.at(0, of, right);
    if (std::isnan(a) || std::isnan(b) || a == b) {
      return std::isnan(a) == std::isnan(b) ? left < right : std::isnan(a);
    }
    return a > b;
  });
  return result == 0 ? run.at(0, of, columns[place]) : static_cast<double>(columns[place]);
}

// --- order -----------------------------------------------------------------------------------

StringRef OrderAttr::getNoun() const { return "an order of rows"; }

std::string OrderAttr::getSizes(FunctionType) const { return std::to_string(getGroups()); }

LogicalResult OrderAttr::verifyNumbers(EmitError emitError) const {
  if (getGroups() < 1 || getGroups() > mostGroups) {
    return emitError() << "expects 1 to " << mostGroups << " groups, got " << getGroups();
  }
  return success();
}

int64_t OrderAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> OrderAttr::getInputs(FunctionType type) const {
  return {{.role = KernelInput::Role::Chosen,
           .shape = SmallVector<int64_t>{rowsOf(type)},
           .isInteger = true,
           .isDense = true,
           .limit = getGroups()}};
}

SmallVector<KernelResult> OrderAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type)}, .isInteger = true}};
}

LogicalResult OrderAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division OrderAttr::getDivision(FunctionType) const { return {.rowsShareWork = true}; }

Flops OrderAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport OrderAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> OrderAttr::getEpilogueResult() const { return std::nullopt; }

bool OrderAttr::hidesLaterKeys() const { return false; }

std::optional<double> OrderAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                          int64_t) const {
  SmallVector<int64_t> rows(run.resultRows().count());
  std::iota(rows.begin(), rows.end(), 0);
  llvm::sort(rows, [&](int64_t left, int64_t right) {
    return std::pair(run.at(0, left), left) < std::pair(run.at(0, right), right);
  });
  return static_cast<double>(rows[row]);
}

// --- repeat ----------------------------------------------------------------------------------

StringRef RepeatAttr::getNoun() const { return "a repetition"; }

std::string RepeatAttr::getSizes(FunctionType type) const {
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  return llvm::formatv("{0}x{1}", rows ? rows->parts() : 1, getWidth());
}

LogicalResult RepeatAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, getWidth());
}

int64_t RepeatAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> RepeatAttr::getInputs(FunctionType type) const {
  int64_t rows = RowDimension{spaceOfInput(type, 0)}.number();
  return {{.role = KernelInput::Role::Routed, .shape = SmallVector<int64_t>{rows, getWidth()}}};
}

SmallVector<KernelResult> RepeatAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

LogicalResult RepeatAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  if (rows && (!rows->isSplit() || rows->base() != spaceOfInput(type, 0))) {
    return emitError() << "expects a result of choices of the input's rows, got " << rows->text()
                       << " of " << spaceOfInput(type, 0).text();
  }
  return success();
}

Division RepeatAttr::getDivision(FunctionType) const { return {}; }

Flops RepeatAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport RepeatAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> RepeatAttr::getEpilogueResult() const { return 0; }

bool RepeatAttr::hidesLaterKeys() const { return false; }

std::optional<double> RepeatAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  return run.at(0, row / rowSpaceOf(rowsOf(run.type))->parts(), column);
}

// --- place_columns ---------------------------------------------------------------------------

StringRef PlaceColumnsAttr::getNoun() const { return "values in chosen columns"; }

std::string PlaceColumnsAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}of{1}", getCount(), getColumns());
}

LogicalResult PlaceColumnsAttr::verifyNumbers(EmitError emitError) const {
  return verifyChoices(*this, emitError, getCount(), getColumns());
}

int64_t PlaceColumnsAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> PlaceColumnsAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getCount()}},
          {.role = KernelInput::Role::Chosen,
           .shape = SmallVector<int64_t>{choicesOf(rowsOf(type), getCount())},
           .isInteger = true,
           .isDense = true,
           .limit = getColumns()}};
}

SmallVector<KernelResult> PlaceColumnsAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getColumns()}}};
}

LogicalResult PlaceColumnsAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  return verifyChoosing(emitError, type);
}

Division PlaceColumnsAttr::getDivision(FunctionType) const { return {}; }

Flops PlaceColumnsAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport PlaceColumnsAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> PlaceColumnsAttr::getEpilogueResult() const { return std::nullopt; }

bool PlaceColumnsAttr::hidesLaterKeys() const { return false; }

std::optional<double> PlaceColumnsAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                                 int64_t column) const {
  for (int64_t choice = getCount(); choice-- > 0;) {
    if (static_cast<int64_t>(run.at(1, row * getCount() + choice)) == column) {
      return run.at(0, row, choice);
    }
  }
  return 0;
}

// --- peaks -----------------------------------------------------------------------------------

/// Checks the division of logits into pieces.
static LogicalResult verifyPieces(EmitError emitError, int64_t columns, int64_t piece) {
  if (columns > largestSelectedVocabulary) {
    return emitError() << "expects at most " << largestSelectedVocabulary << " columns, got "
                       << columns;
  }
  if (piece > largestSelectedVocabulary || piece % sumsOfPiece != 0) {
    return emitError() << "expects pieces of a multiple of " << sumsOfPiece << " columns, at most "
                       << largestSelectedVocabulary << ", got " << piece;
  }
  return success();
}

/// A column as the kernels store it, the bits of an i32, read as f32.
static double storedColumn(int64_t column) {
  return static_cast<double>(llvm::bit_cast<float>(static_cast<int32_t>(column)));
}

StringRef PeaksAttr::getNoun() const { return "the largest logits of pieces"; }

std::string PeaksAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}of{1}", getPieces(), getColumns());
}

int64_t PeaksAttr::getPieces() const { return piecesOf(getColumns(), getPiece()); }

LogicalResult PeaksAttr::verifyNumbers(EmitError emitError) const {
  return failed(verifyPositive(*this, emitError, {getColumns(), getPiece()}))
             ? failure()
             : verifyPieces(emitError, getColumns(), getPiece());
}

int64_t PeaksAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> PeaksAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getColumns()}}};
}

SmallVector<KernelResult> PeaksAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), peakWords * getPieces()}}};
}

LogicalResult PeaksAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division PeaksAttr::getDivision(FunctionType) const {
  return {.columns = Division::Columns::Heads, .count = getPieces(), .size = peakWords};
}

Flops PeaksAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport PeaksAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> PeaksAttr::getEpilogueResult() const { return std::nullopt; }

bool PeaksAttr::hidesLaterKeys() const { return false; }

std::optional<double> PeaksAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                          int64_t column) const {
  const int64_t begin = column / peakWords * getPiece();
  const int64_t end = std::min(begin + getPiece(), getColumns());
  double largest = -std::numeric_limits<double>::infinity();
  int64_t place = 0;
  for (int64_t each = begin; each < end; ++each) {
    const double element = run.at(0, row, each);
    place = element > largest ? each : place;
    largest = element > largest ? element : largest;
  }
  double sum = 0;
  for (int64_t each = begin; each < end; ++each) {
    const double element = run.at(0, row, each);
    sum += std::isinf(element) && element < 0 ? 0 : std::exp(element - largest);
  }
  return std::array{largest, sum, storedColumn(place)}[static_cast<size_t>(column % peakWords)];
}

// --- select ----------------------------------------------------------------------------------

StringRef SelectAttr::getNoun() const { return "a selection of tokens"; }

std::string SelectAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}of{1}", getCount(), getColumns());
}

int64_t SelectAttr::getPieces() const { return piecesOf(getColumns(), getPiece()); }

LogicalResult SelectAttr::verifyNumbers(EmitError emitError) const {
  if (failed(verifyPositive(*this, emitError, {getColumns(), getPiece(), getCount()})) ||
      failed(verifyPieces(emitError, getColumns(), getPiece()))) {
    return failure();
  }
  if (getCount() > std::min(getColumns(), mostSelected)) {
    return emitError() << "expects at most " << std::min(getColumns(), mostSelected) << " of "
                       << getColumns() << " columns, got " << getCount();
  }
  return success();
}

int64_t SelectAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> SelectAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getColumns()}},
          {.shape = SmallVector<int64_t>{rowsOf(type), peakWords * getPieces()}}};
}

SmallVector<KernelResult> SelectAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), selectedPair * (getPieces() + getCount())}}};
}

LogicalResult SelectAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division SelectAttr::getDivision(FunctionType) const {
  return {
      .columns = Division::Columns::Heads, .count = getPieces() + getCount(), .size = selectedPair};
}

Flops SelectAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport SelectAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> SelectAttr::getEpilogueResult() const { return std::nullopt; }

bool SelectAttr::hidesLaterKeys() const { return false; }

std::optional<double> SelectAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  const int64_t pair = column / selectedPair;
  const bool isSecond = column % selectedPair != 0;
  if (pair < getPieces()) {
    return run.at(1, row, pair * peakWords + (isSecond ? 1 : 0));
  }
  SmallVector<int64_t> columns;
  for (int64_t each = 0; each < getColumns(); ++each) {
    if (run.at(0, row, each) > -std::numeric_limits<double>::infinity()) {
      columns.push_back(each);
    }
  }
  llvm::sort(columns, [&](int64_t left, int64_t right) {
    return std::pair(-run.at(0, row, left), left) < std::pair(-run.at(0, row, right), right);
  });
  const auto rank = static_cast<size_t>(pair - getPieces());
  const bool exists = rank < columns.size();
  if (isSecond) {
    return storedColumn(exists ? columns[rank] : 0);
  }
  return exists ? run.at(0, row, columns[rank]) : -std::numeric_limits<double>::infinity();
}

} // namespace heddle::dataflow
