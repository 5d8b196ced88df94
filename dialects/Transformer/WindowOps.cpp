// SPDX-License-Identifier: Apache-2.0
///
/// Verifiers and costs of sliding windows, and the positions of windows along an axis.
#include "dialects/Transformer/ParameterChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::transformer;

// --- widths ----------------------------------------------------------------------------------

FailureOr<int64_t> heddle::transformer::parseAcross(AsmParser &parser) {
  if (succeeded(parser.parseOptionalQuestion())) {
    return heddle::GridSize::anyWidth;
  }
  llvm::SMLoc location = parser.getCurrentLocation();
  int64_t across = 0;
  if (parser.parseInteger(across)) {
    return failure();
  }
  if (across == heddle::GridSize::anyWidth) {
    return parser.emitError(location, "expects 1 to ")
           << heddle::GridSize::mostAcross << " pixels in a row, or '?', got " << across;
  }
  return across;
}

void heddle::transformer::printAcross(AsmPrinter &printer, int64_t across) {
  if (across == heddle::GridSize::anyWidth) {
    printer << '?';
  } else {
    printer << across;
  }
}

ParseResult heddle::transformer::parseAcrossClause(OpAsmParser &parser, IntegerAttr &across) {
  FailureOr<int64_t> number = 1;
  if (succeeded(parser.parseOptionalKeyword("across"))) {
    number = parseAcross(parser);
  }
  if (failed(number)) {
    return failure();
  }
  across = parser.getBuilder().getI64IntegerAttr(*number);
  return success();
}

void heddle::transformer::printAcrossClause(OpAsmPrinter &printer, Operation *,
                                            IntegerAttr across) {
  if (across && across.getInt() != 1) {
    printer << " across ";
    printAcross(printer, across.getInt());
  }
}

// --- windows ---------------------------------------------------------------------------------

/// Returns the number of places before the first element of the window at place 0 of an axis.
static int64_t marginBefore(int64_t places, int64_t elements, int64_t stride, int64_t dilation,
                            bool causal) {
  int64_t reach = (elements - 1) * dilation;
  if (causal) {
    return reach;
  }
  int64_t last = (places + stride - 1) / stride * stride - stride;
  return std::max<int64_t>(last + reach + 1 - places, 0) / 2;
}

int64_t WindowAttr::getMarginAbove(int64_t rows) const {
  return marginBefore(rows, getHeight(), getStrideDown(), getDilationDown(), getCausal());
}

int64_t WindowAttr::getMarginLeft(int64_t across) const {
  return marginBefore(across, getWidth(), getStrideRight(), getDilationRight(), false);
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t height,
                                 int64_t width, int64_t strideDown, int64_t strideRight,
                                 int64_t dilationDown, int64_t dilationRight, int64_t across,
                                 bool causal) {
  constexpr int64_t mostElements = 256;
  if (height < 1 || width < 1 || height > mostElements || width > mostElements ||
      height * width > mostElements) {
    return emitError() << "expects a window of 1 to " << mostElements << " elements, got " << height
                       << " x " << width;
  }
  auto isStride = [](int64_t stride) {
    return stride >= 1 && stride <= heddle::GridSize::mostStride;
  };
  if (!isStride(strideDown) || !isStride(strideRight)) {
    return emitError() << "expects strides of 1 to " << heddle::GridSize::mostStride << ", got "
                       << strideDown << " down and " << strideRight << " to the right";
  }
  auto isNear = [](int64_t elements, int64_t dilation) {
    return dilation >= 1 && dilation <= mostDistance && (elements - 1) * dilation <= mostDistance;
  };
  if (!isNear(height, dilationDown) || !isNear(width, dilationRight)) {
    return emitError() << "expects dilations with which a window reaches at most 2^20 places, got "
                       << dilationDown << " down and " << dilationRight << " to the right";
  }
  if (across < 0 || across > heddle::GridSize::mostAcross) {
    return emitError() << "expects 1 to " << heddle::GridSize::mostAcross
                       << " pixels in a row, got " << across;
  }
  if (across == 1 && (width > 1 || strideRight > 1 || dilationRight > 1)) {
    return emitError() << "expects a window over a line to be 1 wide, got a width of " << width
                       << ", a stride of " << strideRight << " and a dilation of " << dilationRight
                       << " to the right";
  }
  return success();
}

// --- strided ---------------------------------------------------------------------------------

