// SPDX-License-Identifier: Apache-2.0
///
/// Verification of operations on caches.
#include "dialects/Transformer/Transformer.h"

using namespace mlir;
using namespace heddle::transformer;

LogicalResult AppendOp::verify() {
  // C1 is traits. C2: once for each pair is enough: the later one complains.
  for (Operation *user : getCache().getUsers()) {
    auto other = dyn_cast<AppendOp>(user);
    if (other && other != *this && other->getBlock() == (*this)->getBlock() &&
        other->isBeforeInBlock(*this)) {
      InFlightDiagnostic error = emitOpError("expects a cache that nothing else appends to");
      error.attachNote(other.getLoc()) << "this appends to it";
      return error;
    }
  }
  return success();
}

LogicalResult CachedOp::verify() {
  int64_t width = getCache().getType().getWidth();
  int64_t got = getType().getDimSize(1);
  // C1
  if (got != width) {
    return emitOpError("expects a result of width ") << width << ", that of the cache, got " << got;
  }
  return success();
}
