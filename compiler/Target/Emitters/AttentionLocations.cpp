// SPDX-License-Identifier: Apache-2.0
///
/// Locations: scores also depend on numbers of the keys near a key, such as the attention weights
/// of the previous step.
///
/// A tile stores the numbers in scratch with zeros around them, so a vector of neighbours is a load
/// at another offset, and keys at the edges need no special case. Filters are summed there once for
/// each row. Every column then adds a few lines of keys, each multiplied by a weight.
#include "compiler/Target/Emitters/AttentionTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

// The largest number of lines that a column adds in straight-line code; for more it uses a loop.
static constexpr int64_t kMostLines = 16;
// Filters whose sums are computed side by side.
static constexpr int64_t kFiltersTogether = 4;

// Returns the elements before key 0 in a line of numbers; as many zeros follow the last vector of
// keys.
static int64_t marginOf(int64_t taps) {
  return static_cast<int64_t>(llvm::alignTo(taps / 2, kMostLanes));
}

ScratchElements locationElements(ArrayRef<int64_t> heads, ArrayRef<int64_t> taps, int64_t filters) {
  uint64_t lines = filters, margins = 0;
  for (auto [headsOf, tapsOf] : llvm::zip_equal(heads, taps)) {
    lines += headsOf;
    margins += 2 * headsOf * marginOf(tapsOf);
  }
  return {kMostRows * (lines * kMostLanes + margins), kMostRows * lines};
}

int64_t locationLines(ArrayRef<int64_t> heads, ArrayRef<int64_t> taps, int64_t filters) {
  int64_t near = 0;
  for (auto [headsOf, tapsOf] : llvm::zip_equal(heads, taps)) {
    near += headsOf * tapsOf;
  }
  return filters > 0 ? filters : near;
}

void loadLocationInputs(AttentionTile &a, const KernelBody &body, int64_t first,
                        ArrayRef<int64_t> heads, ArrayRef<int64_t> taps, int64_t filters) {
  if (heads.empty()) {
    return;
  }
  VectorCode &code = a.code;
  a.longest = a.keyRows.longest(code);
  a.locationFilters = filters;
  for (auto [headsOf, tapsOf] : llvm::zip_equal(heads, taps)) {
    a.locations.push_back({body.operand(code, first++), headsOf, tapsOf});
  }
  a.filters = filters > 0 ? body.operand(code, first++) : Value();
  a.locationWeights = body.operand(code, first);
}

Value loadLocations(AttentionTile &a, const KernelBody &body, int64_t first,
                    ArrayRef<int64_t> heads, ArrayRef<int64_t> taps, int64_t filters,
                    Value scratch) {
  loadLocationInputs(a, body, first, heads, taps, filters);
  if (a.locations.empty()) {
    return scratch;
  }
  VectorCode &code = a.code;
  a.locationScratch = scratch;
  a.lineKeys = a.roundUp(a.longest);
  Value pitch = code.multiply(a.lineKeys, filters);
  for (const LocationInput &locations : a.locations) {
    Value line = code.add(a.lineKeys, 2 * marginOf(locations.taps));
    pitch = code.add(pitch, code.multiply(line, locations.heads));
  }
  a.locationPitch = pitch;
  return code.at(scratch, code.multiply(pitch, a.rows));
}

// Returns the elements from one head of numbers in scratch to the next.
static Value linePitch(AttentionTile &a, const LocationInput &locations) {
  return a.code.add(a.lineKeys, 2 * marginOf(locations.taps));
}

// Calls `visit(input, line, number)` for each input. Its numbers for head 0 begin `line` elements
// after the row's; `number` counts the taps of the inputs before it. Returns the end of all lines.
static Value overLocations(AttentionTile &a,
                           llvm::function_ref<void(const LocationInput &, Value, int64_t)> visit) {
  VectorCode &code = a.code;
  Value line = code.integer(0);
  int64_t number = 0;
  for (const LocationInput &locations : a.locations) {
    visit(locations, line, number);
    line = code.add(line, code.multiply(linePitch(a, locations), locations.heads));
    number += locations.heads * locations.taps;
  }
  return line;
}

// Copies the numbers of one head and surrounds them with zeros.
static void copyNumbers(AttentionTile &a, Value from, Value to, int64_t margin) {
  VectorCode &code = a.code;
  Value zero = code.splat(0), keys = code.at(to, margin), whole = a.roundUp(a.keyCount);
  auto clear = [&](Value begin) {
    code.loop(code.integer(0), code.integer(margin), code.lanes,
              [&](Value j) { code.storeVector(zero, code.at(begin, j)); });
  };
  clear(to);
  code.loop(code.integer(0), whole, code.lanes, [&](Value j) {
    code.storeVector(code.loadBelow(code.at(from, j), j, a.keyCount), code.at(keys, j));
  });
  clear(code.at(keys, whole));
}

