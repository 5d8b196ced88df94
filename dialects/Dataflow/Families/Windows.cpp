// SPDX-License-Identifier: Apache-2.0
///
/// Sliding windows over rows, alone and fused with a matrix product.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace heddle::dataflow {

// --- slide -----------------------------------------------------------------------------------

StringRef SlideAttr::getNoun() const {
  switch (getKind()) {
  case SlideKind::Patches:
    return "patches";
  case SlideKind::Depthwise:
    return "a convolution";
  case SlideKind::Max:
    return "a pooling";
  }
  llvm_unreachable("every kind has a noun");
}

std::string SlideAttr::getSizes(FunctionType) const {
  transformer::WindowAttr window = getWindow();
  std::string name =
      llvm::formatv("{0}_{1}x{2}", stringifySlideKind(getKind()), getWidth(), window.getHeight());
  auto add = [&](StringRef word, int64_t down, int64_t right) {
    if (down != 1 || right != 1) {
      name += llvm::formatv("{0}{1}", word, down).str();
      name += window.isOverLine() ? "" : "x" + std::to_string(right);
    }
  };
  name += window.getWidth() > 1 ? "x" + std::to_string(window.getWidth()) : "";
  add("_every", window.getStrideDown(), window.getStrideRight());
  add("_by", window.getDilationDown(), window.getDilationRight());
  name += window.isOverLine()     ? ""
          : window.isOfAnyWidth() ? "_any_width"
                                  : "_across" + std::to_string(window.getAcross());
  name += getGroups() > 1 ? "_groups" + std::to_string(getGroups()) : "";
  name += window.getCausal() ? "_causal" : "";
  name += getRectifies() ? "_rectified" : "";
  return name + (getResumes() ? "_resumed" : "");
}

LogicalResult SlideAttr::verifyNumbers(EmitError emitError) const {
  if (failed(verifyPositive(*this, emitError,
                            {multiplySizes(getWidth(), getWindow().getElements()), getGroups()}))) {
    return failure();
  }
  if (getWidth() % getGroups() != 0 || (getGroups() > 1 && getKind() != SlideKind::Patches)) {
    return emitError() << "expects groups of patches that divide the width " << getWidth()
                       << ", got " << getGroups() << " of '" << stringifySlideKind(getKind())
                       << "'";
  }
  if (getKind() == SlideKind::Max &&
      (getWindow().getDilationDown() > 1 || getWindow().getDilationRight() > 1)) {
    return emitError() << "expects a window without dilation for a maximum, got " << getWindow();
  }
  if (getResumes() && !getWindow().continues()) {
    return emitError() << "expects a causal window over a line, without strides, to resume, got "
                       << getWindow();
  }
  return success();
}

int64_t SlideAttr::getNumInputs() const {
  return 1 + (getKind() == SlideKind::Depthwise ? 1 : 0) + (getResumes() ? 1 : 0);
}

SmallVector<KernelInput> SlideAttr::getInputs(FunctionType type) const {
  int64_t rows = RowDimension{spaceOfInput(type, 0)}.number();
  SmallVector<KernelInput> inputs = {
      {.role = KernelInput::Role::Sequence, .shape = SmallVector<int64_t>{rows, getWidth()}}};
  if (getKind() == SlideKind::Depthwise) {
    inputs.push_back({.role = KernelInput::Role::Weights,
                      .shape = SmallVector<int64_t>{getWindow().getElements(), getWidth()},
                      .isDense = true});
  }
  if (getResumes()) {
    inputs.push_back({.role = KernelInput::Role::Sequence, .isState = true});
  }
  return inputs;
}

SmallVector<KernelResult> SlideAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getResultWidth()}}};
}

/// Checks the rows of the result, and the state that is input `state`.
static LogicalResult verifySlide(SlideAttr slide, EmitError emitError, FunctionType type,
                                 unsigned state) {
  RowSpace from = spaceOfInput(type, 0);
  std::optional<RowSpace> after = slide.getWindow().spaceAfter(from);
  if (!after || rowsOf(type) != RowDimension{*after}.number()) {
    return emitError() << "expects the rows that " << slide.getWindow() << " makes of "
                       << from.text() << ", got " << dimensionText(rowsOf(type));
  }
  if (!slide.getResumes()) {
    return success();
  }
  if (from != RowSpace::tokens()) {
    return emitError() << "expects rows of tokens to resume, got rows of " << from.text();
  }
  auto kept = cast<StateType>(type.getInput(state));
  int64_t rows = slide.getWindow().getRowsBefore();
  if (kept.getWidth() != multiplySizes(rows, slide.getWidth())) {
    return emitError() << "expects a state of " << rows << " rows of " << slide.getWidth()
                       << " elements, got " << kept;
  }
  return success();
}

LogicalResult SlideAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  return verifySlide(*this, emitError, type, getNumInputs() - 1);
}

Division SlideAttr::getDivision(FunctionType) const { return {.rowsShareWork = true}; }

Flops SlideAttr::getFlops(FunctionType) const {
  bool multiplies = getKind() == SlideKind::Depthwise;
  return {.perRow = multiplies ? uint64_t{2} * getWindow().getElements() * getWidth() : 0};
}

EpilogueSupport SlideAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> SlideAttr::getEpilogueResult() const { return 0; }

bool SlideAttr::hidesLaterKeys() const { return false; }

namespace {
/// The elements in a window at a row of the result.
struct Seen {
  const KernelRun &run;
  SlideAttr slide;
  unsigned state; // index of the input
  int64_t row, first, across, lines, start, down, right;

