// SPDX-License-Identifier: Apache-2.0
///
/// Attention as its kernel, and the primitive mathematics of attention as loop nests.
#include "compiler/Dataflow/Lowering/EntryLowering.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

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

/// The dimensions of a buffer, or of the positions of a cache as keys.
SmallVector<int64_t> shapeOf(Value buffer) {
  auto cache = dyn_cast<CacheType>(buffer.getType());
  if (!cache) {
    return SmallVector<int64_t>(cast<BufferType>(buffer.getType()).getShape());
  }
  SmallVector<int64_t> shape = {BufferType::kLongest};
  llvm::append_range(shape, cache.getShape());
  return shape;
}

/// The run-time dimension of an axis of a contraction's result, from the operand that has it.
int64_t resultDimension(char axis, StringRef resultAxes, ArrayRef<std::string> operandAxes,
                        ArrayRef<Value> operands) {
  if (axis == 'k' && resultAxes.contains('t')) {
    return BufferType::kLongest;
  }
  for (auto [axes, operand] : llvm::zip_equal(operandAxes, operands)) {
    size_t position = axes.find(axis);
    if (position == std::string::npos) {
      continue;
    }
    int64_t dimension = shapeOf(operand)[position];
    return dimension == BufferType::kLongest ? BufferType::kTokens : dimension;
  }
  llvm_unreachable("an axis of the result is one of an operand");
}

/// The axes of an operand in the order in which its buffer has them: axis i of the value is axis
/// order[i] of that.
std::string reorderAxes(StringRef axes, ArrayRef<int64_t> order) {
  std::string reordered = axes.str();
  for (auto [axis, place] : llvm::zip(axes, order)) {
    reordered[place] = axis;
  }
  return reordered;
}

/// A letter that no axis of a specification has, and that means nothing by itself.
char freeAxis(StringRef axes) {
  char letter = 'a';
  while (axes.contains(letter)) {
    ++letter;
  }
  assert(letter < 'k' && "operands have few axes");
  return letter;
}

