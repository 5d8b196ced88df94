// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that change caches and states, and kernels that read a state.
#include "dialects/Dataflow/Dataflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::dataflow {

/// Returns the elements of one position of the cache or state that is input `input`; anySize if it
/// is neither.
static int64_t widthOf(FunctionType type, unsigned input) {
  if (auto state = dyn_cast<StateType>(type.getInput(input))) {
    return state.getWidth();
  }
  auto cache = dyn_cast<CacheType>(type.getInput(input));
  return cache ? cache.getWidth() : anySize;
}

/// Divides work into sequences and panels of columns. The rows of a sequence are computed in order.
static Division alongSequences(int64_t width) {
  return {.rows = Division::Rows::AlongSequences,
          .columns = Division::Columns::Elements,
          .size = width};
}

/// Returns an input of rows of the same sequences, [tokens, width].
static KernelInput rowsOfWidth(KernelInput::Role role, int64_t width) {
  return {.role = role, .shape = SmallVector<int64_t>{tokensDimension, width}};
}

/// Returns an f32 number as a bf16 cache stores it.
static double roundToBf16(double number) {
  llvm::APFloat kept(static_cast<float>(number));
  bool losesInfo = false;
  kept.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return kept.convertToFloat();
}

/// Returns an element of a row as a quantised cache stores it, with one scale for each `group`
/// elements.
static double keptAsCode(const KernelRun &run, int64_t group, int64_t row, int64_t column) {
  constexpr float largestCode = 127;
  float most = 0;
  const int64_t first = column / group * group;
  for (int64_t i = first; i < first + group; ++i) {
    const auto magnitude = static_cast<float>(std::abs(run.at(1, row, i)));
    if (!std::isfinite(magnitude)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    most = std::max(most, magnitude);
  }
  const float scale = most / largestCode;
  const float exact = scale == 0 ? 0 : static_cast<float>(run.at(1, row, column)) / scale;
  return std::nearbyint(std::clamp(exact, -largestCode, largestCode)) * scale;
}

// --- append ----------------------------------------------------------------------------------

StringRef AppendAttr::getNoun() const { return "a cache"; }

std::string AppendAttr::getSizes(FunctionType type) const {
  auto cache = cast<CacheType>(type.getInput(0));
  std::string name = std::to_string(cache.getWidth()) + "_" +
                     stringifyCacheLayout(cache.getLayout()).str() + cache.getElementText();
  const RowSpace rows = spaceOfInput(type, 1);
  return rows == RowSpace::tokens() ? name : name + "_of_" + std::string(rows.name());
}

LogicalResult AppendAttr::verifyNumbers(EmitError) const { return success(); }

int64_t AppendAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> AppendAttr::getInputs(FunctionType type) const {
  const int64_t rows = RowDimension{spaceOfInput(type, 1)}.number();
  return {{.role = KernelInput::Role::Changed, .takesAnyCache = true},
          {.role = KernelInput::Role::Rows, .shape = SmallVector<int64_t>{rows, widthOf(type, 0)}}};
}

SmallVector<KernelResult> AppendAttr::getResults(FunctionType) const { return {{.changes = 0}}; }

LogicalResult AppendAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  const RowSpace rows = spaceOfInput(type, 1);
  if (!rows.arePositions()) {
    return emitError() << "expects rows of tokens, or what blocks and strides make of them, got "
                       << "rows of " << rows.text();
  }
  return success();
}

Division AppendAttr::getDivision(FunctionType) const { return {}; }

Flops AppendAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport AppendAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> AppendAttr::getEpilogueResult() const { return std::nullopt; }

bool AppendAttr::hidesLaterKeys() const { return false; }

std::optional<double> AppendAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  auto cache = cast<CacheType>(run.type.getInput(0));
  if (auto codes = dyn_cast<transformer::QuantizedType>(cache.getElementType())) {
    return keptAsCode(run, codes.getGroupOf(cache.getWidth()), row, column);
  }
  const double number = run.at(1, row, column);
  return cache.getElementType().isBF16() ? roundToBf16(number) : number;
}

