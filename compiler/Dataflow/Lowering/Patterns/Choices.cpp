// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of rows that choose, and of the rows that are their choices. Products visit rows in the
/// order of their choices, a separate list of integers. The rows stay in place, so that all other
/// kernels treat choices as ordinary rows (docs/decisions/0020-routed-rows.md).
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Fails unless an operand has the rows whose choices the segments are.
LogicalResult checkChoosing(Operation *op, EntryContext &entry, Value operand, Value choices) {
  RowSpace expected = entry.spaceOf(choices)->base();
  BufferType type = entry.typeOf(operand);
  if (type.getRowSpace() == expected) {
    return success();
  }
  return op->emitOpError("has choices of rows of ")
         << expected.text() << ", got rows of " << dimensionText(type.getShape().front());
}

/// Segments need no kernel: operations that make rows of them ask the entry for their space.
LogicalResult lowerChoices(transformer::ChoicesOp, EntryContext &) { return success(); }

LogicalResult lowerTopK(transformer::TopKOp op, EntryContext &entry) {
  if (failed(checkChoosing(op, entry, op.getInput(), op.getChoices()))) {
    return failure();
  }
  BufferType input = entry.typeOf(op.getInput());
  int64_t count = op.getValue().getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "top_k";
  parts.computes = TopKAttr::get(op.getContext(), count, input.getWidth());
  parts.inputs = {entry.bufferOf(op.getInput())};
  parts.results = {entry.denseBuffer({input.getShape().front(), count}),
                   BufferType::get(op.getContext(), entry.rowsIn(op.getChoices()),
                                   entry.builder.getI32Type(),
                                   /*rowStride=*/0)};
  return entry.dispatchTo({op.getValue(), op.getChoice()}, op.getLoc(), parts);
}

/// Returns whether a product reads the input directly instead of its repetition.
bool isReadThrough(OpOperand &use) {
  return isa<transformer::ChosenLinearOp>(use.getOwner()) && use.getOperandNumber() == 0;
}

LogicalResult lowerRepeat(transformer::RepeatOp op, EntryContext &entry) {
  if (failed(checkChoosing(op, entry, op.getInput(), op.getChoices()))) {
    return failure();
  }
  if (!op->use_empty() && llvm::all_of(op->getUses(), isReadThrough)) {
    return success();
  }
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "repeat";
  parts.computes = RepeatAttr::get(op.getContext(), width);
  parts.inputs = {entry.bufferOf(op.getInput())};
  parts.results = {entry.denseBuffer({entry.rowsIn(op.getChoices()), width})};
  return entry.dispatch(op, parts);
}

LogicalResult lowerSplitRows(transformer::SplitRowsOp op, EntryContext &entry) {
  if (failed(checkChoosing(op, entry, op.getInput(), op.getChoices()))) {
    return failure();
  }
  Value input = entry.bufferOf(op.getInput());
  // Parts are only adjacent if the rows are dense.
  if (entry.typeOf(op.getInput()).getRowStride() != 0) {
    input = entry.copy(op.getLoc(), input);
  }
  BufferType type = entry.denseBuffer({entry.rowsIn(op.getChoices()), op.getType().getDimSize(1)});
  return entry.define(op, ReshapeOp::create(entry.builder, op.getLoc(), type, input));
}

LogicalResult lowerJoinRows(transformer::JoinRowsOp op, EntryContext &entry) {
  RowSpace choices = *entry.spaceOf(op.getChoices());
  BufferType source = entry.typeOf(op.getInput());
  if (source.getRowSpace() != choices) {
    return op.emitOpError("joins rows of ")
           << dimensionText(source.getShape().front()) << ", expected rows of " << choices.text();
  }
  Value input = entry.bufferOf(op.getInput());
  // Choices are only adjacent if their rows are dense.
  if (source.getRowStride() != 0) {
    input = entry.copy(op.getLoc(), input);
  }
  BufferType type =
      entry.denseBuffer({RowDimension{choices.base()}.number(), op.getType().getDimSize(1)});
  return entry.define(op, ReshapeOp::create(entry.builder, op.getLoc(), type, input));
}

