// SPDX-License-Identifier: Apache-2.0
///
/// Emits the order of hypotheses, a block for each search, and the copies of their blocks. The bits
/// are those of runtime/Generate/BeamSearch.cpp and runtime/Kernels/LogSumExp.cpp: the same
/// operations in the same order.
///
/// A number of a continuation is hypothesis * best + i, where i is its place among the best tokens.
///
/// Tested by tests/EmulatedCompiler/OrderKernelsTest.cpp.
#include "compiler/Target/Cuda/OrderKernels.h"

#include "compiler/Target/Cuda/DoubleCode.h"
#include "compiler/Target/Cuda/OwnEntries.h"
#include "heddle/HypothesisOrder.h"
#include "heddle/Selection.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>
#include <limits>

using namespace mlir;

namespace heddle {

static constexpr int64_t kHypothesisThreads = hypothesisOrderThreads;
static constexpr int64_t kHypothesisWarps = kHypothesisThreads / kWarpLanes;
static constexpr int64_t kDoubleBytes = sizeof(double);
static constexpr int64_t kPairBytes = sizeof(SelectedToken);

// Shared memory: the sums and tokens of continuations, the normalisers of hypotheses and the terms
// that each warp adds. The ordered continuations are written after the last use of normalisers and
// terms, and the slots after that of sums.
static constexpr int64_t kSumsAt = 0, kSlotsAt = kSumsAt;
static constexpr int64_t kNormalisersAt = mostContinuations * kDoubleBytes,
                         kOrderAt = kNormalisersAt;
static constexpr int64_t kTermsAt = kNormalisersAt + mostOrderedHypotheses * kDoubleBytes;
static constexpr int64_t kTokensAt = kOrderAt + mostContinuations * kWordBytes;
static_assert(kTermsAt + kHypothesisThreads * kDoubleBytes <= kTokensAt);
static_assert(kTokensAt + mostContinuations * kWordBytes == hypothesisOrderShared);
static_assert(kTermsAt % kSharedAlignment == 0);

// An ordered continuation, in a word: its number, its hypothesis, whether it ends, and in slots
// whether it is the first of its hypothesis. No continuation is -1.
static constexpr int64_t kHypothesisBit = 10, kEndBit = 16, kFirstBit = 17;
static_assert(mostContinuations <= 1 << kHypothesisBit);
static_assert(mostOrderedHypotheses <= 1 << (kEndBit - kHypothesisBit));
static constexpr int64_t kNone = -1;

namespace {
/// The fields of a search, loaded on demand.
struct SearchFields : FixedRecord {
  Value pairs() const { return pointer(offsetof(HeddleOrderedSearch, pairs)); }
  Value pitch() const { return integer(offsetof(HeddleOrderedSearch, pitch)); }
  Value chunks() const { return integer(offsetof(HeddleOrderedSearch, chunks)); }
  Value best() const { return integer(offsetof(HeddleOrderedSearch, best)); }
  Value hypotheses() const { return integer(offsetof(HeddleOrderedSearch, hypotheses)); }
  Value wanted() const { return integer(offsetof(HeddleOrderedSearch, wanted)); }
  Value width() const { return integer(offsetof(HeddleOrderedSearch, width)); }
  Value refills() const { return integer(offsetof(HeddleOrderedSearch, refills)); }
  Value sums() const { return pointer(offsetof(HeddleOrderedSearch, sums)); }
  Value ends() const { return pointer(offsetof(HeddleOrderedSearch, ends)); }
  Value endCount() const { return integer(offsetof(HeddleOrderedSearch, end_count)); }
  Value banned() const { return pointer(offsetof(HeddleOrderedSearch, banned)); }
  Value bannedCount() const { return integer(offsetof(HeddleOrderedSearch, banned_count)); }
  Value firstRow() const { return integer(offsetof(HeddleOrderedSearch, first_row)); }
  Value firstSlot() const { return integer(offsetof(HeddleOrderedSearch, first_slot)); }
  Value wholeBlocks() const { return integer(offsetof(HeddleOrderedSearch, whole_blocks)); }
  Value hasPartial() const { return integer(offsetof(HeddleOrderedSearch, has_partial)); }
};

/// The work of a block on one search.
class OrderedSearch {
public:
  OrderedSearch(const BlockCode &block, const LaunchRecord &launch, Value row)
      : code(block.code), block(block), launch(launch), doubles(code),
        search{{code, code.bytesAt(launch.operand(0),
                                   code.multiply(row, int64_t(sizeof(HeddleOrderedSearch))))}},
        warp(code.divide(block.thread, kWarpLanes)), lane(code.remainder(block.thread, kWarpLanes)),
        best(search.best()), count(code.multiply(search.hypotheses(), best)),
        limit(code.smaller(search.wanted(), count)) {}

