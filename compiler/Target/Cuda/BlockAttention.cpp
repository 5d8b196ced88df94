// SPDX-License-Identifier: Apache-2.0
///
/// Selects the attention kernels that blocks compute, and emits the tiles of a call
/// (docs/decisions/0058). Those of bf16 on Hopper are in WarpgroupAttention.cpp; others:
///
///   for each sequence and run of heads that share keys: for each tile of its queries:
///     load the queries; load the keys of the first span
///     for each span: store its keys; load its values; barrier;
///       scores; store its values; load the next keys; barrier;
///       softmax; add values
///
/// Two barriers per span are enough: keys are stored after the barrier that follows their last use,
/// and so are values. Loads are in flight while the preceding products are computed.
#include "compiler/Target/Cuda/BlockAttention.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/WarpgroupAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

// --- selection and shapes ------------------------------------------------------------------------

/// The size of the largest heads.
static constexpr int64_t kMostNumbers = 256;

/// Returns the largest head size on tensor cores, where queries and sums of values are in
/// registers; three products per number need more of them.
static int64_t mostNumbersOf(Units units) {
  switch (units) {
  case Units::Fma:
    return 0;
  case Units::Bf16:
    return dataflow::mostBf16HeadSize;
  case Units::Tf32:
    return 128;
  case Units::Tf32x3:
    return 64;
  }
  llvm_unreachable("every kind of units is handled");
}

/// Returns why blocks cannot compute an attention kernel; empty if they can.
static std::string problemOf(dataflow::KernelOp kernel, dataflow::AttentionAttr computes) {
  if (computes.getPairs()) {
    return "scores are sums over pairs of elements, expected products of rows";
  }
  if (kernel.getRows().isOrdered()) {
    return "rows are in the order of time, expected sequence by sequence";
  }
  const int64_t size = std::max(computes.getKeySize(), computes.getValueSize());
  if (size > kMostNumbers) {
    return "heads have " + std::to_string(size) + " elements, expected at most " +
           std::to_string(kMostNumbers);
  }
  for (const unsigned input : {1U, 2U}) {
    dataflow::CacheType cache = kernel.getOperandCache(input);
    if (cache && !cache.getElementType().isF32()) {
      return "caches have elements of " + cache.getElementText() + ", expected f32";
    }
  }
  return "";
}

static SpanShape shapeOf(Units units, int64_t keySize, int64_t valueSize) {
  const int64_t size = std::max(keySize, valueSize);
  // Spans have the largest size for which ptxas keeps everything in registers; it uses fewer
  // registers if blocks are small.
  if (size <= mostNumbersOf(units)) {
    const int64_t most = units == Units::Bf16 ? 32 : 64;
    const int64_t keys = size <= 32 ? most : size <= 64 ? 32 : 16;
    return {units, /*warps=*/4, /*laneRows=*/2, keys, keySize, valueSize};
  }
  // Rows of a lane share its loads of keys and values: it has as many as there are registers for
  // sums.
  if (size <= 64) {
    const int64_t keys = size <= 32 ? 32 : 16;
    return {Units::Fma, /*warps=*/2, /*laneRows=*/4, keys, keySize, valueSize};
  }
  return size <= 128
             ? SpanShape{Units::Fma, /*warps=*/2, /*laneRows=*/2, /*keys=*/16, keySize, valueSize}
             : SpanShape{Units::Fma, /*warps=*/4, /*laneRows=*/1, /*keys=*/16, keySize, valueSize};
}

namespace {
/// How blocks compute a kernel.
struct Choice {
  SpanShape shape;
  /// Whether warpgroups do, which have threads and shared memory of their own.
  bool isByWarpgroups;

  int64_t threads() const { return isByWarpgroups ? kAttentionThreads : shape.threads(); }
  int64_t bytes() const { return isByWarpgroups ? WarpgroupSpans(shape).bytes() : shape.bytes(); }
};
} // namespace