/// Returns the state plus the sum of the rows of its sequence up to and including `last`.
static double sumOfRows(const KernelRun &run, unsigned rows, unsigned state, int64_t last,
                        int64_t column) {
  const RunRows &tokens = run.rowsOf(RowSpace::tokens());
  int64_t first = tokens.firstRowOf(last);
  double sum = tokens.positions[first] == 0 ? 0 : run.atPosition(state, first, 0, column);
  for (int64_t row = first; row <= last; ++row) {
    sum += run.at(rows, row, column);
  }
  return sum;
}

// --- accumulate ------------------------------------------------------------------------------

StringRef AccumulateAttr::getNoun() const { return "a state"; }

std::string AccumulateAttr::getSizes(FunctionType type) const {
  return std::to_string(widthOf(type, 0));
}

LogicalResult AccumulateAttr::verifyNumbers(EmitError) const { return success(); }

int64_t AccumulateAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> AccumulateAttr::getInputs(FunctionType type) const {
  return {{.role = KernelInput::Role::Changed, .isState = true},
          rowsOfWidth(KernelInput::Role::Sequence, widthOf(type, 0))};
}

SmallVector<KernelResult> AccumulateAttr::getResults(FunctionType) const {
  return {{.changes = 0}};
}

LogicalResult AccumulateAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division AccumulateAttr::getDivision(FunctionType type) const {
  return alongSequences(widthOf(type, 0));
}

Flops AccumulateAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport AccumulateAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> AccumulateAttr::getEpilogueResult() const { return std::nullopt; }

bool AccumulateAttr::hidesLaterKeys() const { return false; }

std::optional<double> AccumulateAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                               int64_t column) const {
  return sumOfRows(run, /*rows=*/1, /*state=*/0,
                   run.rowsOf(RowSpace::tokens()).offsets[row + 1] - 1, column);
}

// --- keep ------------------------------------------------------------------------------------

/// Returns the number of elements of a kept row.
static int64_t keptWidth(FunctionType type) {
  auto rows = dyn_cast<BufferType>(type.getInput(1));
  return rows ? rows.getWidth() : anySize;
}

StringRef KeepAttr::getNoun() const { return "a state"; }

std::string KeepAttr::getSizes(FunctionType type) const {
  int64_t width = keptWidth(type);
  return std::to_string(widthOf(type, 0) / width) + "x" + std::to_string(width);
}

LogicalResult KeepAttr::verifyNumbers(EmitError) const { return success(); }

int64_t KeepAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> KeepAttr::getInputs(FunctionType) const {
  return {{.role = KernelInput::Role::Changed, .isState = true},
          rowsOfWidth(KernelInput::Role::Sequence, anySize)};
}

SmallVector<KernelResult> KeepAttr::getResults(FunctionType) const { return {{.changes = 0}}; }

LogicalResult KeepAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (widthOf(type, 0) % keptWidth(type) != 0) {
    return emitError() << "expects a state of whole rows of " << keptWidth(type)
                       << " elements, got " << type.getInput(0);
  }
  return success();
}

Division KeepAttr::getDivision(FunctionType type) const { return alongSequences(keptWidth(type)); }

Flops KeepAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport KeepAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> KeepAttr::getEpilogueResult() const { return std::nullopt; }

bool KeepAttr::hidesLaterKeys() const { return false; }

std::optional<double> KeepAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                         int64_t column) const {
  const RunRows &tokens = run.rowsOf(RowSpace::tokens());
  int64_t width = keptWidth(run.type), places = widthOf(run.type, 0) / width;
  int64_t first = tokens.offsets[row], last = tokens.offsets[row + 1] - 1;
  // This place holds the last row whose position maps to it. Without such a row it is unchanged.
  int64_t back = (tokens.positions[last] - column / width) % places;
  int64_t kept = last - (back < 0 ? back + places : back);
  return kept >= first ? run.at(1, kept, column % width) : run.atPosition(0, first, 0, column);
}