  void emit();

private:
  void normalise(Value hypothesis);
  Value addTerms(Value sum);
  void score(Value number);
  void keepWanted(Value hypothesis);
  void rank(Value number);
  void decide();
  Value nextSpare(Value isWanted, Value from);
  void fillSlot(Value slot);
  void fillBlocks(const FixedRecord &blocks, Value slot, Value parent, Value isFirst,
                  bool areStates);

  /// Calls `body` for every n-th of so many items in each thread.
  void share(Value items, VectorCode::Body body) {
    code.loop(block.thread, items, kHypothesisThreads, body);
  }
  /// Returns the address of an element in shared memory.
  Value inShared(int64_t array, Value index, int64_t bytes) {
    return block.sharedAt(code.add(code.multiply(index, bytes), array));
  }
  Value loadDouble(int64_t array, Value index) {
    return LLVM::LoadOp::create(code.builder, code.location, doubles.f64,
                                inShared(array, index, kDoubleBytes), kDoubleBytes);
  }
  void storeDouble(Value number, int64_t array, Value index) {
    LLVM::StoreOp::create(code.builder, code.location, number, inShared(array, index, kDoubleBytes),
                          kDoubleBytes);
  }
  Value loadWord(int64_t array, Value index) {
    Value word = LLVM::LoadOp::create(code.builder, code.location, code.i32,
                                      inShared(array, index, kWordBytes), kWordBytes);
    return doubles.widened(word);
  }
  void storeWord(Value number, int64_t array, Value index) {
    LLVM::StoreOp::create(code.builder, code.location, doubles.narrowed(number),
                          inShared(array, index, kWordBytes), kWordBytes);
  }
  /// Stores an i32 to memory.
  void storeFar(Value number, Value address) {
    LLVM::StoreOp::create(code.builder, code.location, doubles.narrowed(number), address,
                          kWordBytes);
  }
  /// Loads a number of the host, or a pair of words.
  Value loadFixed(Type type, Value address) {
    return LLVM::LoadOp::create(code.builder, code.location, type, address, kPairBytes,
                                /*isVolatile=*/false, /*isNonTemporal=*/false,
                                /*isInvariant=*/true);
  }
  /// Loads a pair of what is selected of a hypothesis, as f32.
  std::array<Value, 2> loadPair(Value hypothesis, Value index) {
    Value row = code.bytesAt(search.pairs(), code.multiply(hypothesis, search.pitch()));
    Value pair = loadFixed(VectorType::get({selectedPair}, code.f32),
                           code.bytesAt(row, code.multiply(index, kPairBytes)));
    const auto part = [&](int64_t i) -> Value {
      return vector::ExtractOp::create(code.builder, code.location, pair, i);
    };
    return {part(0), part(1)};
  }
  Value isIn(Value list, Value size, Value token) {
    Value no = doubles.truth(false);
    return code.loop(code.integer(0), size, 1, {no}, [&](Value i, ValueRange found) {
      Value isThis = code.equal(code.loadIndex(list, i), token);
      return SmallVector<Value>{doubles.either(found[0], isThis)};
    })[0];
  }
  Value isThere(Value word) { return code.less(code.integer(kNone), word); }
  Value isSet(Value word, int64_t bit) {
    return code.equal(doubles.bitAnd(word, 1 << bit), code.integer(1 << bit));
  }
  Value numberOf(Value word) { return doubles.bitAnd(word, (1 << kHypothesisBit) - 1); }
  Value hypothesisOf(Value word) {
    return doubles.bitAnd(doubles.shiftRight(word, kHypothesisBit), mostOrderedHypotheses - 1);
  }

