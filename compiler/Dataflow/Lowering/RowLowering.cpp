// SPDX-License-Identifier: Apache-2.0
///
/// Look-ups, linear maps, element-wise functions, norms and pooling as dispatches.
#include "compiler/Dataflow/Lowering/EntryLowering.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Whether `other` can be an element-wise operand of a rows kernel with this result.
bool isRowOperand(BufferType rows, BufferType other) {
  ArrayRef<int64_t> shape = other.getShape();
  return shape == rows.getShape() || shape == ArrayRef<int64_t>(rows.getWidth()) ||
         shape == ArrayRef<int64_t>({rows.getShape().front(), 1}) || shape == ArrayRef<int64_t>(1);
}

/// The axes of an element-wise operand beside a first operand with axes `first`: the same, those of
/// a bias of scores for every head, trailing ones, or those of one number, for a row or for all.
/// Empty if they do not fit.
std::string operandAxes(BufferType first, StringRef firstAxes, BufferType other) {
  // An axis of size 1 that no other operand has.
  constexpr llvm::StringLiteral once = "z";
  if (other.getShape() == ArrayRef<int64_t>(1)) {
    return once.str();
  }
  if (other.getShape() == ArrayRef<int64_t>({first.getShape().front(), 1})) {
    return (firstAxes.take_front() + once).str();
  }
  size_t rank = other.getShape().size();
  if (rank > first.getShape().size()) {
    return {};
  }
  auto isSymbol = [](int64_t dimension) { return dimension < 0; };
  if (rank < first.getShape().size() && llvm::any_of(other.getShape(), isSymbol)) {
    // A bias of scores: t and k, wherever the scores have them.
    std::string axes = axesOf(other);
    bool fits = llvm::all_of(llvm::zip_equal(axes, other.getShape()), [&](auto axis) {
      size_t position = firstAxes.find(std::get<0>(axis));
      return position != StringRef::npos && first.getShape()[position] == std::get<1>(axis);
    });
    return fits ? axes : std::string();
  }
  return first.getShape().take_back(rank) == other.getShape() ? firstAxes.take_back(rank).str()
                                                              : std::string();
}

PoolKind toPoolKind(transformer::Pooling method) {
  switch (method) {
  case transformer::Pooling::Mean:
    return PoolKind::Mean;
  case transformer::Pooling::Cls:
    return PoolKind::Cls;
  case transformer::Pooling::Max:
    return PoolKind::Max;
  }
  llvm_unreachable("every pooling has its kernel");
}

} // namespace

LogicalResult EntryLowering::elementwise(Operation *op, StringRef stem, ArrayRef<Value> operands,
                                         EpilogueBuilder epilogue) {
  auto first = cast<BufferType>(operands.front().getType());
  BufferType result = denseBuffer(first.getShape());
  bool areRows = isRows(first) && llvm::all_of(operands.drop_front(), [&](Value operand) {
                   return isRowOperand(first, cast<BufferType>(operand.getType()));
                 });
  if (areRows) {
    KernelParts parts;
    parts.stem = stem;
    parts.computes = RowsAttr::get(builder.getContext(), first.getWidth());
    parts.inputs = {operands.front()};
    parts.elementwise.assign(operands.begin() + 1, operands.end());
    parts.result = result;
    return dispatch(op, parts, epilogue);
  }
  std::string axes = axesOf(first);
  std::string specification = axes;
  for (Value operand : operands.drop_front()) {
    auto type = cast<BufferType>(operand.getType());
    std::string others = operandAxes(first, axes, type);
    if (others.empty()) {
      return op->emitOpError("combines a buffer ") << type << " with rows of " << first;
    }
    specification += "," + others;
  }
  return nest(op, stem, specification + "->" + axes, ReductionKind::None, operands, result,
              epilogue);
}

LogicalResult EntryLowering::norm(Operation *op, StringRef stem, Value input, NormAttr norm,
                                  ArrayRef<Value> operands) {
  auto type = cast<BufferType>(input.getType());
  KernelParts parts;
  parts.stem = stem;
  parts.computes = RowsAttr::get(builder.getContext(), type.getWidth());
  parts.inputs = {input};
  parts.norm = norm;
  parts.normOperands.assign(operands.begin(), operands.end());
  parts.result = denseBuffer(type.getShape());
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::ActivateOp op) {
  return elementwise(op, stringifyActivation(op.getFunction()), {bufferOf(op.getInput())},
                     [&](OpBuilder &region, Location location, ValueRange arguments) {
                       return createActivation(region, location, op.getFunction(),
                                               arguments.front());
                     });
}

LogicalResult EntryLowering::lower(transformer::AddOp op) {
  return elementwise(op, "add", {bufferOf(op.getLhs()), bufferOf(op.getRhs())},
                     [](OpBuilder &region, Location location, ValueRange arguments) {
                       return createSum(region, location, arguments[0], arguments[1]);
                     });
}

LogicalResult EntryLowering::lower(transformer::MultiplyOp op) {
  return elementwise(op, "multiply", {bufferOf(op.getLhs()), bufferOf(op.getRhs())},
                     [](OpBuilder &region, Location location, ValueRange arguments) {
                       return createProduct(region, location, arguments[0], arguments[1]);
                     });
}

LogicalResult EntryLowering::lower(transformer::ScaleOp op) {
  return elementwise(op, "scale", {bufferOf(op.getInput())},
                     [&](OpBuilder &region, Location location, ValueRange arguments) {
                       return createProduct(region, location, arguments.front(),
                                            createNumber(region, location, op.getFactorAttr()));
                     });
}