static Choice choose(dataflow::KernelOp kernel, dataflow::AttentionAttr computes,
                     const TargetDescription &target) {
  const int64_t keySize = computes.getKeySize(), valueSize = computes.getValueSize();
  const Units units = computes.getArithmetic() == dataflow::Arithmetic::Bf16
                          ? Units::Bf16
                          : unitsFor(floatProductsOf(kernel));
  if (hasWarpgroups(target) && units == Units::Bf16 &&
      std::max(keySize, valueSize) <= mostNumbersOf(units)) {
    return {warpgroupShape(keySize, valueSize), /*isByWarpgroups=*/true};
  }
  return {shapeOf(units, keySize, valueSize), /*isByWarpgroups=*/false};
}

bool isBlockAttention(dataflow::KernelOp kernel) {
  auto computes = dyn_cast<dataflow::AttentionAttr>(kernel.getComputes());
  return computes && problemOf(kernel, computes).empty();
}

std::optional<BlockWork> blockAttention(dataflow::KernelOp kernel,
                                        const TargetDescription &target) {
  if (!isBlockAttention(kernel)) {
    return std::nullopt;
  }
  auto computes = cast<dataflow::AttentionAttr>(kernel.getComputes());
  const Choice choice = choose(kernel, computes, target);
  const int64_t together = headsTogether(computes);
  const int64_t most = std::max<int64_t>(choice.shape.rows() / together, 1);
  // Few rows are spread over more blocks: they are steps of several sequences, which see different
  // keys, or one or two texts.
  const int64_t few = kernel.getOperandCache(1) ? 2 : 16;
  return BlockWork{choice.threads(),
                   choice.bytes(),
                   {most, together},
                   {std::min(most, few), together},
                   /*fewRows=*/64};
}

static std::string nameOf(Units units) {
  switch (units) {
  case Units::Fma:
    return "f32";
  case Units::Bf16:
    return "bf16";
  case Units::Tf32:
    return "tf32";
  case Units::Tf32x3:
    return "tf32, three for each";
  }
  llvm_unreachable("every kind of units is handled");
}

std::optional<AttentionChoice> attentionChoice(dataflow::KernelOp kernel,
                                               const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::AttentionAttr>(kernel.getComputes());
  if (!computes) {
    return std::nullopt;
  }
  const std::string problem = problemOf(kernel, computes);
  if (!problem.empty()) {
    return AttentionChoice{false, "each thread computes rows alone: " + problem};
  }
  const Choice choice = choose(kernel, computes, target);
  return AttentionChoice{true, "blocks of " + std::to_string(choice.threads()) +
                                   " threads for tiles of " + std::to_string(choice.shape.rows()) +
                                   " rows and spans of " + std::to_string(choice.shape.keys) +
                                   " keys, products of " + nameOf(choice.shape.units) +
                                   (choice.isByWarpgroups ? " by warpgroups" : "")};
}

// --- a tile --------------------------------------------------------------------------------------

namespace {

class AttentionCode {
public:
  AttentionCode(BlockCode &block, AttentionTile &a, const SpanShape &shape, float scale);
  void emitTile(Value query, Value last);

private:
  /// The values that are carried from span to span.
  struct State {
    SmallVector<Value> keys;
    SoftmaxState softmax;
    SmallVector<Value> sums;
  };

  size_t laneRows() const { return static_cast<size_t>(shape.laneRows); }
  State unpack(ValueRange carried) const;
  static SmallVector<Value> pack(const State &state);
  State begin(Value firstSpan, const SpanRows &keys);
  State next(Value first, const State &state, const SpanRows &keys, const SpanRows &values);
  State attend(Value first, const State &state, ArrayRef<Value> products);

  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  const float scale;
  const SpanThread thread;
  const std::unique_ptr<SpanProducts> products;
  QueryTile tile;
};

} // namespace

AttentionCode::AttentionCode(BlockCode &block, AttentionTile &a, const SpanShape &shape,
                             float scale)
    : block(block), code(block.code), a(a), shape(shape), scale(scale),
      thread(SpanThread::load(block)),
      products(shape.units == Units::Fma ? fmaSpanProducts(block, shape, thread)
                                         : tensorSpanProducts(block, shape, thread)),
      tile(block, a, shape, thread.warp) {}

