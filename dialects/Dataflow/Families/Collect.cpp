// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that move rows into another order and concatenate them column-wise.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;

namespace heddle::dataflow {

/// Returns whether rows of one space have the same sequences and positions as rows of the other, or
/// are their last rows.
static bool canMove(RowSpace from, RowSpace to) {
  auto isOfTokens = [](RowSpace space) { return space == RowSpace::tokens() || space.isOfSteps(); };
  return from == to || (isOfTokens(from) && isOfTokens(to)) ||
         (from.isOfSteps() && to == RowSpace::sequences()) ||
         (from == RowSpace::sequences() && (to == RowSpace::ranks() || isOfTokens(to)));
}

/// Returns whether the rows hold numbers for each key, [rows, heads, longest].
static bool areOfKeys(FunctionType type) {
  auto result = dyn_cast<BufferType>(type.getResult(0));
  return result && result.getShape().size() == 3;
}

/// Returns the shape of `rows` rows of a width. For rows of keys the width is the number of heads.
static SmallVector<int64_t> rowsOfWidth(FunctionType type, int64_t rows, int64_t width) {
  SmallVector<int64_t> shape = {rows, width};
  if (areOfKeys(type)) {
    shape.push_back(longestDimension);
  }
  return shape;
}

static int64_t widthOf(CollectAttr family) {
  ArrayRef<int64_t> widths = family.getWidths();
  return std::accumulate(widths.begin(), widths.end(), int64_t{0});
}

StringRef CollectAttr::getNoun() const { return "a collection of rows"; }

std::string CollectAttr::getSizes(FunctionType type) const {
  std::string sizes;
  for (auto [index, width] : llvm::enumerate(getWidths())) {
    std::string from =
        spaceOfInput(type, index) == rowSpaceOf(rowsOf(type))
            ? ""
            : "_of_" +
                  std::string(
                      rowSpaceTable[static_cast<size_t>(spaceOfInput(type, index).kind())].name);
    sizes += (index == 0 ? "" : "_") + std::to_string(width) + from;
  }
  return areOfKeys(type) ? sizes + "_keys" : sizes;
}

LogicalResult CollectAttr::verifyNumbers(EmitError emitError) const {
  // The kernel has code for each input.
  constexpr size_t mostInputs = 64;
  constexpr int64_t mostElements = int64_t{1} << 30;
  int64_t total = 0;
  bool fits = !getWidths().empty() && getWidths().size() <= mostInputs;
  for (int64_t width : getWidths()) {
    fits = fits && width > 0 && width <= mostElements;
    total += fits ? width : 0;
  }
  if (fits && total <= mostElements) {
    return success();
  }
  InFlightDiagnostic error = emitError() << "expects 1 to " << mostInputs
                                         << " widths above 0 of at most 2^30 in all, got [";
  llvm::interleaveComma(getWidths(), error);
  return error << "]";
}

int64_t CollectAttr::getNumInputs() const { return static_cast<int64_t>(getWidths().size()); }

SmallVector<KernelInput> CollectAttr::getInputs(FunctionType type) const {
  SmallVector<KernelInput> inputs;
  for (auto [index, width] : llvm::enumerate(getWidths())) {
    RowDimension rows{spaceOfInput(type, index)};
    bool isMoved = rows.number() != rowsOf(type);
    inputs.push_back({.role = isMoved ? KernelInput::Role::Moved : KernelInput::Role::Rows,
                      .shape = rowsOfWidth(type, rows.number(), width)});
  }
  return inputs;
}

SmallVector<KernelResult> CollectAttr::getResults(FunctionType type) const {
  return {{.shape = rowsOfWidth(type, rowsOf(type), widthOf(*this))}};
}

LogicalResult CollectAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (areOfKeys(type) && type.getNumInputs() != 1) {
    return emitError() << "expects one operand where rows are numbers of keys, got "
                       << type.getNumInputs();
  }
  for (unsigned index = 0; index < getWidths().size(); ++index) {
    RowSpace from = spaceOfInput(type, index);
    if (!canMove(from, *rowSpaceOf(rowsOf(type)))) {
      return emitError() << "expects input #" << index << " to have the rows of the result, "
                         << dimensionText(rowsOf(type)) << ", in some order, got " << from.text();
    }
  }
  return success();
}

Division CollectAttr::getDivision(FunctionType) const { return {}; }

Flops CollectAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport CollectAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> CollectAttr::getEpilogueResult() const { return 0; }

bool CollectAttr::hidesLaterKeys() const { return false; }

/// Finds the row of `rows` with the given sequence and position.
static int64_t findRow(const RunRows &rows, int64_t sequence, int64_t position) {
  for (int64_t row = 0; row < rows.count(); ++row) {
    if (rows.sequenceOf[row] == sequence && rows.positions[row] == position) {
      return row;
    }
  }
  llvm_unreachable("the rows of two orders are the same");
}

std::optional<double> CollectAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                            int64_t column) const {
  unsigned input = 0;
  for (; !areOfKeys(run.type) && column >= getWidths()[input]; ++input) {
    column -= getWidths()[input];
  }
  RowSpace from = spaceOfInput(run.type, input);
  RowSpace to = *rowSpaceOf(rowsOf(run.type));
  if (from == to) {
    return run.at(input, row, column);
  }
  const RunRows &source = run.rowsOf(from);
  const RunRows &rows = run.resultRows();
  if (to == RowSpace::sequences()) {
    return run.at(input, source.lastRowOf(row), column);
  }
  int64_t sequence = rows.sequenceOf[row];
  int64_t found =
      from == RowSpace::sequences() ? sequence : findRow(source, sequence, rows.positions[row]);
  return run.at(input, found, column);
}

} // namespace heddle::dataflow