  Seen(const KernelRun &run, SlideAttr slide, int64_t row, unsigned state)
      : run(run), slide(slide), state(state), row(row) {
    transformer::WindowAttr window = slide.getWindow();
    const RunRows &rows = run.resultRows();
    const RunRows &from = run.rowsOf(spaceOfInput(run.type, 0));
    int32_t sequence = rows.sequenceOf[row];
    first = from.offsets[sequence];
    across = window.isOfAnyWidth() ? from.widths[sequence] : window.getAcross();
    lines = (from.offsets[sequence + 1] - first) / across;
    int64_t own = row - rows.offsets[sequence];
    start = slide.getResumes() ? rows.positions[row] - own : 0;
    int64_t after = window.getAcrossAfter(across);
    down = own / after * window.getStrideDown() - window.getMarginAbove(lines);
    right = own % after * window.getStrideRight() - window.getMarginLeft(across);
  }

  /// Returns column `column` of an element of the window; nothing if it is outside the sequence.
  std::optional<double> at(int64_t element, int64_t column) const {
    transformer::WindowAttr window = slide.getWindow();
    int64_t line = down + element / window.getWidth() * window.getDilationDown();
    int64_t place = right + element % window.getWidth() * window.getDilationRight();
    double value = 0;
    if (place < 0 || place >= across || line >= lines || line + start < 0) {
      return std::nullopt;
    }
    if (line < 0) {
      int64_t kept = (start + line) % window.getRowsBefore();
      value = run.atPosition(state, row, 0, kept * slide.getWidth() + column);
    } else {
      value = run.at(0, first + line * across + place, column);
    }
    return slide.getRectifies() ? std::max(value, 0.0) : value;
  }
};
} // namespace

/// Computes a column of a slide. The weights of a depthwise sum are input `weights`.
static double slideElement(const Seen &seen, unsigned weights, int64_t column) {
  SlideAttr slide = seen.slide;
  int64_t elements = slide.getWindow().getElements();
  if (slide.getKind() == SlideKind::Patches) {
    int64_t own = slide.getWidth() / slide.getGroups();
    int64_t group = column / (own * elements), place = column % (own * elements);
    return seen.at(place / own, group * own + place % own).value_or(0);
  }
  bool isMax = slide.getKind() == SlideKind::Max;
  std::optional<double> result = isMax ? std::nullopt : std::optional(0.0);
  for (int64_t j = 0; j < elements; ++j) {
    std::optional<double> x = seen.at(j, column);
    if (isMax) {
      x = slide.getWindow().getCausal() ? x.value_or(0) : x;
      // NaN propagates to the maximum, as it does to a sum.
      const bool isLargest = x && (!result || *x > *result || std::isnan(*x));
      result = isLargest ? x : result;
    } else if (x) {
      *result += seen.run.at(weights, j, column) * *x;
    }
  }
  return *result;
}

std::optional<double> SlideAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                          int64_t column) const {
  return slideElement(Seen(run, *this, row, getNumInputs() - 1), 1, column);
}

// --- contract_slide --------------------------------------------------------------------------

StringRef ContractSlideAttr::getNoun() const { return "a convolution"; }

std::string ContractSlideAttr::getSizes(FunctionType type) const {
  std::string groups = getGroups() > 1 ? std::to_string(getGroups()) + "x" : "";
  return groups + llvm::formatv("{0}x{1}_{2}", getN(), getK(), getSlide().getSizes(type)).str();
}

LogicalResult ContractSlideAttr::verifyNumbers(EmitError emitError) const {
  if (failed(verifyPositive(*this, emitError, {getN(), getGroups()})) ||
      failed(getSlide().verifyNumbers(emitError))) {
    return failure();
  }
  bool makesPatches = getSlide().getKind() == SlideKind::Patches;
  if (makesPatches ? getSlide().getGroups() != getGroups() : getInner() % getGroups() != 0) {
    return emitError() << "expects groups that are those of patches, or divide the width "
                       << getInner() << ", got " << getGroups();
  }
  return success();
}

int64_t ContractSlideAttr::getNumInputs() const { return 1 + getSlide().getNumInputs(); }

SmallVector<KernelInput> ContractSlideAttr::getInputs(FunctionType type) const {
  SmallVector<KernelInput> inputs = getSlide().getInputs(type);
  KernelInput weights;
  weights.role = KernelInput::Role::Matrix;
  weights.shape = {multiplySizes(getGroups(), getN()), getK()};
  weights.isDense = true;
  weights.groups = getGroups();
  inputs.insert(inputs.begin() + 1, weights);
  return inputs;
}

SmallVector<KernelResult> ContractSlideAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getGroups(), getN())}}};
}

LogicalResult ContractSlideAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  return verifySlide(getSlide(), emitError, type, getNumInputs() - 1);
}

Division ContractSlideAttr::getDivision(FunctionType) const {
  return {.columns = Division::Columns::Elements,
          .count = getGroups(),
          .size = getN(),
          .rowsShareWork = true};
}

Flops ContractSlideAttr::getFlops(FunctionType type) const {
  uint64_t inGroup = uint64_t{2} * getN() * getK();
  return {.perRow = inGroup * getGroups() + getSlide().getFlops(type).perRow};
}

EpilogueSupport ContractSlideAttr::getEpilogueSupport() const {
  return EpilogueSupport::MathsAndNorm;
}

std::optional<unsigned> ContractSlideAttr::getEpilogueResult() const { return 0; }

bool ContractSlideAttr::hidesLaterKeys() const { return false; }

std::optional<double> ContractSlideAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                                  int64_t column) const {
  Seen seen(run, getSlide(), row, getNumInputs() - 1);
  int64_t first = column / getN() * getK();
  double sum = 0;
  for (int64_t k = 0; k < getK(); ++k) {
    sum += slideElement(seen, 2, first + k) * run.at(1, column, k);
  }
  return sum;
}

} // namespace heddle::dataflow