// --- prefix_mean -----------------------------------------------------------------------------

StringRef PrefixMeanAttr::getNoun() const { return "a prefix mean"; }

std::string PrefixMeanAttr::getSizes(FunctionType type) const {
  return std::to_string(widthOf(type, 1));
}

LogicalResult PrefixMeanAttr::verifyNumbers(EmitError) const { return success(); }

int64_t PrefixMeanAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> PrefixMeanAttr::getInputs(FunctionType type) const {
  return {rowsOfWidth(KernelInput::Role::Sequence, widthOf(type, 1)),
          {.role = KernelInput::Role::Sequence, .isState = true}};
}

SmallVector<KernelResult> PrefixMeanAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{tokensDimension, widthOf(type, 1)}}};
}

LogicalResult PrefixMeanAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division PrefixMeanAttr::getDivision(FunctionType type) const {
  return alongSequences(widthOf(type, 1));
}

Flops PrefixMeanAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport PrefixMeanAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> PrefixMeanAttr::getEpilogueResult() const { return std::nullopt; }

bool PrefixMeanAttr::hidesLaterKeys() const { return false; }

std::optional<double> PrefixMeanAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                               int64_t column) const {
  return sumOfRows(run, /*rows=*/0, /*state=*/1, row, column) /
         (run.resultRows().positions[row] + 1);
}

// --- running_mean ----------------------------------------------------------------------------

StringRef RunningMeanAttr::getNoun() const { return "a running mean"; }

std::string RunningMeanAttr::getSizes(FunctionType type) const {
  return std::to_string(widthOf(type, 1));
}

LogicalResult RunningMeanAttr::verifyNumbers(EmitError) const { return success(); }

int64_t RunningMeanAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> RunningMeanAttr::getInputs(FunctionType type) const {
  return {rowsOfWidth(KernelInput::Role::Sequence, widthOf(type, 1)),
          {.role = KernelInput::Role::Changed, .isState = true}};
}

SmallVector<KernelResult> RunningMeanAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{tokensDimension, widthOf(type, 1)}}, {.changes = 1}};
}

LogicalResult RunningMeanAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

Division RunningMeanAttr::getDivision(FunctionType type) const {
  return alongSequences(widthOf(type, 1));
}

Flops RunningMeanAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport RunningMeanAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> RunningMeanAttr::getEpilogueResult() const { return std::nullopt; }

bool RunningMeanAttr::hidesLaterKeys() const { return false; }

std::optional<double> RunningMeanAttr::evaluate(const KernelRun &run, unsigned result, int64_t row,
                                                int64_t column) const {
  const RunRows &tokens = run.rowsOf(RowSpace::tokens());
  bool isState = result == 1;
  double sum =
      sumOfRows(run, /*rows=*/0, /*state=*/1, isState ? tokens.offsets[row + 1] - 1 : row, column);
  return isState ? sum : sum / (tokens.positions[row] + 1);
}

/// Returns the shape of `rows` rows of a state: one number for each column, or for each column and
/// key.
static SmallVector<int64_t> rowsOfState(FunctionType type, int64_t rows) {
  auto state = dyn_cast<StateType>(type.getInput(0));
  SmallVector<int64_t> shape = {rows, state ? state.getWidth() : anySize};
  if (state && state.getKeyed()) {
    shape.push_back(longestDimension);
  }
  return shape;
}

/// Returns whether the state of a kernel has keys.
static bool isKeyed(FunctionType type) {
  auto state = dyn_cast<StateType>(type.getInput(0));
  return state && state.getKeyed();
}

/// Returns the part of a kernel's name that says whether its state has keys.
static StringRef keysText(FunctionType type) { return isKeyed(type) ? "_keys" : ""; }

// --- load ------------------------------------------------------------------------------------

StringRef LoadAttr::getNoun() const { return "the row of a state"; }

std::string LoadAttr::getSizes(FunctionType type) const {
  return std::to_string(widthOf(type, 0)) + keysText(type).str() + (getGiven() ? "_given" : "");
}