LogicalResult StridedOp::verify() {
  int64_t down = getDownAttr().getInt(), right = getRightAttr().getInt();
  int64_t across = getAcrossAttr().getInt();
  // C1
  auto isStride = [](int64_t stride) {
    return stride >= 1 && stride <= heddle::GridSize::mostStride;
  };
  if (!isStride(down) || !isStride(right) || (across == 1 && (down == 1 || right > 1))) {
    return emitOpError("expects strides of 1 to ")
           << heddle::GridSize::mostStride
           << ", of a line one above 1 down and none to the right, got " << down << " down and "
           << right << " to the right";
  }
  // C2
  std::optional<heddle::RowSpace> rows = rowsOfSegments(getRows()).space;
  if (!rows || rows->strided(across, down, right)) {
    // The operation that derives invalid segments reports them.
    return success();
  }
  return emitOpError("expects strides over ")
         << rows->text() << " that leave rows or pixels of one image, got " << down << " down and "
         << right << " to the right, "
         << (across == heddle::GridSize::anyWidth ? "?" : llvm::Twine(across)) << " across";
}

std::optional<heddle::RowSpace> StridedOp::deriveSpace(heddle::RowSpace space) {
  return space.strided(getAcrossAttr().getInt(), getDownAttr().getInt(), getRightAttr().getInt());
}

// --- slide -----------------------------------------------------------------------------------

/// Checks that the result's rows are those that the window derives from the input's.
static LogicalResult verifyRowsAfter(SlideOp op) {
  SegmentRows from = rowsOfSegments(op.getRows()), to = rowsOfSegments(op.getResultRows());
  if (!from.space || !to.space) {
    // The operation that derives them reports this.
    return success();
  }
  std::optional<heddle::RowSpace> after = op.getWindow().spaceAfter(*from.space);
  if (from.rows == to.rows && after == to.space) {
    return success();
  }
  InFlightDiagnostic error = op.emitOpError("expects the rows that its window makes of ")
                             << from.space->text();
  if (after) {
    error << ", " << after->text();
  }
  return from.rows == to.rows ? error << ", got " << to.space->text()
                              : error << ", got rows of other segments";
}

LogicalResult SlideOp::verify() {
  int64_t inputs = getInput().getType().getDimSize(1), width = getType().getDimSize(1);
  bool makesPatches = getKind() == SlideKind::Patches;
  // C1
  int64_t expected = inputs;
  if (makesPatches && llvm::MulOverflow(inputs, getWindow().getElements(), expected)) {
    // No valid width.
    expected = 0;
  }
  if (width != expected) {
    return emitOpError("expects a result of width ") << expected << ", got " << width;
  }
  // C2. The shape is checked with the parameter.
  if ((getKind() == SlideKind::Depthwise) != getWeight().has_value()) {
    return emitOpError("expects ") << (getWeight() ? "no weight" : "a weight") << ", as it is '"
                                   << stringifySlideKind(getKind()) << "'";
  }
  // C3
  int64_t groups = getGroupsAttr().getInt();
  if (groups < 1 || inputs % groups != 0 || (groups > 1 && !makesPatches)) {
    return emitOpError("expects groups of patches that divide the width ")
           << inputs << ", got " << groups << " of '" << stringifySlideKind(getKind()) << "'";
  }
  // C6
  if (getKind() == SlideKind::Max &&
      (getWindow().getDilationDown() > 1 || getWindow().getDilationRight() > 1)) {
    return emitOpError("expects a window without dilation, as it is 'max', got ") << getWindow();
  }
  // C4
  if (failed(verifyRowsAfter(*this))) {
    return failure();
  }
  // C5
  if (!getState()) {
    return success();
  }
  WindowAttr window = getWindow();
  if (!window.continues()) {
    return emitOpError("expects no state, as its window is ")
           << (!window.getCausal()    ? "not causal"
               : !window.isOverLine() ? "over rows of pixels"
                                      : "one with strides");
  }
  int64_t kept = 0;
  if (llvm::MulOverflow(window.getRowsBefore(), inputs, kept) ||
      getState().getType().getWidth() != kept) {
    return emitOpError("expects a state of ") << window.getRowsBefore() << " rows of " << inputs
                                              << " elements, got " << getState().getType();
  }
  return verifyEarlier(*this, getState());
}

LogicalResult SlideOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C2
  if (!getWeightAttr()) {
    return success();
  }
  return verifyParameterShape(*this, "weight", getWeightAttr(),
                              {getInput().getType().getDimSize(1), getWindow().getElements()},
                              symbolTable);
}

OperationFlops SlideOp::getFlops() {
  int64_t width = getType().getDimSize(1);
  return {.perRow = getKind() == SlideKind::Depthwise ? 2 * getWindow().getElements() * width : 0};
}
