// SPDX-License-Identifier: Apache-2.0
///
/// A tile of attention by warpgroups.
///
///   producer, for each span: wait until its stage is empty; for each batch of its keys and values:
///   start to load the next batch, round and store this one; fence; arrive at "full"
///
///   each other warpgroup, for each span: softmax of its scores; wait for the values of the span
///   before, and arrive at "empty" of its stage; rescale sums, round weights; wait until the next
///   span is full; start to multiply the next keys, and the values; wait for the former
///
/// Tensor cores thus multiply values while their warpgroup computes the next softmax, and work for
/// one warpgroup while the other one does not need them. The sums of a row are added span by span,
/// in steps of 16 keys, and scores in steps of 16 numbers, whatever the tile.
#include "compiler/Target/Cuda/WarpgroupAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Keys of a span: a row of transposed values is one of the widest swizzle.
static constexpr int64_t kSpanKeys = 64;
/// Registers with the sums of a product for a thread and eight columns: two rows, two columns.
static constexpr size_t kLaneSums = 4;
/// Words of a step of the first matrix.
static constexpr size_t kStepWords = 4;

SpanShape warpgroupShape(int64_t keySize, int64_t valueSize) {
  return {Units::Bf16,    /*warps=*/kQueryWarpgroups * kWarpgroupThreads / kWarpLanes,
          /*laneRows=*/2, kSpanKeys,
          keySize,        valueSize};
}

/// Returns the indices of a thread, whose warp is counted among those that have queries.
static SpanThread loadThread(BlockCode &block) {
  SpanThread thread = SpanThread::load(block);
  thread.warp = block.code.subtract(thread.warp, kWarpgroupThreads / kWarpLanes);
  return thread;
}

WarpgroupAttention::WarpgroupAttention(TileWalk &walk, const WalkedTile &walked,
                                       const SpanShape &shape, float scale, SectionSpace space)
    : block(walked.block), code(block.code), a(walked.a), shape(shape), scale(scale), walk(walk),
      walked(walked), space(space), spans(shape), warpgroups(block),
      stages(warpgroups, WarpgroupSpans::kStages, spans.mbarriersBegin()),
      warpgroup(code.divide(block.thread, kWarpgroupThreads)),
      inWarpgroup(code.remainder(block.thread, kWarpgroupThreads)), thread(loadThread(block)),
      tile(block, a, shape, thread.warp), writer(warpgroups, spans, a, inWarpgroup) {}

WarpgroupAttention::State WarpgroupAttention::unpack(ValueRange carried) const {
  State state;
  const auto rows = static_cast<size_t>(shape.laneRows);
  size_t used = 0;
  const auto take = [&](size_t count) {
    SmallVector<Value> taken(carried.slice(used, count));
    used += count;
    return taken;
  };
  state.stage = {carried[0], carried[1]};
  used = 2;
  state.softmax.maxima = take(rows);
  state.softmax.sums = take(rows);
  state.products = take(productCount());
  state.sums = take(sumCount());
  state.words = take(carried.size() - used);
  return state;
}

SmallVector<Value> WarpgroupAttention::pack(const State &state) {
  SmallVector<Value> all = {state.stage.number, state.stage.parity};
  llvm::append_range(all, state.softmax.maxima);
  llvm::append_range(all, state.softmax.sums);
  llvm::append_range(all, state.products);
  llvm::append_range(all, state.sums);
  llvm::append_range(all, state.words);
  return all;
}

Value WarpgroupAttention::stageBegin(Value number) {
  return code.add(code.multiply(number, spans.stageBytes()), spans.queriesBytes());
}

// --- the producer --------------------------------------------------------------------------------

