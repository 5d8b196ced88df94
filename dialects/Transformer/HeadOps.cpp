// SPDX-License-Identifier: Apache-2.0
///
/// Verifies the primitive operations of attention.
#include "dialects/Transformer/ParameterChecks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle::transformer;

/// A score of at most this has weight zero after the softmax, in f32.
static constexpr float kHidden = -1e4F;

/// C1 of split_heads and merge_heads: checks that `rows` is [t, h * d] and `heads` [t, h, d].
static LogicalResult verifyHeads(Operation *op, StringRef name, RankedTensorType rows,
                                 RankedTensorType heads) {
  int64_t width = 0;
  if (llvm::MulOverflow(heads.getDimSize(1), heads.getDimSize(2), width) ||
      width != rows.getDimSize(1)) {
    return op->emitOpError("expects ") << name << " of width " << heads.getDimSize(1) << " * "
                                       << heads.getDimSize(2) << ", got " << rows.getDimSize(1);
  }
  return success();
}

LogicalResult SplitHeadsOp::verify() {
  return verifyHeads(*this, "an input", getInput().getType(), getType());
}

LogicalResult MergeHeadsOp::verify() {
  return verifyHeads(*this, "a result", getType(), getInput().getType());
}

LogicalResult RepeatHeadsOp::verify() {
  RankedTensorType input = getInput().getType();
  // C1
  if (getType().getDimSize(1) % input.getDimSize(1) != 0) {
    return emitOpError("expects a multiple of the input's ")
           << input.getDimSize(1) << " heads, got " << getType().getDimSize(1);
  }
  // C2
  if (getType().getDimSize(2) != input.getDimSize(2)) {
    return emitOpError("expects heads of size ")
           << input.getDimSize(2) << ", got " << getType().getDimSize(2);
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = getInput().getType();
  ArrayRef<int64_t> permutation = getPermutation();
  // C1
  llvm::SmallBitVector seen(input.getRank());
  for (int64_t axis : permutation) {
    if (axis >= 0 && axis < input.getRank()) {
      seen.set(axis);
    }
  }
  if (static_cast<int64_t>(permutation.size()) != input.getRank() || !seen.all()) {
    return emitOpError("expects a permutation of the ")
           << input.getRank() << " axes of the input, got [" << permutation << "]";
  }
  // C2
  SmallVector<int64_t> expected;
  for (int64_t axis : permutation) {
    expected.push_back(input.getDimSize(axis));
  }
  if (ArrayRef<int64_t>(expected) != getType().getShape()) {
    return emitOpError("expects a result of shape ")
           << printShape(expected) << ", got " << printShape(getType().getShape());
  }
  return success();
}

/// C1: checks that letters are distinct and lower-case.
static LogicalResult verifyLetters(ContractOp op, StringRef letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!llvm::isLower(letters[i]) || letters.find(letters[i], i + 1) != StringRef::npos) {
      return op.emitOpError("expects distinct lower-case letters in '")
             << op.getAxes() << "', got '" << letters << "'";
    }
  }
  return success();
}

/// Checks C1 and the ranks of C2.
static LogicalResult verifySpecification(ContractOp op) {
  StringRef axes = op.getAxes();
  if (axes.count(',') != 1 || axes.count("->") != 1 || axes.find(',') > axes.find("->")) {
    return op.emitOpError("expects a specification 'axes,axes->axes', got '") << axes << "'";
  }
  struct Group {
    StringRef name, letters;
    RankedTensorType type;
  };
  for (const Group &group : {Group{"left operand", op.getLhsAxes(), op.getLhs().getType()},
                             Group{"right operand", op.getRhsAxes(), op.getRhs().getType()},
                             Group{"result", op.getResultAxes(), op.getType()}}) {
    if (failed(verifyLetters(op, group.letters))) {
      return failure();
    }
    // C2
    if (static_cast<int64_t>(group.letters.size()) != group.type.getRank()) {
      return op.emitOpError("expects a ") << group.name << " of rank " << group.letters.size()
                                          << " for '" << group.letters << "', got " << group.type;
    }
  }
  return success();
}

/// Checks C3, and C4 except for `in`.
static LogicalResult verifySizes(ContractOp op, StringRef letters, RankedTensorType type,
                                 llvm::SmallDenseMap<char, int64_t> &sizes) {
  for (auto [letter, size] : llvm::zip_equal(letters, type.getShape())) {
    bool dynamic = letter == 't' || letter == 'k';
    if (dynamic != ShapedType::isDynamic(size)) {
      return op.emitOpError("expects axis '")
             << letter << "' to be " << (dynamic ? "dynamic" : "static") << ", got " << type;
    }
    auto [known, inserted] = sizes.try_emplace(letter, size);
    if (!inserted && known->second != size) {
      return op.emitOpError("expects axis '")
             << letter << "' to have one size, got " << known->second << " and " << size;
    }
  }
  return success();
}

