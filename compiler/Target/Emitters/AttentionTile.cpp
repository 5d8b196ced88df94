// SPDX-License-Identifier: Apache-2.0
///
/// Iterates an attention kernel over sequences, heads and tiles of queries.
#include "compiler/Target/Emitters/AttentionTile.h"

#include "heddle/Abi.h"

#include <numeric>

using namespace mlir;

namespace heddle {

// Queries of a small tile over a cache: the beams of one sentence.
static constexpr int64_t kFewRows = 4;

// Loads a cache, or rows; returns the address and stride of rows.
static std::pair<Value, int64_t> loadRows(AttentionTile &a, const KernelBody &body, int64_t number,
                                          CacheFields &cache, CacheBlock &places, Type &element) {
  Value address = body.operand(a.code, number);
  if (dataflow::CacheType type = body.kernel.getOperandCache(number)) {
    a.isCached = true;
    a.positions = a.queryRows.positions(a.code);
    cache = CacheFields::load(a.code, address);
    places = CacheBlock(type);
    element = places.element;
    return {Value(), places.positionStride};
  }
  return {address, body.kernel.getOperandBuffer(number).getRowElements()};
}

// Returns the keys that rows see; with scores for hidden keys they see all.
static transformer::Visibility visibleKeys(transformer::VisibilityAttr visibility,
                                           transformer::HiddenAttr hidden) {
  return hidden ? transformer::Visibility::all() : visibility.getValue();
}

void setVisibility(AttentionTile &a, transformer::VisibilityAttr visibility,
                   transformer::HiddenAttr hidden) {
  a.visibility = visibleKeys(visibility, hidden);
  a.hidden = hidden;
}

std::optional<int64_t> mostKeysOf(transformer::VisibilityAttr visibility,
                                  transformer::HiddenAttr hidden, int64_t rows) {
  std::optional<int64_t> keys = visibleKeys(visibility, hidden).span(rows);
  return keys ? std::optional((*keys + 2 * (kMostLanes - 1)) / kMostLanes * kMostLanes) : keys;
}

ScratchElements transposedKeys(transformer::VisibilityAttr visibility,
                               transformer::HiddenAttr hidden, int64_t keySize) {
  auto size = static_cast<uint64_t>(keySize);
  if (std::optional<int64_t> keys = mostKeysOf(visibility, hidden, kPieceRows)) {
    return {size * static_cast<uint64_t>(*keys + kMostLanes), 0};
  }
  return {size * kMostLanes, size};
}

ScratchElements roundedFactors(dataflow::AttentionAttr computes) {
  constexpr int64_t mostTogether = 2 * kMostLanes;
  const auto keySize = static_cast<int64_t>(llvm::alignTo(computes.getKeySize(), kAmxBf16Steps));
  // 32-bit elements of a key, plain or, on AMX, as pairs, and of its value.
  const int64_t key = std::max(computes.getKeySize(), keySize / 2);
  const auto value = static_cast<int64_t>(llvm::alignTo(computes.getValueSize(), kMostLanes));
  ScratchElements elements =
      transposedKeys(computes.getVisibility(), computes.getHidden(), key + value);
  // Keys begin and end at multiples of the keys that are computed together.
  elements.fixed += (key + value) * 2 * mostTogether + kMostRows * keySize;
  return elements;
}

// Returns the first key that a row sees.
static Value firstKeyOf(AttentionTile &a, Value row) {
  VectorCode &code = a.code;
  Value begin = code.positionBound(*a.visibility.from, a.positionOf(row));
  return code.larger(begin, code.integer(0));
}

// Returns the beginning of the group of `size` keys that contains it.
static Value firstGroupOf(AttentionTile &a, Value row, int64_t size) {
  VectorCode &code = a.code;
  if (!a.visibility.from) {
    return code.integer(0);
  }
  return code.multiply(code.divide(firstKeyOf(a, row), size), size);
}

void loadRowSpaces(AttentionTile &a, const KernelBody &body, int64_t number) {
  a.queryRows = body.rows(a.code);
  if (body.kernel.getRows().isOrdered()) {
    a.tokenOffsets = body.arguments.rows(a.code, RowSpace::tokens()).offsets(a.code);
  }
  mlir::FunctionType type = body.kernel.getKernelType();
  a.keyRows = body.arguments.rows(a.code, dataflow::spaceOfInput(type, number));
}

// Returns the segment of a cache whose keys a row sees.
static Value segmentOf(AttentionTile &a, const CacheFields &cache, Value row) {
  VectorCode &code = a.code;
  if (a.tokenOffsets) {
    row = code.loadIndex(a.tokenOffsets, code.loadIndex(a.queryRows.sequenceOf(code), row));
  }
  return code.loadIndex(cache.segmentOf, row);
}

void loadKeys(AttentionTile &a, const KernelBody &body, int64_t number) {
  std::tie(a.key, a.keyStride) = loadRows(a, body, number, a.keyCache, a.keyPlaces, a.keyElement);
}

void loadValues(AttentionTile &a, const KernelBody &body, int64_t number) {
  std::tie(a.value, a.valueStride) =
      loadRows(a, body, number, a.valueCache, a.valuePlaces, a.valueElement);
}

void loadBias(AttentionTile &a, const KernelBody &body, int64_t number, int64_t distance) {
  a.biasDistance = distance;
  a.bias = distance > 0 ? body.operand(a.code, number) : Value();
}

void loadScore(AttentionTile &a, const KernelBody &body) {
  Block &region = body.kernel.getEpilogue().front();
  a.scoreTakesBias = region.getNumArguments() > 1;
  a.score = a.scoreTakesBias || !body.kernel.hasTrivialEpilogue() ? &region : nullptr;
  if (!body.kernel.getPairs().empty()) {
    a.pairs = &body.kernel.getPairs().front();
    a.pairWeights = body.operand(a.code, body.kernel.getNumInputs() - 1);
  }
}

int64_t headsTogether(dataflow::AttentionAttr computes) {
  return std::gcd(computes.getKeyShare(), computes.getValueShare());
}

void loadAttention(AttentionTile &a, const KernelBody &body, dataflow::AttentionAttr computes) {
  setVisibility(a, computes.getVisibility(), computes.getHidden());
  a.keyShare = computes.getKeyShare();
  a.valueShare = computes.getValueShare();
  a.headsTogether = headsTogether(computes);
  a.queryStride = body.kernel.getOperandBuffer(0).getRowElements();
  a.result = KernelResult::load(a.code, body.arguments);
  a.query = body.operand(a.code, 0);
  loadRowSpaces(a, body, 1);
  loadKeys(a, body, 1);
  loadValues(a, body, 2);
  loadBias(a, body, 3, computes.getBiasDistance());
  loadScore(a, body);
  a.arithmetic = computes.getArithmetic();
  a.isPaired = a.isRounded() && a.code.target.hasBf16DotProduct;
  a.isOnAmx = runsOnAmx(computes, a.code.target);
  assert((a.isPaired || !a.isOnAmx) && "AMX comes with dot products of bf16");
}

void loadAttention(AttentionTile &a, const KernelBody &body,
                   dataflow::AttentionWeightsAttr computes) {
  loadRowSpaces(a, body, 1);
  a.longest = a.keyRows.longest(a.code);
  setVisibility(a, computes.getVisibility(), computes.getHidden());
  a.keyShare = a.headsTogether = computes.getKeyShare();
  a.queryStride = body.kernel.getOperandBuffer(0).getRowElements();
  a.result = KernelResult::load(a.code, body.arguments);
  a.query = body.operand(a.code, 0);
  loadKeys(a, body, 1);
  loadBias(a, body, 2, computes.getBiasDistance());
  loadScore(a, body);
  a.isRaw = computes.getRaw();
}

void loadAttention(AttentionTile &a, const KernelBody &body, dataflow::AttendAttr computes) {
  setVisibility(a, computes.getVisibility(), {});
  a.valueShare = a.headsTogether = computes.getValueShare();
  a.result = KernelResult::load(a.code, body.arguments);
  loadRowSpaces(a, body, 1);
  loadValues(a, body, 1);
  a.given = body.operand(a.code, 0);
  a.headsOfGiven = computes.getHeads();
  a.longest = a.keyRows.longest(a.code);
}

namespace {
/// The cached positions of a sequence: their number, the lists of their blocks, and the first
/// position that a row reads, rounded down to the beginning of a block.
struct CachedSequence {
  Value count, keyBlocks, valueBlocks, first;
};
} // namespace

// Keys and values of caches have the same positions; each half of attention reads only one of them.
static const CacheFields &cacheOf(const AttentionTile &a) {
  return a.keyCache.memory ? a.keyCache : a.valueCache;
}

static CachedSequence cachedSequence(AttentionTile &a, Value sequence, Value row) {
  VectorCode &code = a.code;
  auto blocksOf = [&](const CacheFields &cache) {
    return cache.memory ? cache.blocksOf(code, sequence) : Value();
  };
  return {code.loadIndex(cacheOf(a).lengths, sequence), blocksOf(a.keyCache),
          blocksOf(a.valueCache), firstGroupOf(a, row, HEDDLE_BLOCK)};
}

// Sets the current keys to the cached keys of a segment that rows from `row` on read.
static void takeKeys(AttentionTile &a, Value segment, Value row) {
  CachedSequence cached = cachedSequence(a, segment, row);
  a.firstCached = cached.first;
  a.keyCount = cached.count;
  a.keyBlocks = cached.keyBlocks;
  a.valueBlocks = cached.valueBlocks;
  a.pitch = a.code.integer(HEDDLE_BLOCK);
}

// Returns whether keys are transposed for pieces of a sequence.
static bool hasPieces(const AttentionTile &a) {
  return !a.isCached && a.key && a.visibility.span(kPieceRows);
}

// Enters the piece of a sequence that begins at `row`: the queries before `last` whose keys are
// transposed at once. Returns its end.
static Value enterPiece(AttentionTile &a, Value row, Value last) {
  VectorCode &code = a.code;
  last = code.smaller(last, code.add(row, kPieceRows));
  a.firstTransposed = firstGroupOf(a, row, a.keysTogether());
  Value lastPosition = a.positionOf(code.subtract(last, code.integer(1)));
  Value end = code.smaller(code.positionBound(*a.visibility.to, lastPosition), a.keyCount);
  Value keys = code.subtract(end, a.firstTransposed);
  if (a.isPaired) {
    a.pitch = a.roundUp(keys);
    return last;
  }
  // An odd number of cache lines per line of keys spreads the lines of a head over the cache's
  // sets.
  Value pairs = code.divide(code.add(keys, kMostLanes - 1), 2 * kMostLanes);
  a.pitch = code.add(code.multiply(pairs, 2 * kMostLanes), kMostLanes);
  return last;
}

// Returns the end of the consecutive rows from `row` on, before `rowEnd`, that see the keys of a
// segment. Rows are in the order of time, so neighbours may be rows of one segment.
static Value endOfSegment(AttentionTile &a, const CacheFields &cache, Value segment, Value row,
                          Value rowEnd) {
  VectorCode &code = a.code;
  Value next = code.add(row, 1), most = code.smaller(rowEnd, code.add(row, kMostRows));
  return code.loop(next, most, 1, {next}, [&](Value each, ValueRange carried) {
    Value isSame = code.equal(segmentOf(a, cache, each), segment);
    Value isNext = code.equal(each, carried[0]);
    Value longer = code.select(isSame, code.add(each, 1), carried[0]);
    return SmallVector<Value>{code.select(isNext, longer, carried[0])};
  })[0];
}

Value enterSequence(AttentionTile &a, Value row, Value rowEnd) {
  VectorCode &code = a.code;
  const CacheFields &cache = cacheOf(a);
  if (a.tokenOffsets) {
    Value segment = segmentOf(a, cache, row);
    takeKeys(a, segment, row);
    return endOfSegment(a, cache, segment, row, rowEnd);
  }
  Value offsets = a.isCached ? cache.offsets : a.queryRows.offsets(code);
  Value sequenceOf = a.isCached ? cache.segmentOf : a.queryRows.sequenceOf(code);
  Value sequence = code.loadIndex(sequenceOf, row);
  a.firstRow = code.loadIndex(offsets, sequence);
  Value end = code.loadIndex(offsets, code.add(sequence, 1));
  if (!a.isCached) {
    Value keyOffsets = a.keyRows.offsets(code);
    a.firstKey = code.loadIndex(keyOffsets, sequence);
    Value endKey = code.loadIndex(keyOffsets, code.add(sequence, 1));
    a.keyCount = code.subtract(endKey, a.firstKey);
    a.pitch = a.roundUp(a.keyCount);
    return end;
  }
  takeKeys(a, sequence, row);
  return end;
}

// Emits the tiles of the queries [row, last) of one sequence and the current heads. Over a cache, a
// step has one query per hypothesis or a few per sentence, and small tiles are enough.
static void emitTiles(AttentionTile &a, Value row, Value last,
                      llvm::function_ref<void(Value, Value)> tile) {
  VectorCode &code = a.code;
  int64_t most = a.rows;
  if (a.headsTogether > 1) {
    a.firstQuery = row;
    last = code.multiply(code.subtract(last, row), a.headCount);
    row = code.integer(0);
  }
  auto tilesOf = [&](int64_t rows) {
    a.rows = rows;
    code.loop(row, last, rows, [&](Value first) { tile(first, last); });
    a.rows = most;
  };
  if (!a.isCached || most == 1) {
    tilesOf(most);
    return;
  }
  assert(most > kFewRows && "tiles of few rows are smaller than others");
  Value count = code.subtract(last, row);
  code.when(
      code.less(count, code.integer(2)), [&] { tilesOf(1); },
      [&] {
        code.when(
            code.less(count, code.integer(kFewRows + 1)), [&] { tilesOf(kFewRows); },
            [&] { tilesOf(most); });
      });
}

// Returns the number of elements of a cache line.
static int64_t elementsOfLine(Type element) {
  return 8 * kLineBytes / element.getIntOrFloatBitWidth();
}

// Prefetches the cached keys of a sequence that `head` reads.
static void askForKeys(AttentionTile &a, const CachedSequence &sequence, Value head) {
  VectorCode &code = a.code;
  int64_t size = a.keySize * HEDDLE_BLOCK, line = elementsOfLine(a.keyElement);
  int64_t linesTogether = std::clamp<int64_t>(size / line, 1, 8);
  Value element = code.multiply(code.divide(head, a.keyShare), a.keySize);
  code.loop(sequence.first, sequence.count, HEDDLE_BLOCK, [&](Value position) {
    Value block = a.keyCache.blockAt(code, sequence.keyBlocks, position);
    Value keys = a.keyPlaces.elementAt(code, block, code.integer(0), element);
    if (a.keyPlaces.hasScales()) {
      code.prefetch(a.keyPlaces.scaleAt(code, block, code.integer(0), element));
    }
    code.loop(code.integer(0), code.integer(size), linesTogether * line, [&](Value first) {
      for (int64_t i = 0; i < linesTogether; ++i) {
        code.prefetch(code.storedAt(keys, code.add(first, i * line), a.keyElement));
      }
    });
  });
}

// Prefetches the cached values of a sequence that `head` reads.
static void askForValues(AttentionTile &a, const CachedSequence &sequence, Value head) {
  VectorCode &code = a.code;
  int64_t line = elementsOfLine(a.valueElement);
  Value element = code.multiply(code.divide(head, a.valueShare), a.valueSize);
  code.loop(sequence.first, sequence.count, HEDDLE_BLOCK, [&](Value position) {
    Value block = a.valueCache.blockAt(code, sequence.valueBlocks, position);
    code.loop(code.integer(0), code.integer(HEDDLE_BLOCK), 1, [&](Value row) {
      Value first = a.valuePlaces.elementAt(code, block, row, element);
      for (int64_t i = 0; i < a.valueSize; i += line) {
        code.prefetch(code.storedAt(first, code.integer(i), a.valueElement));
      }
    });
  });
}

// Prefetches the cached keys and values of a sequence that `head` reads; `isFirst` says whether it
// is the sequence's first head. A step reads each of them once, a few contiguous lines at a time:
// too few for the hardware prefetcher to detect a pattern.
static void askForHead(AttentionTile &a, const CachedSequence &sequence, Value head, bool isFirst) {
  VectorCode &code = a.code;
  if (sequence.keyBlocks) {
    askForKeys(a, sequence, head);
  }
  if (!sequence.valueBlocks) {
    return;
  }
  int64_t line = elementsOfLine(a.valueElement);
  int64_t headsOfLine = line % a.valueSize == 0 ? line / a.valueSize : 1;
  if (isFirst || headsOfLine == 1) {
    askForValues(a, sequence, head);
    return;
  }
  // The first of the small heads that share cache lines has prefetched them.
  Value place = code.remainder(code.divide(head, a.valueShare), headsOfLine);
  code.when(code.equal(place, code.integer(0)), [&] { askForValues(a, sequence, head); });
}

// While a head is computed, prefetches the next head of the sequence, or the first head of the
// sequence that begins with `nextRow`.
static void askForNext(AttentionTile &a, const KernelArguments &arguments, Value nextHead,
                       Value nextRow) {
  VectorCode &code = a.code;
  code.when(
      code.less(nextHead, arguments.columnEnd),
      [&] {
        askForHead(a, {a.keyCount, a.keyBlocks, a.valueBlocks, a.firstCached}, nextHead,
                   /*isFirst=*/false);
      },
      [&] {
        code.when(code.less(nextRow, arguments.rowEnd), [&] {
          const CacheFields &cache = cacheOf(a);
          Value sequence = segmentOf(a, cache, nextRow);
          askForHead(a, cachedSequence(a, sequence, nextRow), arguments.columnBegin,
                     /*isFirst=*/true);
        });
      });
}

// Calls `take` for the current heads if they use other keys, or other values, than the heads before
// them in this call, which begins with `firstHead`. `share` heads use those of number `number`.
static void takeShared(AttentionTile &a, Value firstHead, int64_t share, Value number,
                       llvm::function_ref<void()> take) {
  VectorCode &code = a.code;
  if (share == a.headsTogether) {
    take();
    return;
  }
  // Heads share only keys or only values: the first head of each group loads them.
  Value isFirst = code.equal(code.multiply(number, share), a.head);
  Value isEntered = code.equal(a.head, firstHead);
  code.when(isFirst, take, [&] { code.when(isEntered, take); });
}

// Loads the keys of the current heads and, if they are rounded, the values.
static void enterHeads(AttentionTile &a, Value firstHead) {
  if (a.isCached || !a.key) {
    return;
  }
  takeShared(a, firstHead, a.keyShare, a.keyHead(), [&] { transposeKeys(a); });
  if (a.isRounded()) {
    takeShared(a, firstHead, a.valueShare, a.valueHead(), [&] { roundValues(a); });
  }
}

void overTiles(AttentionTile &a, const KernelArguments &arguments,
               llvm::function_ref<void(Value, Value)> tile) {
  VectorCode &code = a.code;
  Value firstHead = arguments.columnBegin;
  Value lastHead = arguments.columnEnd;
  // Rows [rowBegin, rowEnd), sequence by sequence; the division of rows among threads may split
  // one.
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value last = code.smaller(enterSequence(a, row, arguments.rowEnd), arguments.rowEnd);
    if (hasPieces(a)) {
      last = enterPiece(a, row, last);
    }
    if (a.isRounded()) {
      a.roundedValues = code.at(a.keysTransposed, code.multiply(a.pitch, a.scratchOfKey()));
    }
    auto tilesOf = [&](Value head, Value nextHead) {
      a.head = head;
      if (a.isCached) {
        askForNext(a, arguments, nextHead, last);
      }
      enterHeads(a, firstHead);
      emitTiles(a, row, last, tile);
    };
    if (a.headsTogether == 1) {
      code.loop(firstHead, lastHead, 1, [&](Value head) { tilesOf(head, code.add(head, 1)); });
      return last;
    }
    // The division of heads among threads may split heads that share keys.
    code.walk(firstHead, lastHead, [&](Value head) {
      Value next = code.multiply(code.add(code.divide(head, a.headsTogether), 1), a.headsTogether);
      next = code.smaller(next, lastHead);
      a.headCount = code.subtract(next, head);
      tilesOf(head, next);
      return next;
    });
    return last;
  });
}