LogicalResult LoadAttr::verifyNumbers(EmitError) const { return success(); }

int64_t LoadAttr::getNumInputs() const { return 1; }

SmallVector<KernelInput> LoadAttr::getInputs(FunctionType) const {
  return {{.role = KernelInput::Role::Moved, .isState = true}};
}

SmallVector<KernelResult> LoadAttr::getResults(FunctionType type) const {
  return {{.shape = rowsOfState(type, rowsOf(type))}};
}

LogicalResult LoadAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  if (rows != RowSpace::sequences() && rows != RowSpace::ranks()) {
    return emitError() << "expects a row for each sequence, got rows of "
                       << dimensionText(rowsOf(type));
  }
  if (isKeyed(type) && getGiven()) {
    return emitError() << "expects a state without keys to be given, got " << type.getInput(0);
  }
  return success();
}

Division LoadAttr::getDivision(FunctionType) const { return {}; }

Flops LoadAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport LoadAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> LoadAttr::getEpilogueResult() const { return std::nullopt; }

bool LoadAttr::hidesLaterKeys() const { return false; }

std::optional<double> LoadAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                         int64_t column) const {
  const RunRows &tokens = run.rowsOf(RowSpace::tokens());
  int64_t first = tokens.offsets[run.resultRows().sequenceOf[row]];
  bool hasBegun = getGiven() || tokens.positions[first] > 0;
  if (!isKeyed(run.type)) {
    return hasBegun ? run.atPosition(0, first, 0, column) : 0;
  }
  int64_t key = column % tokens.longest;
  if (key >= run.cachedPositions(0, first)) {
    return std::nullopt;
  }
  return hasBegun ? run.atPosition(0, first, key, column / tokens.longest) : 0;
}

// --- store -----------------------------------------------------------------------------------

StringRef StoreAttr::getNoun() const { return "a state"; }

std::string StoreAttr::getSizes(FunctionType type) const {
  bool areSteps = spaceOfInput(type, 1).isOfSteps();
  return std::to_string(widthOf(type, 0)) + keysText(type).str() +
         (areSteps ? "_of_" + spaceOfInput(type, 1).text() : "");
}

LogicalResult StoreAttr::verifyNumbers(EmitError) const { return success(); }

int64_t StoreAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> StoreAttr::getInputs(FunctionType type) const {
  int64_t rows = RowDimension{spaceOfInput(type, 1)}.number();
  return {{.role = KernelInput::Role::Changed, .isState = true},
          {.role = KernelInput::Role::Moved, .shape = rowsOfState(type, rows)}};
}

SmallVector<KernelResult> StoreAttr::getResults(FunctionType) const { return {{.changes = 0}}; }

LogicalResult StoreAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  RowSpace rows = spaceOfInput(type, 1);
  if (rows != RowSpace::sequences() && !rows.isOfSteps()) {
    return emitError()
           << "expects a row for each sequence or rows in the order of time, got rows of "
           << rows.text();
  }
  return success();
}

Division StoreAttr::getDivision(FunctionType) const {
  return {.rows = Division::Rows::AlongSequences};
}

Flops StoreAttr::getFlops(FunctionType) const { return {}; }

EpilogueSupport StoreAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> StoreAttr::getEpilogueResult() const { return std::nullopt; }

bool StoreAttr::hidesLaterKeys() const { return false; }

std::optional<double> StoreAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                          int64_t column) const {
  RowSpace space = spaceOfInput(run.type, 1);
  int64_t last = space.isOfSteps() ? run.rowsOf(space).lastRowOf(row) : row;
  if (!isKeyed(run.type)) {
    return run.at(1, last, column);
  }
  // The order is by position, then by element.
  const RunRows &tokens = run.rowsOf(RowSpace::tokens());
  int64_t heads = widthOf(run.type, 0), key = column / heads;
  if (key >= run.cachedPositions(0, tokens.offsets[row])) {
    return std::nullopt;
  }
  return run.at(1, last, column % heads * tokens.longest + key);
}

} // namespace heddle::dataflow
