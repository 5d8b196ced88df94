// SPDX-License-Identifier: Apache-2.0
///
/// Caches: appending to them, seeing them as keys, and which keys scores are about. A value that is
/// read from a cache has the cache itself as its buffer; only attention and the loop nests of its
/// mathematics know how to read one.
#include "compiler/Dataflow/Lowering/EntryLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

constexpr llvm::StringLiteral transformerName = "transformer.name";

/// Notes that an attention, or half of one, reads `value` as keys or as values, if it is that of a
/// cache.
LogicalResult noteLayout(Operation *op, Value value, CacheLayout layout, CacheLayouts &layouts) {
  transformer::CachedOp cached = transformer::cachedSource(value);
  StringAttr name = cached ? transformer::cacheName(cached.getCache()) : StringAttr();
  if (!name) {
    return success(); // of no cache, or reported where the arguments are lowered
  }
  auto [found, isNew] = layouts.try_emplace(name, layout);
  if (!isNew && found->second != layout) {
    return op->emitOpError("reads cache ")
           << name << " as " << stringifyCacheLayout(layout) << ", but another attention as "
           << stringifyCacheLayout(found->second);
  }
  return success();
}

/// What an attention or half of one reads as keys and as values; null where it does not.
std::pair<Value, Value> keyAndValue(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::pair<Value, Value>>(op)
      .Case([](transformer::AttendOp attend) { return std::pair(Value(), attend.getValue()); })
      .Case([](transformer::AttentionOp attention) {
        return std::pair(attention.getKey(), attention.getValue());
      })
      .Case([](transformer::AttentionWeightsOp weights) {
        return std::pair(weights.getKey(), Value());
      })
      .Default([](Operation *) { return std::pair(Value(), Value()); });
}

/// The segments of the rows of an operation, or of its queries; null if it names none.
Value rowSegments(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<transformer::AccumulateOp, transformer::AppendOp, transformer::EmbedOp,
            transformer::HistoryOp, transformer::PoolOp, transformer::PositionsOp,
            transformer::PrefixMeanOp>([](auto op) { return op.getRows(); })
      .Case<transformer::AttendOp, transformer::AttentionOp, transformer::AttentionWeightsOp,
            transformer::MaskOp, transformer::RelativeBiasOp>(
          [](auto op) { return op.getQueries(); })
      .Case([](transformer::ContractOp op) {
        return op.getSegments().empty() ? Value() : op.getSegments().front();
      })
      .Default([](Operation *) { return Value(); });
}

/// Whether the last segments of an operation are those of keys.
bool namesKeys(Operation *op) {
  return isa<transformer::AttendOp, transformer::AttentionOp, transformer::AttentionWeightsOp,
             transformer::CachedOp, transformer::ContractOp, transformer::MaskOp,
             transformer::RelativeBiasOp, transformer::SoftmaxOp>(op);
}

/// The history of the same rows is the same, whichever operation gives it: the first of them.
Value canonicalSegments(Value segments) {
  auto history = segments.getDefiningOp<transformer::HistoryOp>();
  if (!history) {
    return segments;
  }
  for (Operation *user : history.getRows().getUsers()) {
    auto other = dyn_cast<transformer::HistoryOp>(user);
    if (other && other->isBeforeInBlock(history)) {
      history = other;
    }
  }
  return history.getResult();
}

/// Whether a value has one element for each pair of a row and a key.
bool hasPairs(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && llvm::count_if(tensor.getShape(), ShapedType::isDynamic) > 1;
}

} // namespace

FailureOr<CacheLayouts> chooseCacheLayouts(ModuleOp module) {
  CacheLayouts layouts;
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (Operation &op : entry.getOps()) {
      auto [key, value] = keyAndValue(&op);
      if ((key && failed(noteLayout(&op, key, CacheLayout::Keys, layouts))) ||
          (value && failed(noteLayout(&op, value, CacheLayout::Rows, layouts)))) {
        return failure();
      }
    }
  }
  return layouts;
}

LogicalResult EntryLowering::lowerCache(BlockArgument argument) {
  auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName);
  auto layout = layouts.find(name);
  int64_t width = cast<transformer::CacheType>(argument.getType()).getWidth();
  if (failed(CacheType::verify([&] { return entry.emitError(); }, width, CacheLayout::Rows))) {
    return failure();
  }
  auto type = CacheType::get(builder.getContext(), width,
                             layout == layouts.end() ? CacheLayout::Rows : layout->second);
  buffers[argument] = graph.getBody().front().addArgument(type, argument.getLoc());
  return success();
}

