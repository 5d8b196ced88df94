// SPDX-License-Identifier: Apache-2.0
///
/// Computes P V for given weights: the second half of attention. The queries of a tile share each
/// row of values, and their sums stay in registers over all keys.
#include "compiler/Target/Emitters/AttentionTile.h"

using namespace mlir;

namespace heddle {

// Computes the sums of the tile of queries that starts at `query`. Rows past the last one repeat it
// and store the same result. Weights are [tokens][heads][longest].
static void emitTile(AttentionTile &a, Value query, Value last) {
  VectorCode &code = a.code;
  TileRows tile = enterTile(a, query, last);
  Value first = code.integer(0);
  KeyLimits limits = limitsOf(a, tile, first, tile.seen);
  SmallVector<Value> weightsOfRows, results;
  for (auto [number, head] : llvm::zip_equal(tile.rows, tile.heads)) {
    Value line = code.add(code.multiply(number, a.headsOfGiven), head);
    weightsOfRows.push_back(code.at(a.given, code.multiply(line, a.longest)));
    results.push_back(a.result.at(code, number, code.multiply(head, a.valueSize)));
  }
  for (ValueGroup group : valueGroups(a)) {
    SmallVector<Value> sums(a.rows * group.count, code.splat(0));
    sums = addValues(a, group, weightsOfRows, first, tile.seen, limits, sums);
    for (int64_t r = 0; r < a.rows; ++r) {
      for (int64_t v = 0; v < group.count; ++v) {
        int64_t vector = group.first + v;
        code.storeVector(sums[r * group.count + v], code.at(results[r], vector * code.lanes),
                         code.validLanes(vector, a.valueSize));
      }
    }
  }
}

template <> KernelScratch scratchOf(dataflow::AttendAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AttendAttr computes) {
  AttentionTile a{code, code.target.tileRows, /*keySize=*/0, computes.getValueSize()};
  loadAttention(a, body, computes);
  overTiles(a, body.arguments, [&](Value query, Value last) { emitTile(a, query, last); });
}

} // namespace heddle
