// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that make one pass over rows: element-wise maths, look-ups, convolutions, pooling.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace heddle::dataflow {

// --- rows ------------------------------------------------------------------------------------

StringRef RowsAttr::getNoun() const { return "element-wise maths"; }

std::string RowsAttr::getSizes(FunctionType) const { return std::to_string(getWidth()); }

LogicalResult RowsAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, getWidth());
}

int64_t RowsAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> RowsAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

SmallVector<KernelResult> RowsAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

LogicalResult RowsAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division RowsAttr::getDivision(FunctionType) const { return {}; }

Flops RowsAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport RowsAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> RowsAttr::getEpilogueResult() const { return 0; }

bool RowsAttr::hidesLaterKeys() const { return false; }

std::optional<double> RowsAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                         int64_t column) const {
  return run.at(0, row, column);
}

// --- reduce ----------------------------------------------------------------------------------

StringRef ReduceAttr::getNoun() const { return "a number of each row"; }

std::string ReduceAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}_{1}", stringifyReduceKind(getKind()), getWidth());
}

LogicalResult ReduceAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, getWidth());
}

int64_t ReduceAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> ReduceAttr::getInputs(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

SmallVector<KernelResult> ReduceAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), 1}}};
}

LogicalResult ReduceAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division ReduceAttr::getDivision(FunctionType) const { return {}; }

Flops ReduceAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport ReduceAttr::getEpilogueSupport() const { return EpilogueSupport::Maths; }

std::optional<unsigned> ReduceAttr::getEpilogueResult() const { return 0; }

bool ReduceAttr::hidesLaterKeys() const { return false; }

std::optional<double> ReduceAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t) const {
  double sum = 0, most = run.at(0, row, 0), least = most;
  for (int64_t column = 0; column < getWidth(); ++column) {
    double value = run.at(0, row, column);
    sum += value;
    most = value > most || std::isnan(value) ? value : most;
    least = value < least || std::isnan(value) ? value : least;
  }
  switch (getKind()) {
  case ReduceKind::Mean:
    return sum / static_cast<double>(getWidth());
  case ReduceKind::Sum:
    return sum;
  case ReduceKind::Max:
    return most;
  case ReduceKind::Min:
    return least;
  }
  llvm_unreachable("every reduction has a formula");
}

// --- convolve --------------------------------------------------------------------------------

StringRef ConvolveAttr::getNoun() const { return "a convolution"; }

std::string ConvolveAttr::getSizes(FunctionType) const {
  std::string dilation = getDilation() > 1 ? "_by" + std::to_string(getDilation()) : "";
  return llvm::formatv("{0}x{1}{2}{3}{4}", getWidth(), getKernel(), dilation,
                       getCausal() ? "_causal" : "", getResumes() ? "_resumed" : "");
}

LogicalResult ConvolveAttr::verifyNumbers(EmitError emitError) const {
  if (failed(verifyPositive(*this, emitError, {getWidth(), getKernel(), getDilation()}))) {
    return failure();
  }
  // Every element of the kernel becomes code.
  constexpr int64_t mostElements = 256;
  if (getKernel() > mostElements || getDilation() > transformer::mostDistance) {
    return emitError() << "expects a kernel of 1 to " << mostElements
                       << " elements and a dilation of at most 2^20, got " << getKernel() << " and "
                       << getDilation();
  }
  return success();
}

int64_t ConvolveAttr::getNumInputs() const { return getResumes() ? 3 : 2; }

SmallVector<KernelInput> ConvolveAttr::getInputs(FunctionType type) const {
  SmallVector<KernelInput> inputs = {{.role = KernelInput::Role::Sequence,
                                      .shape = SmallVector<int64_t>{rowsOf(type), getWidth()}},
                                     {.role = KernelInput::Role::Weights,
                                      .shape = SmallVector<int64_t>{getKernel(), getWidth()},
                                      .isDense = true}};
  if (getResumes()) {
    inputs.push_back({.role = KernelInput::Role::Sequence, .isState = true});
  }
  return inputs;
}

SmallVector<KernelResult> ConvolveAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

LogicalResult ConvolveAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (!getResumes()) {
    return success();
  }
  if (!getCausal() || rowsOf(type) != tokensDimension) {
    return emitError() << "expects a causal convolution of rows of tokens to resume, got "
                       << (getCausal() ? "one" : "a centred one") << " of rows of "
                       << dimensionText(rowsOf(type));
  }
  auto state = cast<StateType>(type.getInput(2));
  if (state.getWidth() != multiplySizes(getRowsBefore(), getWidth())) {
    return emitError() << "expects a state of " << getRowsBefore() << " rows of " << getWidth()
                       << " elements, got " << state;
  }
  return success();
}

