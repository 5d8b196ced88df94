// SPDX-License-Identifier: Apache-2.0
///
/// Attention as its kernel, and the primitive mathematics of attention as loop nests.
#include "compiler/Conversion/TransformerToDataflow/EntryLowering.h"
#include "compiler/Conversion/TransformerToDataflow/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// A specification in which the result's rows are `t`. Where a result has keys and no rows, the
/// keys are the rows that are computed: t and k change their names.
std::string withRows(StringRef axes) {
  StringRef result = axes.split("->").second;
  std::string renamed = axes.str();
  if (result.contains('k') && !result.contains('t')) {
    for (char &axis : renamed) {
      axis = axis == 't' ? 'k' : axis == 'k' ? 't' : axis;
    }
  }
  return renamed;
}

/// The dimension of an axis of a contraction's result, from the operand that has it.
int64_t resultDimension(char axis, StringRef resultAxes, ArrayRef<StringRef> operandAxes,
                        ArrayRef<BufferType> operands) {
  if (axis == 'k' && resultAxes.contains('t')) {
    return BufferType::kLongest;
  }
  for (auto [axes, type] : llvm::zip_equal(operandAxes, operands)) {
    size_t position = axes.find(axis);
    if (position == StringRef::npos) {
      continue;
    }
    int64_t dimension = type.getShape()[position];
    return dimension == BufferType::kLongest ? BufferType::kTokens : dimension;
  }
  llvm_unreachable("an axis of the result is one of an operand");
}

/// The mask that `value` is, or null after an error.
transformer::MaskOp maskOf(Operation *user, Value value) {
  auto mask = value.getDefiningOp<transformer::MaskOp>();
  if (!mask) {
    user->emitOpError("has a mask that is no 'transformer.mask'");
  }
  return mask;
}

} // namespace

LogicalResult EntryLowering::lower(transformer::AttentionOp op) {
  BufferType query = typeOf(op.getQuery());
  BufferType value = typeOf(op.getValue());
  int64_t heads = op.getHeads();
  KernelParts parts;
  parts.stem = "attention";
  parts.computes = AttentionAttr::get(builder.getContext(), heads, query.getWidth() / heads,
                                      value.getWidth() / heads, op.getScaleAttr(),
                                      op.getVisibility() == transformer::Visibility::Causal);
  parts.inputs = {bufferOf(op.getQuery()), bufferOf(op.getKey()), bufferOf(op.getValue())};
  for (Value input : parts.inputs) {
    if (cast<BufferType>(input.getType()).getShape().front() != BufferType::kTokens) {
      return op.emitOpError("attends to rows of sequences, expected rows of tokens");
    }
  }
  parts.result = denseBuffer({BufferType::kTokens, value.getWidth()});
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::ContractOp op) {
  std::string axes = withRows(op.getAxes());
  auto [inputAxes, resultAxes] = StringRef(axes).split("->");
  auto [lhsAxes, rhsAxes] = inputAxes.split(',');
  SmallVector<int64_t> shape;
  for (char axis : resultAxes) {
    shape.push_back(resultDimension(axis, resultAxes, {lhsAxes, rhsAxes},
                                    {typeOf(op.getLhs()), typeOf(op.getRhs())}));
  }
  return nest(op, "contract_heads", axes, ReductionKind::Sum,
              {bufferOf(op.getLhs()), bufferOf(op.getRhs())}, denseBuffer(shape),
              [](OpBuilder &region, Location location, ValueRange arguments) {
                return createProduct(region, location, arguments[0], arguments[1]);
              });
}

LogicalResult EntryLowering::lower(transformer::MaskBiasOp op) {
  transformer::MaskOp mask = maskOf(op, op.getMask());
  if (!mask) {
    return failure();
  }
  bool isCausal = mask.getVisibility() == transformer::Visibility::Causal;
  return nest(
      op, "mask_bias", "->tk", ReductionKind::None, {},
      denseBuffer({BufferType::kTokens, BufferType::kLongest}),
      [](OpBuilder &region, Location location, ValueRange) {
        return createNumber(region, location, 0.0);
      },
      isCausal ? op.getHiddenAttr() : FloatAttr());
}

LogicalResult EntryLowering::lower(transformer::SelectOp op) {
  transformer::MaskOp mask = maskOf(op, op.getMask());
  if (!mask) {
    return failure();
  }
  Value scores = bufferOf(op.getScores());
  if (mask.getVisibility() == transformer::Visibility::All) {
    return define(op, scores);
  }
  BufferType type = typeOf(op.getScores());
  std::string axes = axesOf(type);
  return nest(op, "select", axes + "->" + axes, ReductionKind::None, {scores}, type, nullptr,
              op.getHiddenAttr());
}

LogicalResult EntryLowering::lower(transformer::SoftmaxOp op) {
  BufferType type = typeOf(op.getInput());
  if (type.getShape().front() != BufferType::kTokens ||
      type.getShape().back() != BufferType::kLongest) {
    return op.emitOpError("has scores ") << type << ", expected [tokens, heads, longest]";
  }
  std::string axes = axesOf(type);
  return nest(op, "softmax", axes + "->" + axes, ReductionKind::Softmax, {bufferOf(op.getInput())},
              type);
}

LogicalResult EntryLowering::lower(transformer::SplitHeadsOp op) {
  BufferType source = typeOf(op.getInput());
  RankedTensorType tensor = cast<RankedTensorType>(op.getType());
  auto type = BufferType::get(
      builder.getContext(), {source.getShape().front(), tensor.getDimSize(1), tensor.getDimSize(2)},
      source.getElementType(), source.getRowStride());
  return define(op, ReshapeOp::create(builder, op.getLoc(), type, bufferOf(op.getInput())));
}

LogicalResult EntryLowering::lower(transformer::MergeHeadsOp op) {
  BufferType source = typeOf(op.getInput());
  auto type = BufferType::get(builder.getContext(),
                              {source.getShape().front(), source.getConstantElements()},
                              source.getElementType(), source.getRowStride());
  return define(op, ReshapeOp::create(builder, op.getLoc(), type, bufferOf(op.getInput())));
}

LogicalResult EntryLowering::lower(transformer::TransposeOp op) {
  BufferType source = typeOf(op.getInput());
  std::string axes = axesOf(source);
  std::string permuted;
  SmallVector<int64_t> shape;
  for (int64_t axis : op.getPermutation()) {
    permuted += axes[axis];
    shape.push_back(source.getShape()[axis]);
  }
  return nest(op, "transpose", axes + "->" + permuted, ReductionKind::None,
              {bufferOf(op.getInput())}, denseBuffer(shape));
}

} // namespace heddle