/// Fills the stage of the span from key `first` on, whose first batch is loaded. Returns that of
/// the next span. After the last span, this reloads its last key, which is not used.
SmallVector<Value> WarpgroupAttention::fill(const Stage &stage, Value first, const SpanRows &keys,
                                            const SpanRows &values, SmallVector<Value> loaded) {
  for (int64_t batch = 0; batch < writer.batches(); ++batch) {
    const bool isLast = batch + 1 == writer.batches();
    SmallVector<Value> next =
        isLast ? writer.load(tile, keys, values, code.add(first, shape.keys), /*batch=*/0)
               : writer.load(tile, keys, values, first, batch + 1);
    if (batch == 0) {
      stages.awaitEmpty(stage);
    }
    writer.store(keys, values, loaded, batch, stageBegin(stage.number));
    loaded = std::move(next);
  }
  warpgroups.fenceProxies();
  warpgroups.arrive(stages.full(stage.number));
  return loaded;
}

void WarpgroupAttention::produce() {
  const SpanRows keys = tile.keysOrValues(/*areKeys=*/true),
                 values = tile.keysOrValues(/*areKeys=*/false);
  // A sequence may have no keys, and then its memory must not be read.
  const SmallVector<Value> loaded = block.choose(
      code.less(tile.from, tile.to),
      [&] { return writer.load(tile, keys, values, firstSpan, /*batch=*/0); },
      [&] { return writer.zeros(keys); });
  block.barrier();
  const Stage first = stages.first();
  SmallVector<Value> initial = {first.number, first.parity};
  llvm::append_range(initial, loaded);
  code.loop(firstSpan, tile.to, shape.keys, initial, [&](Value span, ValueRange carried) {
    const Stage stage = {carried[0], carried[1]};
    const SmallVector<Value> ofNext =
        fill(stage, span, keys, values, SmallVector<Value>(carried.drop_front(2)));
    const Stage next = stages.after(stage);
    SmallVector<Value> results = {next.number, next.parity};
    llvm::append_range(results, ofNext);
    return results;
  });
}

// --- products ------------------------------------------------------------------------------------

/// Starts to multiply the queries of the warpgroup and the keys of a stage.
SmallVector<Value> WarpgroupAttention::multiplyKeys(const Stage &stage) {
  const int64_t bytes = spans.chunkBytes();
  Value first = code.multiply(code.subtract(warpgroup, 1), kWarpgroupRows * bytes);
  Value queries = warpgroups.descriptor(first, bytes, kCoreRows * bytes, kCoreRowBytes);
  Value keys =
      warpgroups.descriptor(stageBegin(stage.number), bytes, kCoreRows * bytes, kCoreRowBytes);
  SmallVector<Value> sums;
  for (int64_t number = 0; number < shape.keyNumbers(); number += kWarpgroupSteps) {
    const int64_t chunk = number / spans.chunkNumbers();
    const int64_t inChunk = number % spans.chunkNumbers() * WarpgroupSpans::kBf16Bytes;
    Value rows = warpgroups.moved(queries, chunk * shape.rows() * bytes + inChunk);
    Value columns = warpgroups.moved(keys, chunk * shape.keys * bytes + inChunk);
    sums = number == 0 ? warpgroups.multiply(productCount(), rows, columns)
                       : warpgroups.add(sums, rows, columns, warpgroups.constant(1));
  }
  warpgroups.commit();
  return sums;
}

/// Starts to add the values of a stage, times weights.
SmallVector<Value> WarpgroupAttention::addValues(const Stage &stage, ValueRange sums,
                                                 ValueRange words) {
  const int64_t bytes = spans.valueBytes();
  Value values = warpgroups.descriptor(code.add(stageBegin(stage.number), spans.keysBytes()), bytes,
                                       kCoreRows * bytes, kCoreRowBytes);
  SmallVector<Value> result(sums);
  for (int64_t key = 0; key < shape.keys; key += kWarpgroupSteps) {
    const auto step = static_cast<size_t>(key / kWarpgroupSteps);
    result = warpgroups.addWords(result, words.slice(step * kStepWords, kStepWords),
                                 warpgroups.moved(values, key * WarpgroupSpans::kBf16Bytes));
  }
  warpgroups.commit();
  return result;
}

// --- a span --------------------------------------------------------------------------------------