Division ConvolveAttr::getDivision(FunctionType) const { return {.rowsShareWork = true}; }

Flops ConvolveAttr::getFlops(FunctionType) const {
  return {.perRow = uint64_t{2} * getKernel() * getWidth()};
}

EpilogueSupport ConvolveAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> ConvolveAttr::getEpilogueResult() const { return 0; }

bool ConvolveAttr::hidesLaterKeys() const { return false; }

std::optional<double> ConvolveAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                             int64_t column) const {
  VisibleKeys rows(run, 0, row);
  // Rows before this run are stored in the state at their positions.
  int64_t start = getResumes() ? run.resultRows().positions[row - rows.own] : 0;
  double sum = 0;
  for (int64_t j = 0; j < getKernel(); ++j) {
    int64_t other = rows.own + (j - getCenter()) * getDilation();
    if (other >= 0 && other < rows.count) {
      sum += run.at(1, j, column) * rows.at(other, column);
    } else if (other < 0 && start + other >= 0) {
      int64_t place = (start + other) % getRowsBefore();
      sum += run.at(1, j, column) * run.atPosition(2, row, 0, place * getWidth() + column);
    }
  }
  return sum;
}

// --- gather ----------------------------------------------------------------------------------

StringRef GatherAttr::getNoun() const { return "a look-up"; }

std::string GatherAttr::getSizes(FunctionType) const {
  return std::to_string(getWidth()) + (getEncoded().empty() ? "" : "_encoded");
}

/// A limit above the look-ups of any model. It is checked before operands are counted.
static constexpr int64_t mostLookups = 1 << 16;

LogicalResult GatherAttr::verifyNumbers(EmitError emitError) const {
  auto positions = static_cast<int64_t>(getPositionOffsets().size());
  if (getLookups() < 0 || getLookups() > mostLookups) {
    return emitError() << "expects 0 to " << mostLookups << " lookups, got " << getLookups();
  }
  if (failed(verifyPositive(*this, emitError, {getWidth(), getLookups() + positions}))) {
    return failure();
  }
  for (int64_t offset : getPositionOffsets()) {
    if (offset < 0) {
      return emitError() << "expects position offsets of 0 or more, got " << offset;
    }
  }
  DenseF32ArrayAttr scales = getScales();
  if (scales && (scales.size() != getLookups() ||
                 !llvm::all_of(scales.asArrayRef(), [](float x) { return std::isfinite(x); }))) {
    return emitError() << "expects a finite scale for each of " << getLookups() << " lookups, got "
                       << scales;
  }
  for (auto [index, lookup] : llvm::enumerate(getEncoded())) {
    if (lookup < 0 || lookup >= getLookups() || (index > 0 && lookup <= getEncoded()[index - 1])) {
      InFlightDiagnostic error = emitError() << "expects encoded lookups in ascending order, below "
                                             << getLookups() << ", got [";
      llvm::interleaveComma(getEncoded(), error);
      return error << "]";
    }
  }
  if (getArithmetic() != Arithmetic::F32 && getEncoded().empty()) {
    return emitError() << "expects encoded lookups of products of "
                       << stringifyArithmetic(getArithmetic()) << ", got none";
  }
  return success();
}

int64_t GatherAttr::getNumInputs() const {
  return 2 * getLookups() + static_cast<int64_t>(getPositionOffsets().size());
}

SmallVector<KernelInput> GatherAttr::getInputs(FunctionType type) const {
  SmallVector<KernelInput> inputs;
  SmallVector<int64_t> table = {anySize, getWidth()};
  for (int64_t i = 0; i < getLookups(); ++i) {
    inputs.push_back({.role = KernelInput::Role::Ids,
                      .shape = SmallVector<int64_t>{rowsOf(type)},
                      .isInteger = true,
                      .isDense = true});
    inputs.push_back({.role = KernelInput::Role::Table,
                      .shape = table,
                      .isDense = true,
                      .arithmetic = isEncoded(i) ? getArithmetic() : Arithmetic::F32,
                      .isEncoded = isEncoded(i)});
  }
  for (int64_t offset : getPositionOffsets()) {
    inputs.push_back(
        {.role = KernelInput::Role::Positions, .shape = table, .isDense = true, .offset = offset});
  }
  return inputs;
}

SmallVector<KernelResult> GatherAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

LogicalResult GatherAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division GatherAttr::getDivision(FunctionType) const { return {}; }

Flops GatherAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport GatherAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> GatherAttr::getEpilogueResult() const { return 0; }

bool GatherAttr::hidesLaterKeys() const { return false; }