LogicalResult ContractOp::verify() {
  if (failed(verifySpecification(*this))) {
    return failure();
  }
  // C2
  for (char letter : getResultAxes()) {
    if (!getLhsAxes().contains(letter) && !getRhsAxes().contains(letter)) {
      return emitOpError("expects axes of the result among those of the operands, got '")
             << letter << "' in '" << getAxes() << "'";
    }
  }
  // C3, C4
  llvm::SmallDenseMap<char, int64_t> sizes;
  if (failed(verifySizes(*this, getLhsAxes(), getLhs().getType(), sizes)) ||
      failed(verifySizes(*this, getRhsAxes(), getRhs().getType(), sizes)) ||
      failed(verifySizes(*this, getResultAxes(), getType(), sizes))) {
    return failure();
  }
  // C4
  size_t expected = sizes.contains('k') ? 2 : 0;
  if (getSegments().size() != expected) {
    return emitOpError("expects ") << expected << " segments in 'in' for '" << getAxes()
                                   << "', got " << getSegments().size();
  }
  return success();
}

LogicalResult PairSumOp::verify() {
  // C1
  int64_t width = getQuery().getType().getDimSize(1);
  int64_t shape[] = {ShapedType::kDynamic, ShapedType::kDynamic, width};
  if (getKey().getType().getDimSize(1) != width || getType().getShape() != ArrayRef(shape)) {
    return emitOpError("expects rows, keys and a result tensor<?x?xWxf32> of one width, got ")
           << getQuery().getType() << ", " << getKey().getType() << " and " << getType();
  }
  return success();
}

/// Checks the number that hides a key: C1 of mask_bias, C2 of select.
static LogicalResult verifyHidden(Operation *op, FloatAttr hidden) {
  // NaN compares false.
  if (hidden.getValue().convertToFloat() <= kHidden) {
    return success();
  }
  return op->emitOpError("expects 'hidden' of -1e4 or less, got ") << hidden;
}

LogicalResult MaskBiasOp::verify() {
  // C1
  if (failed(verifyHidden(*this, getHiddenAttr()))) {
    return failure();
  }
  // C2
  if (getType().getShape() != getMask().getType().getShape()) {
    return emitOpError("expects a result of the mask's shape ?x?, got ") << getType();
  }
  return success();
}

/// Checks the shape [t, h, k]: scores of queries t, of h heads, for keys k.
static LogicalResult verifyScores(Operation *op, RankedTensorType type) {
  if (type.getRank() != 3 || !type.isDynamicDim(0) || type.isDynamicDim(1) ||
      !type.isDynamicDim(2)) {
    return op->emitOpError("expects scores tensor<?xHx?xf32>, got ") << type;
  }
  return success();
}

LogicalResult RelativeBiasOp::verify() {
  // C2
  return verifyScores(*this, getType());
}

LogicalResult RelativeBiasOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyDistanceTable(*this, getTableAttr(), getType().getDimSize(1), symbolTable);
}

LogicalResult SelectOp::verify() {
  // C1
  if (failed(verifyScores(*this, getScores().getType()))) {
    return failure();
  }
  // C2
  return verifyHidden(*this, getHiddenAttr());
}

LogicalResult SoftmaxOp::verify() {
  // C1
  return verifyScores(*this, getInput().getType());
}

LogicalResult DivideBySumOp::verify() {
  // C1
  return verifyScores(*this, getInput().getType());
}

LogicalResult ConvolveKeysOp::verify() {
  // C1
  if (failed(verifyScores(*this, getInput().getType()))) {
    return failure();
  }
  RankedTensorType type = getType();
  if (type.getRank() != 3 || !type.isDynamicDim(0) || !type.isDynamicDim(1) ||
      type.isDynamicDim(2)) {
    return emitOpError("expects a result tensor<?x?xWxf32>, got ") << type;
  }
  return success();
}

LogicalResult ConvolveKeysOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C2
  ParameterOp parameter = lookUpParameter(*this, "weight", getWeightAttr(), symbolTable);
  if (!parameter) {
    return failure();
  }
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  int64_t width = getType().getDimSize(2), heads = getInput().getType().getDimSize(1);
  if (shape.size() == 3 && shape[0] == width && shape[1] == heads && shape[2] % 2 == 1) {
    return success();
  }
  InFlightDiagnostic error = emitOpError("expects weight '")
                             << getWeightAttr() << "' of shape " << width << "x" << heads
                             << "xN with N odd, got " << printShape(shape);
  error.attachNote(parameter.getLoc()) << "the parameter is defined here";
  return error;
}

/// Counts two for each element of the weight.
OperationFlops ConvolveKeysOp::getFlops() {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(*this, getWeightAttr());
  return parameter ? OperationFlops{.perRowAndKey = 2 * parameter.getTensorType().getNumElements()}
                   : OperationFlops();
}

/// Counts two for each combination of constant axes of a contraction over keys.
OperationFlops ContractOp::getFlops() {
  if (getSegments().empty()) {
    return {};
  }
  int64_t products = 1;
  auto multiply = [&](StringRef axes, RankedTensorType type, StringRef counted) {
    for (auto [letter, size] : llvm::zip_equal(axes, type.getShape())) {
      products *= counted.contains(letter) || ShapedType::isDynamic(size) ? 1 : size;
    }
  };
  multiply(getLhsAxes(), getLhs().getType(), "");
  multiply(getRhsAxes(), getRhs().getType(), getLhsAxes());
  return {.perRowAndKey = 2 * products};
}
