// SPDX-License-Identifier: Apache-2.0
///
/// Reads operand names from the operation definitions, so a new operation needs no change here.
#include "compiler/Model/Attention/CacheReads.h"

#include "dialects/Transformer/VisitOperation.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

using Reads = SmallVector<CacheRead, 2>;

/// Finds the operands called `key` and `value`. Other operands are read in row order. So is
/// attention that is not fused yet, because the cache has no layout for it.
template <typename Op> Reads readsOf(Op op) {
  Reads reads;
  if constexpr (requires { Value(op.getKey()); }) {
    reads.push_back({op.getKey(), true});
  }
  if constexpr (requires { Value(op.getValue()); }) {
    reads.push_back({op.getValue(), false});
  }
  return reads;
}

} // namespace

SmallVector<CacheRead, 2> cacheReads(Operation *operation) {
  Reads reads;
  visitOperation(operation, [&](auto op) { reads = readsOf(op); });
  return reads;
}

} // namespace heddle