QueryPlace placeOf(AttentionTile &a, Value query) {
  VectorCode &code = a.code;
  if (a.headsTogether == 1) {
    return {query, a.head};
  }
  Value row = code.divide(query, a.headCount);
  Value head = code.subtract(query, code.multiply(row, a.headCount));
  return {code.add(a.firstQuery, row), code.add(a.head, head)};
}

TileRows enterTile(AttentionTile &a, Value query, Value last) {
  VectorCode &code = a.code;
  Value lastQuery = code.subtract(last, code.integer(1));
  Value headsEnd = a.headsTogether > 1 ? code.add(a.head, a.headCount) : Value();
  QueryPlace place = placeOf(a, query);
  TileRows tile;
  for (int64_t r = 0; r < a.rows; ++r) {
    if (a.headsTogether == 1) {
      place.row = code.smaller(code.add(query, r), lastQuery);
    } else if (r > 0) {
      // The next query is the next head, or the first head of the next row.
      Value next = code.add(place.head, 1);
      Value isInRow = code.less(next, headsEnd);
      Value isQuery = code.less(code.add(query, r), last);
      Value row = code.select(isInRow, place.row, code.add(place.row, 1));
      place = {code.select(isQuery, row, place.row),
               code.select(isQuery, code.select(isInRow, next, a.head), place.head)};
    }
    tile.rows.push_back(place.row);
    tile.heads.push_back(place.head);
    if (a.visibility.from) {
      tile.begins.push_back(firstKeyOf(a, place.row));
    }
    tile.visible.push_back(a.visibility.to
                               ? code.positionBound(*a.visibility.to, a.positionOf(place.row))
                           : a.hidden ? code.add(a.positionOf(place.row), 1)
                                      : a.keyCount);
  }
  tile.first = firstGroupOf(a, tile.rows.front(), a.keysTogether());
  tile.seen = a.visibility.to ? code.smaller(tile.visible.back(), a.keyCount) : a.keyCount;
  tile.count = code.smaller(code.subtract(last, query), code.integer(a.rows));
  return tile;
}

SmallVector<Value> visibleOf(const AttentionTile &a, const TileRows &tile, Value firstKey,
                             Value count) {
  VectorCode &code = a.code;
  SmallVector<Value> visible;
  for (Value seen : tile.visible) {
    visible.push_back(code.smaller(count, code.subtract(seen, firstKey)));
  }
  return visible;
}

Value mostVisible(const AttentionTile &a, const TileRows &tile, Value firstKey, Value count) {
  Value most = a.code.integer(0);
  for (Value visible : visibleOf(a, tile, firstKey, count)) {
    most = a.code.larger(most, visible);
  }
  return a.roundUp(most);
}

KeyLimits limitsOf(AttentionTile &a, const TileRows &tile, Value firstKey, Value count) {
  VectorCode &code = a.code;
  KeyLimits limits;
  limits.ends =
      a.visibility.to ? visibleOf(a, tile, firstKey, count) : SmallVector<Value>(a.rows, count);
  for (Value begin : tile.begins) {
    limits.begins.push_back(code.larger(code.subtract(begin, firstKey), code.integer(0)));
  }
  return limits;
}

} // namespace heddle