  VectorCode &code;
  BlockCode block;
  const LaunchRecord &launch;
  DoubleCode doubles;
  const SearchFields search;
  Value warp, lane;
  /// The best tokens of a hypothesis and of all, and how many continuations are ordered at most.
  Value best, count, limit;
};
} // namespace

// --- scores --------------------------------------------------------------------------------------

/// Adds a term of each lane to a sum, in the order of lanes.
Value OrderedSearch::addTerms(Value sum) {
  constexpr int64_t together = 2;
  auto type = VectorType::get({together}, doubles.f64);
  for (int64_t term = 0; term < kWarpLanes; term += together) {
    Value index = code.add(code.multiply(warp, kWarpLanes), term);
    Value terms =
        LLVM::LoadOp::create(code.builder, code.location, type,
                             inShared(kTermsAt, index, kDoubleBytes), together * kDoubleBytes);
    for (int64_t i = 0; i < together; ++i) {
      sum = doubles.add(sum, vector::ExtractOp::create(code.builder, code.location, terms, i));
    }
  }
  return sum;
}

/// Computes logSumExp() of a hypothesis in a warp. The maximum does not depend on the order; what
/// the host skips is added as zero.
void OrderedSearch::normalise(Value hypothesis) {
  Value chunks = search.chunks();
  Value least = code.number(-std::numeric_limits<float>::infinity());
  Value largest = code.loop(lane, chunks, kWarpLanes, {least}, [&](Value chunk, ValueRange sofar) {
    return SmallVector<Value>{code.maximum(loadPair(hypothesis, chunk)[0], sofar[0])};
  })[0];
  for (int64_t bit = 1; bit < kWarpLanes; bit *= 2) {
    largest = code.maximum(block.ofOtherLane(largest, bit), largest);
  }
  largest = doubles.widen(largest);
  Value zero = doubles.number(0);
  Value sum =
      code.loop(code.integer(0), chunks, kWarpLanes, {zero}, [&](Value first, ValueRange sofar) {
        Value chunk = code.add(first, lane);
        const SmallVector<Value> term = block.choose(
            code.less(chunk, chunks),
            [&] {
              const auto [ofPiece, sumOfPiece] = loadPair(hypothesis, chunk);
              Value shifted = doubles.subtract(doubles.widen(ofPiece), largest);
              Value sum = doubles.widen(sumOfPiece);
              Value product = doubles.multiply(sum, doubles.exponential(shifted));
              return SmallVector<Value>{code.select(doubles.equal(sum, zero), zero, product)};
            },
            [&] { return SmallVector<Value>{zero}; });
        storeDouble(term[0], kTermsAt, block.thread);
        block.syncWarp();
        Value sum = addTerms(sofar[0]);
        block.syncWarp();
        return SmallVector<Value>{sum};
      })[0];
  code.when(code.equal(lane, code.integer(0)), [&] {
    Value normaliser = doubles.add(largest, doubles.logarithm(sum));
    Value nothing = doubles.number(-std::numeric_limits<double>::infinity());
    storeDouble(code.select(doubles.equal(sum, zero), nothing, normaliser), kNormalisersAt,
                hypothesis);
  });
}

/// Stores the sum and the token of a continuation, or no token. A sum that is NaN, which the host
/// refuses, counts as minus infinity, so that every continuation has a rank of its own.
void OrderedSearch::score(Value number) {
  Value hypothesis = code.divide(number, best);
  Value place = code.subtract(number, code.multiply(hypothesis, best));
  const auto [logit, word] = loadPair(hypothesis, code.add(search.chunks(), place));
  Value bits = arith::BitcastOp::create(code.builder, code.location, code.i32, word);
  Value token = doubles.widened(bits);
  Value score = doubles.subtract(doubles.widen(logit), loadDouble(kNormalisersAt, hypothesis));
  Value own =
      loadFixed(doubles.f64, code.bytesAt(search.sums(), code.multiply(hypothesis, kDoubleBytes)));
  Value sum = doubles.add(own, score);
  Value least = doubles.number(-std::numeric_limits<double>::infinity());
  storeDouble(code.select(doubles.isNan(sum), least, sum), kSumsAt, number);
  Value isNumber = doubles.less(least, doubles.widen(logit));
  Value isBanned = isIn(search.banned(), search.bannedCount(), token);
  storeWord(code.select(code.both(isNumber, doubles.isNot(isBanned)), token, code.integer(kNone)),
            kTokensAt, number);
}

/// Removes the tokens of a hypothesis after the first `wanted`.
void OrderedSearch::keepWanted(Value hypothesis) {
  Value first = code.multiply(hypothesis, best), wanted = search.wanted();
  code.loop(code.integer(0), best, 1, {code.integer(0)}, [&](Value place, ValueRange before) {
    Value number = code.add(first, place);
    Value isToken = isThere(loadWord(kTokensAt, number));
    Value isWanted = code.less(before[0], wanted);
    code.when(code.both(isToken, doubles.isNot(isWanted)),
              [&] { storeWord(code.integer(kNone), kTokensAt, number); });
    return SmallVector<Value>{code.add(before[0], doubles.count(isToken))};
  });
}

// --- order ---------------------------------------------------------------------------------------

/// Stores a continuation at its rank: larger sums are first, then lower hypotheses, then lower
/// tokens.
void OrderedSearch::rank(Value number) {
  Value token = loadWord(kTokensAt, number);
  code.when(isThere(token), [&] {
    Value sum = loadDouble(kSumsAt, number);
    Value hypothesis = code.divide(number, best);
    Value begin = code.multiply(hypothesis, best), end = code.add(begin, best);
    Value zero = code.integer(0);
    Value rank = code.loop(zero, count, 1, {zero}, [&](Value other, ValueRange before) {
      Value otherToken = loadWord(kTokensAt, other), otherSum = loadDouble(kSumsAt, other);
      Value isOwn = code.both(code.less(other, end), code.less(otherToken, token));
      Value isTie =
          code.both(doubles.equal(otherSum, sum), doubles.either(code.less(other, begin), isOwn));
      Value isBefore = doubles.either(doubles.less(sum, otherSum), isTie);
      Value counts = doubles.count(code.both(isThere(otherToken), isBefore));
      return SmallVector<Value>{code.add(before[0], counts)};
    })[0];
    code.when(code.less(rank, limit), [&] {
      Value ends = doubles.count(isIn(search.ends(), search.endCount(), token));
      Value word = doubles.bitOr(number, doubles.shiftLeft(hypothesis, kHypothesisBit));
      storeWord(doubles.bitOr(word, doubles.shiftLeft(ends, kEndBit)), kOrderAt, rank);
    });
  });
}

/// If it is wanted, returns the first rank from some one on whose continuation does not end, or the
/// limit of ranks.
Value OrderedSearch::nextSpare(Value isWanted, Value from) {
  auto op =
      scf::WhileOp::create(code.builder, code.location, TypeRange{code.i64}, ValueRange{from});
  OpBuilder::InsertionGuard guard(code.builder);
  Block *const before = code.builder.createBlock(&op.getBefore(), {}, {code.i64}, {code.location});
  Value rank = before->getArgument(0);
  Value isInside = code.less(rank, limit);
  // A rank without a continuation has the bits of one that ends.
  Value word = loadWord(kOrderAt, code.smaller(rank, code.subtract(limit, 1)));
  Value goesOn = code.both(isWanted, code.both(isInside, isSet(word, kEndBit)));
  scf::ConditionOp::create(code.builder, code.location, goesOn, before->getArguments());
  Block *const after = code.builder.createBlock(&op.getAfter(), {}, {code.i64}, {code.location});
  scf::YieldOp::create(code.builder, code.location, ValueRange{code.add(after->getArgument(0), 1)});
  return op.getResult(0);
}

/// Decides in one thread which continuations have the slots.
void OrderedSearch::decide() {
  Value zero = code.integer(0), width = search.width();
  Value refills = code.equal(search.refills(), code.integer(1));
  Value considered = code.select(refills, code.smaller(width, limit), limit);
  const SmallVector<Value> last =
      code.loop(zero, considered, 1, {zero, zero, width}, [&](Value rank, ValueRange sofar) {
        Value slot = sofar[0], seen = sofar[1];
        Value own = loadWord(kOrderAt, rank);
        Value isReplaced = code.both(refills, isSet(own, kEndBit));
        Value spare = nextSpare(isReplaced, sofar[2]);
        Value inside = code.smaller(spare, code.subtract(limit, 1));
        Value word = code.select(isReplaced, loadWord(kOrderAt, inside), own);
        Value isFound = doubles.either(doubles.isNot(isReplaced), code.less(spare, limit));
        Value goesOn = code.both(code.both(isFound, doubles.isNot(isSet(word, kEndBit))),
                                 code.less(slot, width));
        Value hypothesis = doubles.shiftLeft(code.integer(1), hypothesisOf(word));
        Value isFirst = code.equal(doubles.bitAnd(seen, hypothesis), zero);
        code.when(goesOn, [&] {
          Value first = doubles.shiftLeft(doubles.count(isFirst), kFirstBit);
          storeWord(doubles.bitOr(word, first), kSlotsAt, slot);
        });
        return SmallVector<Value>{code.add(slot, doubles.count(goesOn)),
                                  code.select(goesOn, doubles.bitOr(seen, hypothesis), seen),
                                  code.add(spare, doubles.count(code.both(isReplaced, goesOn)))};
      });
  code.loop(last[0], width, 1, [&](Value slot) { storeWord(code.integer(kNone), kSlotsAt, slot); });
}

// --- results -------------------------------------------------------------------------------------

/// Completes the blocks of a slot in a warp.
void OrderedSearch::fillBlocks(const FixedRecord &blocks, Value slot, Value parent, Value isFirst,
                               bool areStates) {
  const auto elementAt = [&](Value base, Value row, size_t pitch, Value column) {
    // Elements of i32 are as wide as those of f32.
    return code.at(base, code.add(code.multiply(row, blocks.integer(pitch)), column));
  };
  Value list = blocks.pointer(offsetof(HeddleOrderedBlocks, blocks));
  Value parents = blocks.pointer(offsetof(HeddleOrderedBlocks, parents));
  Value row = code.add(search.firstRow(), slot);
  Value parentRow = code.add(search.firstSlot(), parent);
  const auto ownAt = [&](Value column) {
    return elementAt(list, row, offsetof(HeddleOrderedBlocks, pitch), column);
  };
  const auto parentAt = [&](Value column) {
    Value address =
        elementAt(parents, parentRow, offsetof(HeddleOrderedBlocks, parents_pitch), column);
    return code.loadIndex(address, code.integer(0));
  };
  Value whole = areStates ? code.integer(0) : search.wholeBlocks();
  if (!areStates) {
    code.loop(lane, whole, kWarpLanes,
              [&](Value column) { storeFar(parentAt(column), ownAt(column)); });
  }
  Value hasPartial =
      areStates ? doubles.truth(true) : code.equal(search.hasPartial(), code.integer(1));
  code.when(code.equal(lane, code.integer(0)), [&] {
    const SmallVector<Value> copy = block.choose(
        hasPartial,
        [&] {
          Value from = parentAt(whole), own = ownAt(whole);
          const SmallVector<Value> to = block.choose(
              isFirst,
              [&] {
                storeFar(from, own);
                return SmallVector<Value>{from};
              },
              [&] {
                Value word =
                    LLVM::LoadOp::create(code.builder, code.location, code.i32, own, kWordBytes);
                return SmallVector<Value>{doubles.widened(word)};
              });
          return SmallVector<Value>{from, to[0]};
        },
        [&] { return SmallVector<Value>(2, code.integer(0)); });
    Value copies = code.at(blocks.pointer(offsetof(HeddleOrderedBlocks, copies)),
                           code.multiply(code.add(search.firstSlot(), slot), 2));
    storeFar(copy[0], copies);
    storeFar(copy[1], code.at(copies, 1));
  });
}

void OrderedSearch::fillSlot(Value slot) {
  Value zero = code.integer(0);
  Value word = loadWord(kSlotsAt, slot);
  Value isFilled = isThere(word);
  word = code.select(isFilled, word, zero);
  code.when(code.equal(lane, zero), [&] {
    Value token = code.select(isFilled, loadWord(kTokensAt, numberOf(word)), zero);
    storeFar(token, code.at(launch.operand(1), code.add(search.firstRow(), slot)));
  });
  for (const bool areStates : {false, true}) {
    const FixedRecord blocks = {code, launch.operand(areStates ? 3 : 2)};
    Value list = LLVM::PtrToIntOp::create(code.builder, code.location, code.i64,
                                          blocks.pointer(offsetof(HeddleOrderedBlocks, blocks)));
    code.when(doubles.isNot(code.equal(list, zero)), [&] {
      fillBlocks(blocks, slot, hypothesisOf(word), isSet(word, kFirstBit), areStates);
    });
  }
}

void OrderedSearch::emit() {
  Value hypotheses = search.hypotheses();
  code.loop(warp, hypotheses, kHypothesisWarps, [&](Value hypothesis) { normalise(hypothesis); });
  block.barrier();
  share(count, [&](Value number) { score(number); });
  block.barrier();
  share(hypotheses, [&](Value hypothesis) { keepWanted(hypothesis); });
  share(limit, [&](Value rank) { storeWord(code.integer(kNone), kOrderAt, rank); });
  block.barrier();
  share(count, [&](Value number) { rank(number); });
  block.barrier();
  code.when(code.equal(block.thread, code.integer(0)), [&] { decide(); });
  block.barrier();
  // The next search of the block writes what is read here only after a barrier.
  code.loop(warp, search.width(), kHypothesisWarps, [&](Value slot) { fillSlot(slot); });
}

// --- copies --------------------------------------------------------------------------------------

/// Copies [begin, end) of a block, vectors of so many words at a time, several of which are under
/// way together.
static void copyBytes(const BlockCode &block, Value fromAt, Value toAt, Value begin, Value end,
                      int64_t words) {
  VectorCode &code = block.code;
  const int64_t bytes = words * kWordBytes, step = kHypothesisThreads * bytes;
  constexpr int64_t together = 4;
  auto type = VectorType::get({words}, code.i32);
  const auto copy = [&](Value offset, int64_t count) {
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < count; ++i) {
      loaded.push_back(
          BlockCode(block).loadFar(code.bytesAt(fromAt, code.add(offset, i * step)), type));
    }
    for (int64_t i = 0; i < count; ++i) {
      LLVM::StoreOp::create(code.builder, code.location, loaded[static_cast<size_t>(i)],
                            code.bytesAt(toAt, code.add(offset, i * step)), bytes);
    }
  };
  Value own = code.multiply(block.thread, bytes);
  Value wholes = code.divide(code.subtract(end, begin), together * step);
  Value wholeEnd = code.add(begin, code.multiply(wholes, together * step));
  code.loop(code.add(begin, own), wholeEnd, together * step,
            [&](Value offset) { copy(offset, together); });
  code.loop(code.add(wholeEnd, own), end, step, [&](Value offset) { copy(offset, 1); });
}