LogicalResult EntryLowering::lower(transformer::ColumnsOp op) {
  BufferType source = typeOf(op.getInput());
  int64_t width = op.getType().getDimSize(1);
  if (width == source.getWidth()) {
    return define(op, bufferOf(op.getInput()));
  }
  auto type = BufferType::get(builder.getContext(), {source.getShape().front(), width},
                              source.getElementType(), source.getRowElements());
  return define(op, ColumnsOp::create(builder, op.getLoc(), type, bufferOf(op.getInput()),
                                      op.getFirstAttr()));
}

LogicalResult EntryLowering::lower(transformer::GatherOp op) {
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "gather";
  parts.result = denseBuffer({BufferType::kTokens, width});
  if (auto positions = op.getIds().getDefiningOp<transformer::PositionsOp>()) {
    int64_t offset = positions.getOffset();
    if (failed(limitPositions(op, op.getTableAttr(), offset))) {
      return failure();
    }
    parts.computes = GatherAttr::get(builder.getContext(), width, 0, {offset}, {});
  } else {
    if (failed(limitIds(op, op.getIds(), op.getTableAttr()))) {
      return failure();
    }
    parts.computes = GatherAttr::get(builder.getContext(), width, 1, {}, {});
    parts.inputs.push_back(bufferOf(op.getIds()));
  }
  parts.inputs.push_back(parameter(op.getTableAttr()));
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::EmbedOp op) {
  int64_t width = op.getType().getDimSize(1);
  auto tables = op.getTables().getAsRange<FlatSymbolRefAttr>();
  KernelParts parts;
  parts.stem = "gather";
  auto table = tables.begin();
  for (Value ids : op.getIds()) {
    if (failed(limitIds(op, ids, *table))) {
      return failure();
    }
    parts.inputs.push_back(bufferOf(ids));
    parts.inputs.push_back(parameter(*table++));
  }
  for (int64_t offset : op.getPositionOffsets()) {
    if (failed(limitPositions(op, *table, offset))) {
      return failure();
    }
    parts.inputs.push_back(parameter(*table++));
  }
  DenseF32ArrayAttr scales =
      op.getScales().empty() ? DenseF32ArrayAttr() : builder.getDenseF32ArrayAttr(op.getScales());
  parts.computes = GatherAttr::get(builder.getContext(), width, op.getIds().size(),
                                   op.getPositionOffsets(), scales);
  if (op.getEpsilonAttr()) {
    parts.norm = NormAttr::get(builder.getContext(), NormKind::LayerNorm, op.getEpsilonAttr());
    parts.normOperands = {parameter(op.getNormWeightAttr()), parameter(op.getNormBiasAttr())};
  }
  parts.result = denseBuffer({BufferType::kTokens, width});
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::LayerNormOp op) {
  auto attribute = NormAttr::get(builder.getContext(), NormKind::LayerNorm, op.getEpsilonAttr());
  return norm(op, "layer_norm", bufferOf(op.getInput()), attribute,
              {parameter(op.getWeightAttr()), parameter(op.getBiasAttr())});
}

LogicalResult EntryLowering::lower(transformer::RmsNormOp op) {
  auto attribute = NormAttr::get(builder.getContext(), NormKind::RmsNorm, op.getEpsilonAttr());
  return norm(op, "rms_norm", bufferOf(op.getInput()), attribute, {parameter(op.getWeightAttr())});
}

LogicalResult EntryLowering::lower(transformer::NormalizeOp op) {
  auto attribute = NormAttr::get(builder.getContext(), NormKind::Normalize, op.getEpsilonAttr());
  return norm(op, "normalize", bufferOf(op.getInput()), attribute, {});
}

LogicalResult EntryLowering::linear(Operation *op, FlatSymbolRefAttr weight, FlatSymbolRefAttr bias,
                                    int64_t groups) {
  BufferType input = typeOf(op->getOperand(0));
  int64_t width = cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(1);
  KernelParts parts;
  parts.stem = "contract";
  parts.computes =
      ContractAttr::get(builder.getContext(), width / groups, input.getWidth() / groups, groups);
  parts.inputs = {bufferOf(op->getOperand(0)), parameter(weight)};
  parts.result = denseBuffer({input.getShape().front(), width});
  if (!bias) {
    return dispatch(op, parts);
  }
  parts.elementwise = {parameter(bias)};
  return dispatch(op, parts, [](OpBuilder &region, Location location, ValueRange arguments) {
    return createSum(region, location, arguments[0], arguments[1]);
  });
}

LogicalResult EntryLowering::lower(transformer::GroupedLinearOp op) {
  return linear(op, op.getWeightAttr(), op.getBiasAttr(), op.getGroups());
}

LogicalResult EntryLowering::lower(transformer::LinearOp op) {
  return linear(op, op.getWeightAttr(), op.getBiasAttr(), /*groups=*/1);
}

LogicalResult EntryLowering::lower(transformer::PoolOp op) {
  BufferType input = typeOf(op.getInput());
  if (input.getShape().front() != BufferType::kTokens) {
    return op.emitOpError("pools rows of sequences, expected rows of tokens");
  }
  KernelParts parts;
  parts.stem = "pool";
  parts.computes =
      PoolAttr::get(builder.getContext(), toPoolKind(op.getMethod()), input.getWidth());
  parts.inputs = {bufferOf(op.getInput())};
  parts.result = denseBuffer({BufferType::kSequences, input.getWidth()});
  return dispatch(op, parts);
}

} // namespace heddle