AttentionCode::State AttentionCode::unpack(ValueRange carried) const {
  State state;
  const size_t sums = laneRows() * static_cast<size_t>(shape.laneValues());
  const size_t keys = carried.size() - 2 * laneRows() - sums;
  state.keys = SmallVector<Value>(carried.take_front(keys));
  state.softmax.maxima = SmallVector<Value>(carried.slice(keys, laneRows()));
  state.softmax.sums = SmallVector<Value>(carried.slice(keys + laneRows(), laneRows()));
  state.sums = SmallVector<Value>(carried.take_back(sums));
  return state;
}

SmallVector<Value> AttentionCode::pack(const State &state) {
  SmallVector<Value> all(state.keys);
  llvm::append_range(all, state.softmax.maxima);
  llvm::append_range(all, state.softmax.sums);
  llvm::append_range(all, state.sums);
  return all;
}

// --- spans ---------------------------------------------------------------------------------------

AttentionCode::State AttentionCode::begin(Value firstSpan, const SpanRows &keys) {
  State state;
  auto four = VectorType::get({kFourNumbers}, code.f32);
  // A sequence may have no keys, and then its memory must not be read.
  state.keys = block.choose(
      code.less(tile.from, tile.to),
      [&] { return loadSpan(block, shape, keys, firstSpan, tile.from, tile.to); },
      [&] {
        Value zeros =
            arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(four));
        const int64_t fours = shape.keys * keys.numbers / kFourNumbers / shape.threads();
        return SmallVector<Value>(static_cast<size_t>(fours), zeros);
      });
  state.softmax.maxima.assign(laneRows(), code.number(kLowestScore));
  state.softmax.sums.assign(laneRows(), code.number(0));
  state.sums.assign(laneRows() * static_cast<size_t>(shape.laneValues()), code.number(0));
  return state;
}

/// Computes the softmax and the sums of values for the span from key `first` on, given its products
/// of queries and keys.
AttentionCode::State AttentionCode::attend(Value first, const State &state,
                                           ArrayRef<Value> products) {
  State after = state;
  SmallVector<Value> scores;
  for (auto [row, ofRow] : llvm::zip_equal(tile.rows, products)) {
    scores.push_back(spanScores(block, a, shape, scale, row, ofRow, first, thread.t));
  }
  const SmallVector<Value> corrections = updateSoftmax(block, after.softmax, scores);
  for (auto [i, sum] : llvm::enumerate(after.sums)) {
    sum = code.multiplyFloat(sum, corrections[i / static_cast<size_t>(shape.laneValues())]);
  }
  after.sums = this->products->addValues(scores, after.sums);
  return after;
}

AttentionCode::State AttentionCode::next(Value first, const State &state, const SpanRows &keys,
                                         const SpanRows &values) {
  // A warp without rows only loads its part of keys and values.
  Value hasRows = code.less(tile.before, tile.count);
  storeSpan(block, shape, keys, state.keys, shape.keysBegin());
  const SmallVector<Value> loaded = loadSpan(block, shape, values, first, tile.from, tile.to);
  block.barrier();
  const SmallVector<Value> scores = block.choose(
      hasRows, [&] { return products->scores(); },
      [&] {
        auto type = VectorType::get({shape.laneKeys()}, code.f32);
        Value zeros =
            arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(type));
        return SmallVector<Value>(laneRows(), zeros);
      });
  storeSpan(block, shape, values, loaded, shape.valuesBegin());
  State after = state;
  // After the last span, this reloads its last key, which is not used.
  after.keys = loadSpan(block, shape, keys, code.add(first, shape.keys), tile.from, tile.to);
  block.barrier();
  State own = state;
  own.keys.clear();
  const State attended = unpack(block.choose(
      hasRows, [&] { return pack(attend(first, own, scores)); }, [&] { return pack(own); }));
  after.softmax = attended.softmax;
  after.sums = attended.sums;
  return after;
}