std::optional<double> GatherAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  double sum = 0;
  unsigned input = 0;
  for (int64_t lookup = 0; lookup < getLookups(); ++lookup, input += 2) {
    auto id = static_cast<int64_t>(run.at(input, row));
    sum += getScale(lookup) * run.at(input + 1, id, column);
  }
  for (int64_t offset : getPositionOffsets()) {
    sum += run.at(input++, run.resultRows().positions[row] + offset, column);
  }
  return sum;
}

/// `= [0, 2]`
static ParseResult parseNumbers(AsmParser &parser, SmallVector<int64_t> &numbers) {
  auto parseNumber = [&] { return parser.parseInteger(numbers.emplace_back()); };
  return failure(parser.parseEqual() ||
                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseNumber));
}

ParseResult parseGatherOptions(AsmParser &parser, SmallVector<int64_t> &positionOffsets,
                               DenseF32ArrayAttr &scales, SmallVector<int64_t> &encoded,
                               Arithmetic &arithmetic) {
  return parseOptions(parser, [&](StringRef name) -> OptionalParseResult {
    if (name == "positions") {
      return parseNumbers(parser, positionOffsets);
    }
    if (name == "encoded") {
      return parseNumbers(parser, encoded);
    }
    if (auto known = symbolizeArithmetic(name); known && *known != Arithmetic::F32) {
      arithmetic = *known;
      return ParseResult(success());
    }
    if (name == "scales") {
      return ParseResult(failure(parser.parseEqual() || parser.parseAttribute(scales)));
    }
    return std::nullopt;
  });
}

void printGatherOptions(AsmPrinter &printer, ArrayRef<int64_t> positionOffsets,
                        DenseF32ArrayAttr scales, ArrayRef<int64_t> encoded,
                        Arithmetic arithmetic) {
  auto printNumbers = [&](StringRef name, ArrayRef<int64_t> numbers) {
    if (!numbers.empty()) {
      printer << ", " << name << " = [";
      llvm::interleaveComma(numbers, printer.getStream());
      printer << "]";
    }
  };
  printNumbers("positions", positionOffsets);
  if (scales) {
    printer << ", scales = " << scales;
  }
  printNumbers("encoded", encoded);
  if (arithmetic != Arithmetic::F32) {
    printer << ", " << stringifyArithmetic(arithmetic);
  }
}

// --- angles ----------------------------------------------------------------------------------

StringRef AnglesAttr::getNoun() const { return "an angle of each position"; }

std::string AnglesAttr::getSizes(FunctionType) const {
  return std::to_string(getFrequencies().size());
}

LogicalResult AnglesAttr::verifyNumbers(EmitError emitError) const {
  ArrayRef<float> frequencies = getFrequencies().asArrayRef();
  if (frequencies.empty() || !llvm::all_of(frequencies, [](float x) { return std::isfinite(x); })) {
    return emitError() << "expects finite frequencies, at least one, got " << getFrequencies();
  }
  return success();
}

int64_t AnglesAttr::getNumInputs() const { return 0; }

SmallVector<KernelInput> AnglesAttr::getInputs(FunctionType) const { return {}; }

SmallVector<KernelResult> AnglesAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getFrequencies().size()}}};
}

LogicalResult AnglesAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division AnglesAttr::getDivision(FunctionType) const { return {}; }

Flops AnglesAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport AnglesAttr::getEpilogueSupport() const { return EpilogueSupport::Maths; }

std::optional<unsigned> AnglesAttr::getEpilogueResult() const { return 0; }

bool AnglesAttr::hidesLaterKeys() const { return false; }

/// Rounds the angles as kernels do, because sines of large angles are sensitive to rounding.
std::optional<double> AnglesAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  return static_cast<float>(run.resultRows().positions[row]) *
         getFrequencies().asArrayRef()[column];
}

// --- rotate ----------------------------------------------------------------------------------

StringRef RotateAttr::getNoun() const { return "a rotation of heads"; }

std::string RotateAttr::getSizes(FunctionType) const {
  return llvm::formatv("{0}x{1}_by{2}", getHeads(), getSize(), getPairs());
}

LogicalResult RotateAttr::verifyNumbers(EmitError emitError) const {
  if (failed(verifyPositive(*this, emitError, {getHeads(), getSize(), getPairs()}))) {
    return failure();
  }
  if (getPairs() > getSize() / 2 || multiplySizes(getHeads(), getSize()) < 1) {
    return emitError() << "expects pairs of at most half the columns of a head, got " << getPairs()
                       << " of " << getHeads() << " heads of " << getSize();
  }
  return success();
}

int64_t RotateAttr::getNumInputs() const { return 3; }

