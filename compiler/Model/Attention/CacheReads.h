// SPDX-License-Identifier: Apache-2.0
///
/// How operations read caches. Keys lie in memory in another way than values, so that passes that
/// compare or choose caches ask this.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H

#include "dialects/Transformer/Transformer.h"

namespace heddle {

/// An operand of an attention; it is of a cache where cachedSource() says so.
struct CacheRead {
  mlir::Value rows;
  /// Else values.
  bool isKeys = false;
};

/// The keys and values that an operation reads.
llvm::SmallVector<CacheRead, 2> cacheReads(mlir::Operation *operation);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H