/// Puts the axis `inner` behind the axis `outer`, if there is one.
std::string splitAxis(StringRef axes, char outer, char inner) {
  std::string split;
  for (char axis : axes) {
    split += axis;
    split += axis == outer ? std::string(1, inner) : std::string();
  }
  return split;
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

LogicalResult EntryLowering::addAttended(OpOperand &rows, KernelParts &parts) {
  Operation *op = rows.getOwner();
  Value input = bufferOf(rows.get());
  auto type = dyn_cast<BufferType>(input.getType());
  if (type && type.getShape().front() != BufferType::kTokens) {
    return op->emitOpError("attends to rows of sequences, expected rows of tokens");
  }
  FailureOr<Value> keys = keysOf(op);
  if (failed(keys)) {
    return failure();
  }
  if (type && *keys && rows.getOperandNumber() > 0) {
    return op->emitOpError("has keys or values that are rows, expected those of a cache");
  }
  parts.inputs.push_back(input);
  return success();
}

LogicalResult EntryLowering::checkBias(Operation *op, FlatSymbolRefAttr bias,
                                       transformer::HiddenAttr hidden) {
  // The scores of hidden keys lack the number that all others have.
  if (bias && hidden && hidden.getKind() == transformer::HiddenKind::Score &&
      parameterOp(bias).getTensorType().getDimSize(1) == 1) {
    return op->emitOpError("has scores in place of those of hidden keys and a bias of one column, "
                           "expected one of several distances");
  }
  return success();
}

int64_t EntryLowering::addBias(FlatSymbolRefAttr bias, KernelParts &parts) {
  int64_t distance = bias ? parameterOp(bias).getTensorType().getDimSize(1) / 2 : 0;
  // A table of one column is a number for each head: it changes no softmax.
  if (distance > 0) {
    parts.inputs.push_back(parameter(bias));
  }
  return distance;
}

LogicalResult EntryLowering::lower(transformer::AttentionOp op) {
  int64_t heads = op.getHeads();
  int64_t keySize = op.getQuery().getType().getDimSize(1) / heads;
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "attention";
  if (failed(checkVisibility(op, op.getVisibility(), op.getKeys())) ||
      failed(addAttended(op.getQueryMutable(), parts)) ||
      failed(addAttended(op.getKeyMutable(), parts)) ||
      failed(addAttended(op.getValueMutable(), parts))) {
    return failure();
  }
  if (failed(checkBias(op, op.getBiasAttr(), op.getHiddenAttr()))) {
    return failure();
  }
  int64_t distance = addBias(op.getBiasAttr(), parts);
  parts.computes =
      AttentionAttr::get(builder.getContext(), heads, keySize, width / heads, op.getScaleAttr(),
                         op.getVisibility() == transformer::Visibility::Causal, distance,
                         op.getHiddenAttr(), op.getKeyShare(), op.getValueShare());
  parts.result = denseBuffer({BufferType::kTokens, width});
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::AttentionWeightsOp op) {
  int64_t heads = op.getHeads();
  int64_t keySize = op.getQuery().getType().getDimSize(1) / heads;
  KernelParts parts;
  parts.stem = "attention_weights";
  if (failed(checkVisibility(op, op.getVisibility(), op.getKeys())) ||
      failed(addAttended(op.getQueryMutable(), parts)) ||
      failed(addAttended(op.getKeyMutable(), parts))) {
    return failure();
  }
  if (failed(checkBias(op, op.getBiasAttr(), op.getHiddenAttr()))) {
    return failure();
  }
  int64_t distance = addBias(op.getBiasAttr(), parts);
  parts.computes =
      AttentionWeightsAttr::get(builder.getContext(), heads, keySize, op.getScaleAttr(),
                                op.getVisibility() == transformer::Visibility::Causal, distance,
                                op.getHiddenAttr(), op.getKeyShare());
  parts.result = denseBuffer({BufferType::kTokens, heads, BufferType::kLongest});
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::AttendOp op) {
  int64_t heads = op.getWeights().getType().getDimSize(1);
  int64_t width = op.getType().getDimSize(1);
  BufferType weights = typeOf(op.getWeights());
  if (weights != denseBuffer({BufferType::kTokens, heads, BufferType::kLongest})) {
    return op.emitOpError("has weights ") << weights << ", expected [tokens, heads, longest]";
  }
  KernelParts parts;
  parts.stem = "attend";
  parts.inputs = {bufferOf(op.getWeights())};
  if (failed(checkVisibility(op, op.getVisibility(), op.getKeys())) ||
      failed(addAttended(op.getValueMutable(), parts))) {
    return failure();
  }
  parts.computes =
      AttendAttr::get(builder.getContext(), heads, width / heads,
                      op.getVisibility() == transformer::Visibility::Causal, op.getValueShare());
  parts.result = denseBuffer({BufferType::kTokens, width});
  return dispatch(op, parts);
}

LogicalResult EntryLowering::splitSharedHeads(transformer::ContractOp op, ContractAxes &axes,
                                              MutableArrayRef<Value> operands,
                                              SmallVectorImpl<int64_t> &resultShape) {
  auto split = [](SmallVectorImpl<int64_t> &shape, size_t place, int64_t times) {
    shape[place] /= times;
    shape.insert(shape.begin() + static_cast<int64_t>(place) + 1, times);
  };
  for (auto [number, value] : llvm::enumerate(op.getOperands().take_front(2))) {
    int64_t times = cacheRepeats.lookup(value);
    if (times == 0) {
      continue;
    }
    // A position of the cache is [heads, size]: its heads are the axis after that of the keys.
    char head = axes.operands[number][1];
    char inner = freeAxis(op.getAxes());
    std::string &others = axes.operands[1 - number];
    Value &other = operands[1 - number];
    size_t place = others.find(head);
    auto type = dyn_cast<BufferType>(other.getType());
    bool isSplit = place != std::string::npos && type;
    if (axes.result.front() == head || axes.result.size() == 4 ||
        (isSplit && (place == 0 || others.size() == 4))) {
      return op.emitOpError("reads a cache with one head for several by '")
             << op.getAxes() << "', expected rows before heads, and 3 axes at most";
    }
    if (isSplit) {
      SmallVector<int64_t> shape(type.getShape());
      split(shape, place, times);
      auto view =
          BufferType::get(builder.getContext(), shape, type.getElementType(), type.getRowStride());
      other = ReshapeOp::create(builder, op.getLoc(), view, other);
    }
    if (size_t found = axes.result.find(head); found != std::string::npos) {
      split(resultShape, found, times);
    }
    others = splitAxis(others, head, inner);
    axes.result = splitAxis(axes.result, head, inner);
  }
  return success();
}

LogicalResult EntryLowering::checkContracted(transformer::ContractOp op, const ContractAxes &axes,
                                             ArrayRef<Value> operands) {
  FailureOr<Value> keys = keysOf(op);
  if (failed(keys)) {
    return failure();
  }
  bool hasRows = llvm::any_of(axes.operands, [](StringRef each) { return each.contains('t'); });
  for (auto [letters, operand] : llvm::zip_equal(axes.operands, operands)) {
    bool areKeys = StringRef(letters).starts_with("k") && hasRows;
    if (isa<CacheType>(operand.getType()) && !areKeys) {
      return op.emitOpError("reads a cache by '")
             << op.getAxes() << "', expected its rows to be keys 'k' of rows 't'";
    }
  }
  for (auto [letters, operand] : llvm::zip_equal(axes.operands, operands)) {
    size_t key = letters.find('k');
    if (*keys && key != std::string::npos && shapeOf(operand)[key] != BufferType::kLongest) {
      return op.emitOpError("has keys that are rows, expected those of a cache");
    }
  }
  return success();
}

LogicalResult EntryLowering::lower(transformer::ContractOp op) {
  std::string renamed = withRows(op.getAxes());
  auto [inputAxes, resultAxes] = StringRef(renamed).split("->");
  ContractAxes axes;
  axes.operands = {reorderAxes(inputAxes.split(',').first, cacheOrders.lookup(op.getLhs())),
                   reorderAxes(inputAxes.split(',').second, cacheOrders.lookup(op.getRhs()))};
  axes.result = resultAxes.str();
  SmallVector<Value> operands = {bufferOf(op.getLhs()), bufferOf(op.getRhs())};
  if (failed(checkContracted(op, axes, operands))) {
    return failure();
  }
  SmallVector<int64_t> whole;
  for (auto [axis, size] : llvm::zip_equal(axes.result, op.getType().getShape())) {
    bool isConstant = !ShapedType::isDynamic(size);
    whole.push_back(isConstant ? size
                               : resultDimension(axis, axes.result, axes.operands, operands));
  }
  SmallVector<int64_t> shape = whole;
  if (failed(splitSharedHeads(op, axes, operands, shape)) ||
      failed(nest(op, "contract_heads",
                  axes.operands[0] + "," + axes.operands[1] + "->" + axes.result,
                  ReductionKind::Sum, operands, denseBuffer(shape),
                  [](OpBuilder &region, Location location, ValueRange arguments) {
                    return createProduct(region, location, arguments[0], arguments[1]);
                  }))) {
    return failure();
  }
  if (shape == whole) {
    return success();
  }
  Value result = bufferOf(op.getResult());
  return define(op, ReshapeOp::create(builder, op.getLoc(), denseBuffer(whole), result));
}

LogicalResult EntryLowering::lower(transformer::RepeatHeadsOp op) {
  int64_t times = op.getType().getDimSize(1) / op.getInput().getType().getDimSize(1);
  if (cacheOf(op.getInput())) {
    // The contraction that reads it has an axis for the repetition.
    cacheRepeats[op.getResult()] = times;
    return define(op, bufferOf(op.getInput()));
  }
  BufferType source = typeOf(op.getInput());
  ArrayRef<int64_t> shape = source.getShape();
  if (failed(nest(op, "repeat_heads", "thd->thed", ReductionKind::None, {bufferOf(op.getInput())},
                  denseBuffer({shape[0], shape[1], times, shape[2]})))) {
    return failure();
  }
  BufferType whole = denseBuffer({shape[0], shape[1] * times, shape[2]});
  return define(op, ReshapeOp::create(builder, op.getLoc(), whole, bufferOf(op.getResult())));
}

LogicalResult EntryLowering::lower(transformer::RelativeBiasOp op) {
  Value table = parameter(op.getTableAttr());
  int64_t heads = cast<BufferType>(table.getType()).getShape().front();
  return nest(op, "relative_bias", "hr->thk", ReductionKind::None, {table},
              denseBuffer({BufferType::kTokens, heads, BufferType::kLongest}), nullptr, FloatAttr(),
              /*relative=*/true);
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
  if (cacheOf(op.getInput())) {
    return reshapeCache(op, op.getType().getShape().drop_front());
  }
  BufferType source = typeOf(op.getInput());
  RankedTensorType tensor = cast<RankedTensorType>(op.getType());
  auto type = BufferType::get(
      builder.getContext(), {source.getShape().front(), tensor.getDimSize(1), tensor.getDimSize(2)},
      source.getElementType(), source.getRowStride());
  return define(op, ReshapeOp::create(builder, op.getLoc(), type, bufferOf(op.getInput())));
}

LogicalResult EntryLowering::lower(transformer::MergeHeadsOp op) {
  if (cacheOf(op.getInput())) {
    return reshapeCache(op, op.getType().getShape().drop_front());
  }
  BufferType source = typeOf(op.getInput());
  auto type = BufferType::get(builder.getContext(),
                              {source.getShape().front(), source.getConstantElements()},
                              source.getElementType(), source.getRowStride());
  return define(op, ReshapeOp::create(builder, op.getLoc(), type, bufferOf(op.getInput())));
}

LogicalResult EntryLowering::lower(transformer::TransposeOp op) {
  if (cacheOf(op.getInput())) {
    // The contraction that reads it takes the axes as they lie.
    SmallVector<int64_t> order = cacheOrders.lookup(op.getInput());
    if (int64_t times = cacheRepeats.lookup(op.getInput())) {
      cacheRepeats[op.getResult()] = times;
    }
    SmallVector<int64_t> &composed = cacheOrders[op.getResult()];
    for (int64_t axis : op.getPermutation()) {
      composed.push_back(order.empty() ? axis : order[axis]);
    }
    return define(op, bufferOf(op.getInput()));
  }
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