void AttentionCode::emitTile(Value query, Value last) {
  tile.enter(query, last);
  const SmallVector<Value> queries = tile.enterRows(thread.g);
  tile.enterKeys();
  products->takeQueries(queries);
  const SpanRows keys = tile.keysOrValues(/*areKeys=*/true),
                 values = tile.keysOrValues(/*areKeys=*/false);
  Value firstSpan = code.multiply(code.divide(tile.from, shape.keys), shape.keys);
  auto carried = code.loop(firstSpan, tile.to, shape.keys, pack(begin(firstSpan, keys)),
                           [&](Value first, ValueRange state) {
                             return pack(next(first, unpack(state), keys, values));
                           });
  const State state = unpack(carried);
  tile.store(state.softmax, state.sums, thread, [&](int64_t i) { return products->columnOf(i); });
}

// --- the kernel ----------------------------------------------------------------------------------

static AttentionTile prepare(VectorCode &code, const KernelBody &body,
                             dataflow::AttentionAttr computes, const SpanShape &shape) {
  AttentionTile a{code, shape.rows(), computes.getKeySize(), computes.getValueSize()};
  loadAttention(a, body, computes);
  return a;
}

/// Emits the tiles of a call: sequence by sequence, and for each sequence the heads that share
/// keys.
static void emitTiles(AttentionTile &a, const KernelArguments &arguments,
                      llvm::function_ref<void(Value row, Value query, Value last)> emitTile) {
  VectorCode &code = a.code;
  const int64_t together = a.headsTogether;
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value last = code.smaller(enterSequence(a, row, arguments.rowEnd), arguments.rowEnd);
    code.walk(arguments.columnBegin, arguments.columnEnd, [&](Value head) {
      // The division of heads among blocks may split heads that share keys.
      Value next = code.multiply(code.add(code.divide(head, together), 1), together);
      next = code.smaller(next, arguments.columnEnd);
      a.head = head;
      Value from = row, to = last;
      if (together > 1) {
        a.headCount = code.subtract(next, head);
        a.firstQuery = row;
        from = code.integer(0);
        to = code.multiply(code.subtract(last, row), a.headCount);
      }
      code.loop(from, to, a.rows, [&](Value query) { emitTile(row, query, to); });
      return next;
    });
    return last;
  });
}

/// Emits a tile of warpgroups for the heads of `a` and the sequence of `row`. The addresses of
/// operands, the sequence and what follows from the thread's index are loaded and computed for each
/// tile, so that they need no registers in the loops over sequences and heads, and a warpgroup only
/// keeps what it uses.
static void emitTileOfWarpgroups(BlockCode &block, const AttentionTile &a, KernelBody body,
                                 dataflow::AttentionAttr computes, const SpanShape &shape,
                                 Value row, Value query, Value last) {
  VectorCode &code = block.code;
  const auto keptHere = [&](Value number) -> Value {
    return arith::ExtSIOp::create(code.builder, code.location, code.i64, block.keptHere(number));
  };
  body.arguments.context = block.addressKeptHere(body.arguments.context);
  AttentionTile own = prepare(code, body, computes, shape);
  Value kept = keptHere(row);
  enterSequence(own, kept, body.arguments.rowEnd);
  own.head = a.head;
  own.headCount = a.headCount;
  own.firstQuery = kept;
  const float scale = computes.getScale().getValue().convertToFloat();
  BlockCode inTile = block;
  inTile.thread = keptHere(block.thread);
  WarpgroupAttention(inTile, own, shape, scale).emitTile(query, last);
}

void emitBlockAttention(VectorCode &code, const KernelBody &body,
                        dataflow::AttentionAttr computes) {
  blockAttention(body.kernel, code.target)->note(body.function);
  BlockCode block(code, body.function);
  const Choice choice = choose(body.kernel, computes, code.target);
  AttentionTile a = prepare(code, body, computes, choice.shape);
  if (choice.isByWarpgroups) {
    emitTiles(a, body.arguments, [&](Value row, Value query, Value last) {
      emitTileOfWarpgroups(block, a, body, computes, choice.shape, row, query, last);
    });
    return;
  }
  const float scale = computes.getScale().getValue().convertToFloat();
  AttentionCode attention(block, a, choice.shape, scale);
  emitTiles(a, body.arguments,
            [&](Value /*row*/, Value query, Value last) { attention.emitTile(query, last); });
}

} // namespace heddle