// Returns sums of the numbers near a vector of keys, each multiplied by the weights of `count`
// filters; `weights` is the address of the first filter's weights, and a filter has `near` of them.
static SmallVector<Value> filterSums(AttentionTile &a, Value numbers, Value key, Value weights,
                                     int64_t near, int64_t count) {
  VectorCode &code = a.code;
  SmallVector<Value> sums(count, code.splat(0));
  overLocations(a, [&](const LocationInput &locations, Value line, int64_t number) {
    Value first = code.add(code.add(line, key), marginOf(locations.taps) - locations.taps / 2);
    Value base = code.at(numbers, first), ofInput = code.at(weights, number);
    sums =
        code.loop(code.integer(0), code.integer(locations.heads), 1, sums,
                  [&](Value head, ValueRange ofHeads) {
                    Value ofHead = code.at(base, code.multiply(head, linePitch(a, locations)));
                    Value weightsOfHead = code.at(ofInput, code.multiply(head, locations.taps));
                    return code.loop(code.integer(0), code.integer(locations.taps), 1, ofHeads,
                                     [&](Value tap, ValueRange carried) {
                                       Value x = code.loadVector(code.at(ofHead, tap));
                                       Value weight = code.at(weightsOfHead, tap);
                                       SmallVector<Value> next;
                                       for (int64_t f = 0; f < count; ++f) {
                                         Value w = code.loadScalar(code.at(weight, f * near));
                                         next.push_back(code.fma(code.broadcast(w), x, carried[f]));
                                       }
                                       return next;
                                     });
                  });
  });
  return sums;
}

// Computes lines[f][j], the sums of all filters f, for all keys.
static void filterNumbers(AttentionTile &a, Value numbers, Value lines) {
  VectorCode &code = a.code;
  const int64_t near = a.numbersNear();
  int64_t whole = a.locationFilters / kFiltersTogether * kFiltersTogether;
  code.loop(code.integer(0), a.roundUp(a.keyCount), code.lanes, [&](Value key) {
    auto filters = [&](Value first, int64_t count) {
      Value weights = code.at(a.filters, code.multiply(first, near));
      Value to = code.at(lines, code.add(code.multiply(first, a.lineKeys), key));
      for (Value sum : filterSums(a, numbers, key, weights, near, count)) {
        code.storeVector(sum, to);
        to = code.at(to, a.lineKeys);
      }
    };
    code.loop(code.integer(0), code.integer(whole), kFiltersTogether,
              [&](Value first) { filters(first, kFiltersTogether); });
    if (int64_t rest = a.locationFilters - whole; rest > 0) {
      filters(code.integer(whole), rest);
    }
  });
}

void writeLocations(AttentionTile &a, const TileRows &tile, Value query) {
  if (a.locations.empty()) {
    return;
  }
  VectorCode &code = a.code;
  code.loop(code.integer(0), tile.count, 1, [&](Value r) {
    Value row = placeOf(a, code.add(query, r)).row;
    Value to = code.at(a.locationScratch, code.multiply(r, a.locationPitch));
    Value lines = overLocations(a, [&](const LocationInput &locations, Value line, int64_t) {
      Value first = code.multiply(row, locations.heads), begin = code.at(to, line);
      code.loop(code.integer(0), code.integer(locations.heads), 1, [&](Value head) {
        Value from = code.at(locations.numbers, code.multiply(code.add(first, head), a.longest));
        copyNumbers(a, from, code.at(begin, code.multiply(head, linePitch(a, locations))),
                    marginOf(locations.taps));
      });
    });
    if (a.locationFilters > 0) {
      filterNumbers(a, to, code.at(to, lines));
    }
  });
}

namespace {
/// Lines of a row in scratch that are `pitch` elements apart; the first is `line` elements after
/// the beginning of the row.
struct LineGroup {
  Value line, pitch;
  int64_t count;
};
} // namespace

static SmallVector<LineGroup> lineGroups(AttentionTile &a) {
  VectorCode &code = a.code;
  SmallVector<LineGroup> groups;
  Value filtered = overLocations(a, [&](const LocationInput &locations, Value line, int64_t) {
    for (int64_t head = 0; head < locations.heads && a.locationFilters == 0; ++head) {
      Value first = code.add(line, marginOf(locations.taps) - locations.taps / 2);
      groups.push_back({first, code.integer(1), locations.taps});
      line = code.add(line, linePitch(a, locations));
    }
  });
  if (a.locationFilters > 0) {
    groups.push_back({filtered, a.lineKeys, a.locationFilters});
  }
  return groups;
}

SmallVector<Value> addLocations(AttentionTile &a, Value column, ArrayRef<Value> rows,
                                int64_t vectors, SmallVector<Value> sums) {
  VectorCode &code = a.code;
  SmallVector<LineGroup> groups = lineGroups(a);
  int64_t lines = 0;
  for (const LineGroup &group : groups) {
    lines += group.count;
  }
  Value weights = code.at(a.locationWeights, code.multiply(column, lines));
  auto addLine = [&](const LineGroup &group, Value number, ValueRange carried) {
    Value weight = code.broadcast(code.loadScalar(code.at(weights, number)));
    Value line = code.add(group.line, code.multiply(number, group.pitch));
    SmallVector<Value> next;
    for (Value row : rows) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value x = code.loadVector(code.at(code.at(row, line), v * code.lanes));
        next.push_back(code.fma(weight, x, carried[next.size()]));
      }
    }
    return next;
  };
  for (const LineGroup &group : groups) {
    if (lines > kMostLines) {
      sums = code.loop(
          code.integer(0), code.integer(group.count), 1, sums,
          [&](Value number, ValueRange carried) { return addLine(group, number, carried); });
    } else {
      for (int64_t number = 0; number < group.count; ++number) {
        sums = addLine(group, code.integer(number), sums);
      }
    }
    weights = code.at(weights, group.count);
  }
  return sums;
}

} // namespace heddle