/// Returns the state before the first span, whose scores are multiplied.
WarpgroupAttention::State WarpgroupAttention::begin() {
  State state;
  state.stage = stages.first();
  state.softmax.maxima.assign(static_cast<size_t>(shape.laneRows), code.number(kLowestScore));
  state.softmax.sums.assign(static_cast<size_t>(shape.laneRows), code.number(0));
  state.sums.assign(sumCount(), code.number(0));
  state.words.assign(productCount() / 2, warpgroups.constant(0));
  stages.awaitFull(state.stage);
  warpgroups.fenceRegisters();
  state.products = warpgroups.awaitSums(multiplyKeys(state.stage));
  return state;
}

/// Returns the `count` registers of each of the lane's rows, as vectors.
SmallVector<Value> WarpgroupAttention::rowsOf(ValueRange registers, size_t count) const {
  SmallVector<Value> rows;
  for (size_t row = 0; row < static_cast<size_t>(shape.laneRows); ++row) {
    SmallVector<Value> own;
    for (size_t first = 2 * row; own.size() < count; first += kLaneSums) {
      own.append({registers[first], registers[first + 1]});
    }
    rows.push_back(vectorOf(code, own));
  }
  return rows;
}

/// Returns the weights of the span from key `first` on, row by row, and the factors that rescale
/// the sums of the spans before.
SmallVector<Value> WarpgroupAttention::weightsOf(Value first, State &state,
                                                 SmallVector<Value> &corrections) {
  const SmallVector<Value> products = rowsOf(state.products, static_cast<size_t>(shape.laneKeys()));
  SmallVector<Value> scores =
      spanScores(block, a, shape, scale, tile.rows, products, first, thread.t);
  corrections = updateSoftmax(block, state.softmax, scores);
  SmallVector<Value> elements;
  for (Value row : scores) {
    llvm::append_range(elements, elementsOf(code, row));
  }
  return elements;
}

/// Returns weights, row by row, as words of the first matrix of products, computed here.
SmallVector<Value> WarpgroupAttention::wordsOf(ArrayRef<Value> weights) {
  const auto ofRow = static_cast<size_t>(shape.laneKeys());
  SmallVector<Value> words;
  for (size_t i = 0; i < ofRow; i += 2) {
    for (size_t row = 0; row < static_cast<size_t>(shape.laneRows); ++row) {
      const size_t at = row * ofRow + i;
      words.push_back(block.computedHere(block.roundedPair(weights[at], weights[at + 1])));
    }
  }
  return words;
}

/// Waits for the sums of values. The words of their weights are kept until then.
void WarpgroupAttention::awaitValues(State &state) {
  SmallVector<Value> registers(state.sums);
  llvm::append_range(registers, state.words);
  registers = warpgroups.awaitSums(registers);
  state.sums.assign(registers.begin(), registers.begin() + sumCount());
}

/// Adds the span from key `first` on, whose products of queries and keys are in the state, and
/// multiplies the keys of the next one. After the last span, these are its own; they are not used.
WarpgroupAttention::State WarpgroupAttention::next(Value first, State state) {
  SmallVector<Value> corrections;
  const SmallVector<Value> words = wordsOf(weightsOf(first, state, corrections));
  // All of this is computed while tensor cores add up values: LLVM would move it to where it is
  // used, after the wait.
  for (SmallVector<Value> *const each : {&corrections, &state.softmax.sums}) {
    for (Value &number : *each) {
      number = block.computedHere(number);
    }
  }
  awaitValues(state);
  Value isFirstLane = code.equal(thread.lane, code.integer(0));
  Value isLater = code.less(firstSpan, first);
  code.when(code.both(isFirstLane, isLater),
            [&] { warpgroups.arrive(stages.empty(stages.numberBefore(state.stage.number))); });
  SmallVector<Value> registers;
  for (auto [i, sum] : llvm::enumerate(state.sums)) {
    registers.push_back(code.multiplyFloat(sum, corrections[i / 2 % 2]));
  }
  llvm::append_range(registers, words);
  const Stage after = stages.after(state.stage);
  Value isLast = code.less(code.subtract(tile.to, shape.keys + 1), first);
  const Stage later = {code.select(isLast, state.stage.number, after.number),
                       code.select(isLast, state.stage.parity, after.parity)};
  stages.awaitFull(later);
  // The fence also takes numbers that were computed from products of keys: the emulated device
  // checks its registers.
  llvm::append_range(registers, state.softmax.sums);
  registers = warpgroups.fenceRegisters(registers);
  const auto wordsBegin = registers.begin() + sumCount();
  const auto wordsEnd = wordsBegin + words.size();
  state.words.assign(wordsBegin, wordsEnd);
  state.softmax.sums.assign(wordsEnd, registers.end());
  const SmallVector<Value> products = multiplyKeys(later);
  state.sums = addValues(state.stage, ValueRange(registers).take_front(sumCount()), state.words);
  state.products = warpgroups.awaitSums(products, /*running=*/1);
  state.stage = later;
  return state;
}