LogicalResult EntryLowering::lower(transformer::AppendOp op) {
  KernelParts parts;
  parts.stem = "append";
  parts.computes = AppendAttr::get(builder.getContext());
  parts.inputs = {bufferOf(op.getCache()), bufferOf(op.getInput())};
  if (typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("appends rows of sequences, expected rows of tokens");
  }
  parts.result = parts.inputs.front().getType();
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::CachedOp op) {
  bool isAppended = static_cast<bool>(op.getCache().getDefiningOp());
  bool isHistory = static_cast<bool>(op.getRows().getDefiningOp());
  if (isAppended && !isHistory) {
    return op.emitOpError("reads a cache that the entry appends to in segments given to the entry, "
                          "expected the history of the entry's rows");
  }
  if (!isAppended && (isHistory || op.getRows() == rows)) {
    return op.emitOpError("reads a cache that the entry does not append to in segments of the "
                          "entry's rows, expected those of a memory");
  }
  return define(op, bufferOf(op.getCache()));
}

LogicalResult EntryLowering::reshapeCache(Operation *op, ArrayRef<int64_t> shape) {
  Value source = bufferOf(op->getOperand(0));
  auto type =
      CacheType::get(builder.getContext(), shape, cast<CacheType>(source.getType()).getLayout());
  return define(op, ReshapeOp::create(builder, op->getLoc(), type, source));
}

LogicalResult EntryLowering::checkCacheUse(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (!cacheOf(operand) ||
        isa<transformer::CacheType, transformer::StateType>(operand.getType())) {
      continue;
    }
    // Its positions have other axes, or other heads, than the cache.
    bool isChanged = cacheOrders.contains(operand) || cacheRepeats.contains(operand);
    bool isAllowed =
        isa<transformer::ContractOp, transformer::TransposeOp>(op) ||
        (!isChanged &&
         isa<transformer::SplitHeadsOp, transformer::MergeHeadsOp, transformer::RepeatHeadsOp>(op));
    // Queries are rows of this run.
    auto [key, value] = keyAndValue(op);
    if (key || value) {
      isAllowed =
          !isChanged && (operand == key || operand == value) && operand != op->getOperand(0);
    }
    if (!isAllowed) {
      return op->emitOpError("reads a cache as rows, expected only attention and its mathematics "
                             "to read one");
    }
  }
  return success();
}

LogicalResult EntryLowering::checkRows(Operation *op) {
  Value segments = rowSegments(op);
  if (segments && segments != rows) {
    return op->emitOpError("names other segments for its rows, expected those of the entry's rows");
  }
  return success();
}

LogicalResult EntryLowering::checkVisibility(Operation *op, transformer::Visibility visibility,
                                             Value keys) {
  // Segments that no operation gives are the rows or a memory.
  if (visibility == transformer::Visibility::Causal && keys != rows && !keys.getDefiningOp()) {
    return op->emitOpError("is causal over a memory, expected keys of the entry's rows or of their "
                           "history");
  }
  return success();
}

// --- Which keys ------------------------------------------------------------------------------

void EntryLowering::findSegmentCaches() {
  for (auto op : entry.getOps<transformer::CachedOp>()) {
    if (BlockArgument argument = transformer::cacheArgument(op.getCache())) {
      segmentCaches.try_emplace(canonicalSegments(op.getRows()), bufferOf(argument));
    }
  }
}

Value EntryLowering::keysOfSegments(Value segments) {
  Value canonical = canonicalSegments(segments);
  if (canonical == rows) {
    return {};
  }
  if (Value cache = segmentCaches.lookup(canonical)) {
    return cache;
  }
  // Without any cache, a history is the rows.
  auto history = canonical.getDefiningOp<transformer::HistoryOp>();
  return history ? keysOfSegments(history.getRows()) : canonical;
}

LogicalResult EntryLowering::noteKeys(Operation *op) {
  if (isa<func::ReturnOp>(op)) {
    // Hands out values of any keys; it makes nothing of them.
    return success();
  }
  std::optional<Value> keys;
  auto note = [&](Value found) -> LogicalResult {
    if (keys && *keys != found) {
      return op->emitOpError("combines values of different keys");
    }
    keys = found;
    return success();
  };
  auto isSegments = [](Value value) { return isa<transformer::SegmentsType>(value.getType()); };
  auto segments = llvm::filter_to_vector(op->getOperands(), isSegments);
  if (namesKeys(op) && !segments.empty() && failed(note(keysOfSegments(segments.back())))) {
    return failure();
  }
  for (Value operand : op->getOperands()) {
    if ((hasPairs(operand) || keysOfValue.contains(operand)) &&
        failed(note(keysOfValue.lookup(operand)))) {
      return failure();
    }
  }
  if (!keys || !*keys) {
    return success();
  }
  bool isView = isa<transformer::CachedOp, transformer::SplitHeadsOp, transformer::MergeHeadsOp,
                    transformer::RepeatHeadsOp, transformer::TransposeOp>(op);
  for (Value result : op->getResults()) {
    if (isView || hasPairs(result)) {
      keysOfValue[result] = *keys;
    }
  }
  keysOfOperation[op] = *keys;
  return success();
}

FailureOr<Value> EntryLowering::keysOf(Operation *op) {
  Value keys = keysOfOperation.lookup(op);
  if (!keys) {
    return keys;
  }
  if (isa<transformer::SegmentsType>(keys.getType())) {
    return op->emitOpError("has keys of segments that no cache gives");
  }
  return keys;
}

} // namespace heddle
