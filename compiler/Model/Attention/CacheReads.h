// SPDX-License-Identifier: Apache-2.0
///
/// How operations read caches. Keys and values have different layouts in memory, so passes that
/// compare or convert caches need to know which they are.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H

#include "dialects/Transformer/Transformer.h"

namespace heddle {

/// An operand of an attention. It may be a cache; cachedSource() tells.
struct CacheRead {
  mlir::Value rows;
  /// Otherwise they are values.
  bool isKeys = false;
};

/// Returns the keys and values that an operation reads.
llvm::SmallVector<CacheRead, 2> cacheReads(mlir::Operation *operation);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_CACHEREADS_H
