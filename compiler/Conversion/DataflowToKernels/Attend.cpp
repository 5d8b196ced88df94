// SPDX-License-Identifier: Apache-2.0
///
/// P V for weights that are there already: the second half of attention. A tile of queries shares
/// each row of values, and its sums stay in registers over all keys.
#include "compiler/Conversion/DataflowToKernels/AttentionTile.h"

using namespace mlir;

namespace heddle {

// The sums of one tile of rows from `row` on. A row that repeats the last one stores the same.
static void emitTile(AttentionTile &a, Value weights, Value line, Value row, Value last) {
  VectorCode &code = a.code;
  TileRows tile = enterTile(a, row, last);
  Value first = code.integer(0);
  SmallVector<Value> limits = limitsOf(a, tile, first, tile.seen);
  SmallVector<Value> weightsOfRows, results;
  for (Value number : tile.rows) {
    weightsOfRows.push_back(code.at(weights, code.multiply(number, line)));
    Value place =
        code.add(code.multiply(number, a.resultStride), code.multiply(a.head, a.valueSize));
    results.push_back(code.at(a.result, place));
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

void emitAttend(VectorCode &code, const KernelBody &body, dataflow::AttendAttr computes) {
  AttentionTile a{code, code.target.tileRows, /*keySize=*/0, computes.getValueSize()};
  a.isCausal = computes.getCausal();
  a.resultStride = body.kernel.getResultBuffer().getRowElements();
  a.result = body.arguments.operand(code, 0);
  loadValues(a, body, 1);
  // Weights are [tokens][heads][longest].
  Value weights = body.arguments.operand(code, 1), longest = body.arguments.longest(code);
  Value line = code.multiply(longest, computes.getHeads());
  overTiles(a, body.arguments, [&](Value row, Value last) {
    emitTile(a, code.at(weights, code.multiply(longest, a.head)), line, row, last);
  });
}

} // namespace heddle