SmallVector<KernelInput> RotateAttr::getInputs(FunctionType type) const {
  KernelInput angles = {.shape = SmallVector<int64_t>{rowsOf(type), getPairs()}};
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getHeads(), getSize())}},
          angles,
          angles};
}

SmallVector<KernelResult> RotateAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getHeads(), getSize())}}};
}

LogicalResult RotateAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division RotateAttr::getDivision(FunctionType) const { return {}; }

Flops RotateAttr::getFlops(FunctionType) const {
  return {.perRow = uint64_t{6} * getHeads() * getPairs()};
}

EpilogueSupport RotateAttr::getEpilogueSupport() const { return EpilogueSupport::Maths; }

std::optional<unsigned> RotateAttr::getEpilogueResult() const { return 0; }

bool RotateAttr::hidesLaterKeys() const { return false; }

std::optional<double> RotateAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  int64_t place = column % getSize(), pair = place % getPairs();
  double x = run.at(0, row, column);
  if (place >= 2 * getPairs()) {
    return x;
  }
  bool isFirst = place < getPairs();
  double other = run.at(0, row, isFirst ? column + getPairs() : column - getPairs());
  double cosine = run.at(1, row, pair), sine = run.at(2, row, pair);
  return x * cosine + (isFirst ? -other : other) * sine;
}

// --- pool ------------------------------------------------------------------------------------

StringRef PoolAttr::getNoun() const { return "a pooling"; }

/// Returns how many rows of the input are pooled into one row of the result; 0: all rows of a
/// sequence. Returns nothing if the result's rows do not group rows of the input.
static std::optional<int64_t> pooledRows(FunctionType type) {
  std::optional<RowSpace> result = rowSpaceOf(rowsOf(type));
  std::optional<int64_t> rows = result ? result->rowsFrom(spaceOfInput(type, 0)) : std::nullopt;
  bool isChoice = spaceOfInput(type, 0).isSplit() && result != spaceOfInput(type, 0);
  return rows == 1 && !isChoice ? std::nullopt : rows;
}

std::string PoolAttr::getSizes(FunctionType type) const {
  int64_t rows = pooledRows(type).value_or(0);
  std::string name = llvm::formatv("{0}_{1}", stringifyPoolKind(getKind()), getWidth()).str();
  StringRef groups = spaceOfInput(type, 0).isSplit() ? "_choices" : "_blocks";
  return rows == 0 ? name : name + groups.str() + std::to_string(rows);
}

LogicalResult PoolAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, getWidth());
}

int64_t PoolAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> PoolAttr::getInputs(FunctionType type) const {
  int64_t rows = RowDimension{spaceOfInput(type, 0)}.number();
  return {{.role = KernelInput::Role::Sequence, .shape = SmallVector<int64_t>{rows, getWidth()}}};
}

SmallVector<KernelResult> PoolAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getWidth()}}};
}

LogicalResult PoolAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (!pooledRows(type)) {
    return emitError() << "expects rows that are made of several rows of the input, got "
                       << dimensionText(rowsOf(type)) << " from " << spaceOfInput(type, 0).text();
  }
  return success();
}

Division PoolAttr::getDivision(FunctionType) const { return {}; }

Flops PoolAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport PoolAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> PoolAttr::getEpilogueResult() const { return 0; }

bool PoolAttr::hidesLaterKeys() const { return false; }

std::optional<double> PoolAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                         int64_t column) const {
  const RunRows &rows = run.resultRows();
  const RunRows &finer = run.rowsOf(spaceOfInput(run.type, 0));
  int64_t count = *pooledRows(run.type);
  int64_t first = finer.offsets[rows.sequenceOf[row]];
  int64_t end = finer.offsets[rows.sequenceOf[row] + 1];
  if (count > 0 && spaceOfInput(run.type, 0).isSplit()) {
    first = row * count;
    end = first + count;
  } else if (count > 0) {
    first += rows.positions[row] * count;
    end = std::min(end, first + count);
  }
  double sum = 0, most = run.at(0, first, column);
  for (int64_t pooled = first; pooled < end; ++pooled) {
    double value = run.at(0, pooled, column);
    sum += value;
    // NaN propagates to the maximum, as it does to a sum.
    most = value > most || std::isnan(value) ? value : most;
  }
  switch (getKind()) {
  case PoolKind::Mean:
    return sum / static_cast<double>(end - first);
  case PoolKind::Cls:
    return run.at(0, first, column);
  case PoolKind::Max:
    return most;
  case PoolKind::Sum:
    return sum;
  }
  llvm_unreachable("every pooling has a formula");
}

} // namespace heddle::dataflow
