// SPDX-License-Identifier: Apache-2.0
///
/// Operations say it by the names of their operands, which the dialect has from the definitions: a
/// new one has nothing to add here.
#include "compiler/Model/Attention/CacheReads.h"

#include "dialects/Transformer/VisitOperation.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

using Reads = SmallVector<CacheRead, 2>;

/// The operands called `key` and `value`. Other rows are read in their order, wherever they come
/// from; so is attention that is not fused yet: the cache is not laid out for it.
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