LogicalResult lowerPlaceColumns(transformer::PlaceColumnsOp op, EntryContext &entry) {
  BufferType values = entry.typeOf(op.getValue());
  std::optional<RowSpace> choices = entry.typeOf(op.getChoice()).getRowSpace();
  if (!choices || values.getRowSpace() != choices->base()) {
    return op.emitOpError("has values of rows of ")
           << dimensionText(values.getShape().front()) << ", expected the rows that chose";
  }
  int64_t columns = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "place_columns";
  parts.computes = PlaceColumnsAttr::get(op.getContext(), values.getWidth(), columns);
  parts.inputs = {entry.bufferOf(op.getValue()), entry.bufferOf(op.getChoice())};
  parts.results = {entry.denseBuffer({values.getShape().front(), columns})};
  return entry.dispatch(op, parts);
}

/// Returns the order of choice rows by the chosen group, which all products of them share.
Value orderOf(Location location, EntryContext &entry, Value choice, int64_t groups) {
  Value chosen = entry.bufferOf(choice);
  Value &order = entry.orders[{chosen, groups}];
  if (!order) {
    KernelParts parts;
    parts.stem = "order";
    parts.computes = OrderAttr::get(entry.builder.getContext(), groups);
    parts.inputs = {chosen};
    parts.results = {chosen.getType()};
    order = entry.createDispatch(location, parts);
  }
  return order;
}

/// Reports which part of all maps a row uses.
void reportChoice(transformer::ChosenLinearOp op, int64_t groups, RowSpace rows) {
  uint64_t flops = op.getFlops().perRow;
  int64_t used = rows.parts();
  reportTaken(op.getLoc(), passNames::convertTransformerToDataflow,
              llvm::formatv("each row uses {0} of {1} maps, {2} are idle: {3} FLOPs a token, of "
                            "{4} for all of them",
                            used, groups, groups - used, rows.perToken(flops),
                            rows.base().perToken(flops * groups))
                  .str());
}

LogicalResult lowerChosenLinear(transformer::ChosenLinearOp op, EntryContext &entry) {
  Value choice = op.getChoice();
  int64_t groups = op.getMapsAttr().getInt();
  if (!choice.getDefiningOp() && failed(entry.limitIds(op, choice, groups))) {
    return failure();
  }
  BufferType chosen = entry.typeOf(choice);
  Value input = entry.bufferOf(op.getInput());
  if (auto repeat = op.getInput().getDefiningOp<transformer::RepeatOp>()) {
    input = entry.bufferOf(repeat.getInput());
    if (RowDimension{*entry.spaceOf(repeat.getChoices())}.number() != chosen.getShape().front()) {
      return op.emitOpError("has other choices than those that its rows are");
    }
  } else if (cast<BufferType>(input.getType()).getShape().front() != chosen.getShape().front()) {
    return op.emitOpError("has rows of ")
           << dimensionText(cast<BufferType>(input.getType()).getShape().front())
           << ", expected rows of " << dimensionText(chosen.getShape().front())
           << ", which have chosen";
  }
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "contract_chosen";
  parts.computes =
      ContractChosenAttr::get(op.getContext(), width, cast<BufferType>(input.getType()).getWidth(),
                              groups, static_cast<bool>(op.getBiasAttr()));
  parts.inputs = {input, entry.parameter(op.getWeightAttr()), entry.bufferOf(choice),
                  orderOf(op.getLoc(), entry, choice, groups)};
  if (op.getBiasAttr()) {
    parts.inputs.push_back(entry.parameter(op.getBiasAttr()));
  }
  parts.results = {entry.denseBuffer({chosen.getShape().front(), width})};
  reportChoice(op, groups, *chosen.getRowSpace());
  return entry.dispatch(op, parts);
}

} // namespace

/// Choices of rows are not positions of sequences, so they are allowed in an entry whose runs begin
/// in the middle of one.
template <> Pattern patternOf<transformer::ChoicesOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::ChoicesOp, lowerChoices>};
}

template <> Pattern patternOf<transformer::TopKOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::TopKOp, lowerTopK>};
}

template <> Pattern patternOf<transformer::RepeatOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::RepeatOp, lowerRepeat>};
}

template <> Pattern patternOf<transformer::SplitRowsOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::SplitRowsOp, lowerSplitRows>};
}

template <> Pattern patternOf<transformer::JoinRowsOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::JoinRowsOp, lowerJoinRows>};
}

template <> Pattern patternOf<transformer::PlaceColumnsOp>() {
  return rowPattern<transformer::PlaceColumnsOp, lowerPlaceColumns>();
}

template <> Pattern patternOf<transformer::ChosenLinearOp>() {
  return rowPattern<transformer::ChosenLinearOp, lowerChosenLinear>();
}

} // namespace heddle