/// Copies a piece of a block, 16 bytes at a time unless blocks of states are not aligned.
static void copyPiece(const BlockCode &block, const FixedRecord &blocks, Value slot, Value piece) {
  static_assert(blockCopyThreads == kHypothesisThreads && blockPieceBytes % kSharedAlignment == 0);
  VectorCode &code = block.code;
  Value copies =
      code.at(blocks.pointer(offsetof(HeddleOrderedBlocks, copies)), code.multiply(slot, 2));
  Value from = code.loadIndex(copies, code.integer(0));
  Value to = code.loadIndex(copies, code.integer(1));
  Value stride = blocks.integer(offsetof(HeddleOrderedBlocks, stride));
  Value memory = blocks.pointer(offsetof(HeddleOrderedBlocks, memory));
  Value fromAt = code.bytesAt(memory, code.multiply(from, stride));
  Value toAt = code.bytesAt(memory, code.multiply(to, stride));
  Value begin = code.multiply(piece, blockPieceBytes);
  Value end = code.smaller(code.add(begin, blockPieceBytes), stride);
  constexpr int64_t words = kSharedAlignment / kWordBytes;
  Value isAligned = code.equal(code.remainder(stride, kSharedAlignment), code.integer(0));
  code.when(
      code.equal(from, to), [] {},
      [&] {
        code.when(
            isAligned, [&] { copyBytes(block, fromAt, toAt, begin, end, words); },
            [&] { copyBytes(block, fromAt, toAt, begin, end, 1); });
      });
}