WarpgroupAttention::State WarpgroupAttention::attend() {
  State last = unpack(code.loop(
      firstSpan, tile.to, shape.keys, pack(begin()),
      [&](Value first, ValueRange carried) { return pack(next(first, unpack(carried))); }));
  awaitValues(last);
  return last;
}

// --- a tile --------------------------------------------------------------------------------------

void WarpgroupAttention::consume() {
  const auto rows = static_cast<size_t>(shape.laneRows);
  Value firstRow = code.multiply(code.subtract(warpgroup, 1), kWarpgroupRows);
  writer.storeQueries(tile, a, firstRow);
  warpgroups.fenceProxies();
  block.barrier();
  code.when(code.less(firstRow, tile.count), [&] {
    tile.enterRows(thread.g);
    const SmallVector<Value> all = block.choose(
        code.less(tile.from, tile.to),
        [&] {
          const State last = attend();
          SmallVector<Value> found(last.softmax.maxima);
          llvm::append_range(found, last.softmax.sums);
          llvm::append_range(found, last.sums);
          return found;
        },
        [&] {
          SmallVector<Value> none(rows, code.number(kLowestScore));
          none.append(rows + sumCount(), code.number(0));
          return none;
        });
    const auto found = ArrayRef(all);
    store({SmallVector<Value>(found.take_front(rows)), SmallVector<Value>(found.slice(rows, rows))},
          found.drop_front(2 * rows));
  });
}

/// Stores the result of the lane's rows.
void WarpgroupAttention::store(const SoftmaxState &softmax, ArrayRef<Value> sums) {
  SmallVector<Value> ofRows;
  for (size_t row = 0; row < static_cast<size_t>(shape.laneRows); ++row) {
    for (size_t i = 2 * row; i < sums.size(); i += kLaneSums) {
      ofRows.append({sums[i], sums[i + 1]});
    }
  }
  walk.again([&](const WalkedTile &again) {
    KeySections(again, space).store(shape, softmax, ofRows, loadThread, [](int64_t i) {
      return SpanProducts::Column{i / 2 * kMatrixColumns + i % 2, 2};
    });
  });
}

void WarpgroupAttention::emitSection() {
  tile.enter(walked.query, walked.last);
  // Both branches below begin with a barrier.
  walk.advance(KeySections(walked, space).enter(tile, thread));
  firstSpan = tile.firstSpan();
  // One lane of each warp that has queries makes a stage empty.
  constexpr int64_t warps = kWarpgroupThreads / kWarpLanes;
  Value areAll = code.less(code.integer(kWarpgroupRows), tile.count);
  stages.create(warpgroups.constant(kWarpgroupThreads),
                code.select(areAll, warpgroups.constant(kQueryWarpgroups * warps),
                            warpgroups.constant(warps)));
  code.when(code.equal(warpgroup, code.integer(0)), [&] { produce(); }, [&] { consume(); });
  block.barrier();
  stages.destroy();
}

} // namespace heddle
