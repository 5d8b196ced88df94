// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations that read weight tables: rows by id or by position, and whole weights.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

LogicalResult lowerGather(transformer::GatherOp op, EntryContext &entry) {
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "gather";
  parts.results = {entry.denseBuffer({tokensDimension, width})};
  if (auto positions = op.getIds().getDefiningOp<transformer::PositionsOp>()) {
    int64_t offset = positions.getOffset();
    if (failed(entry.limitPositions(op, positions.getRows(), op.getTableAttr(), offset))) {
      return failure();
    }
    parts.computes = GatherAttr::get(op.getContext(), width, 0, {offset}, {}, {}, Arithmetic::F32);
    parts.results = {entry.denseBuffer({entry.rowsIn(positions.getRows()), width})};
  } else {
    if (failed(entry.limitIds(op, op.getIds(), op.getTableAttr()))) {
      return failure();
    }
    parts.computes = GatherAttr::get(op.getContext(), width, 1, {}, {}, {}, Arithmetic::F32);
    parts.inputs.push_back(entry.bufferOf(op.getIds()));
  }
  parts.inputs.push_back(entry.parameter(op.getTableAttr()));
  return entry.dispatch(op, parts);
}

LogicalResult lowerEmbed(transformer::EmbedOp op, EntryContext &entry) {
  int64_t width = op.getType().getDimSize(1);
  auto tables = op.getTables().getAsRange<FlatSymbolRefAttr>();
  KernelParts parts;
  parts.stem = "gather";
  auto table = tables.begin();
  for (Value ids : op.getIds()) {
    if (failed(entry.limitIds(op, ids, *table)) ||
        (op.getRows() &&
         failed(entry.checkRows(op, "looks up", entry.bufferOf(ids), op.getRows())))) {
      return failure();
    }
    parts.inputs.push_back(entry.bufferOf(ids));
    parts.inputs.push_back(entry.parameter(*table++));
  }
  for (int64_t offset : op.getPositionOffsets()) {
    if (failed(entry.limitPositions(op, op.getRows(), *table, offset))) {
      return failure();
    }
    parts.inputs.push_back(entry.parameter(*table++));
  }
  DenseF32ArrayAttr scales = op.getScales().empty()
                                 ? DenseF32ArrayAttr()
                                 : entry.builder.getDenseF32ArrayAttr(op.getScales());
  parts.computes =
      GatherAttr::get(op.getContext(), width, op.getIds().size(), op.getPositionOffsets(), scales,
                      ArrayRef<int64_t>(), Arithmetic::F32);
  if (op.getEpsilonAttr()) {
    parts.norm = NormAttr::get(op.getContext(), NormKind::LayerNorm, op.getEpsilonAttr());
    parts.normOperands = {entry.parameter(op.getNormWeightAttr()),
                          entry.parameter(op.getNormBiasAttr())};
  }
  parts.results = {
      entry.denseBuffer({op.getRows() ? entry.rowsIn(op.getRows()) : tokensDimension, width})};
  return entry.dispatch(op, parts);
}

LogicalResult lowerPositions(transformer::PositionsOp, EntryContext &) {
  return success(); // look-ups inspect the operation
}

LogicalResult lowerWeight(transformer::WeightOp op, EntryContext &entry) {
  return entry.define(op, entry.parameter(op.getParameterAttr()));
}

} // namespace

template <> Pattern patternOf<transformer::GatherOp>() {
  return rowPattern<transformer::GatherOp, lowerGather>();
}

template <> Pattern patternOf<transformer::EmbedOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::EmbedOp, lowerEmbed>};
}

template <> Pattern patternOf<transformer::PositionsOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::PositionsOp, lowerPositions>};
}

template <> Pattern patternOf<transformer::WeightOp>() {
  return rowPattern<transformer::WeightOp, lowerWeight>();
}

} // namespace heddle