/// Calls `body` for the row and the column of each piece of the block.
static void overPieces(VectorCode &code, const LaunchRecord &launch,
                       llvm::function_ref<void(Value row, Value column)> body) {
  const LaunchPieces pieces(code, launch.work(), code.integer(1), code.integer(1));
  Value step = LaunchPieces::step(code);
  code.walk(LaunchPieces::first(code), pieces.count, [&](Value number) {
    const LaunchRange piece = pieces.at(code, number);
    body(piece.rowBegin, piece.columnBegin);
    return code.add(number, step);
  });
}

void addOrderKernels(ModuleOp module, const TargetDescription &target) {
  addOwnEntry(module, target,
              {hypothesisOrderEntry, kHypothesisThreads, /*leastBlocks=*/1, /*areTogether=*/true},
              [](const BlockCode &block, const LaunchRecord &launch) {
                overPieces(block.code, launch,
                           [&](Value row, Value) { OrderedSearch(block, launch, row).emit(); });
              });
  addOwnEntry(module, target,
              {blockCopyEntry, blockCopyThreads, /*leastBlocks=*/4, /*areTogether=*/true},
              [](const BlockCode &block, const LaunchRecord &launch) {
                overPieces(block.code, launch, [&](Value slot, Value piece) {
                  copyPiece(block, {block.code, launch.operand(0)}, slot, piece);
                });
              });
}

} // namespace heddle
