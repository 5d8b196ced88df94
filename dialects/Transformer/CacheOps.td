// SPDX-License-Identifier: Apache-2.0
/// Caches: keys and values of the positions of earlier runs of an entry.
#ifndef HEDDLE_TRANSFORMER_CACHE_OPS
#define HEDDLE_TRANSFORMER_CACHE_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_AppendOp : Transformer_Op<"append", [Pure, Transformer_ChangesKept,
    TypesMatchWith<"the result has the type of the cache", "cache", "result", "$_self">,
    TypesMatchWith<"the rows are as wide as the cache", "cache", "input",
      "::mlir::RankedTensorType::get({::mlir::ShapedType::kDynamic, "
      "::llvm::cast<CacheType>($_self).getWidth()}, "
      "::mlir::Float32Type::get($_self.getContext()))">]> {
  let summary = "appends the rows of each sequence to the cache";
  let description = [{
    Entries take caches as arguments and return those they have appended to. They do not return
    caches that they only read.

    Constraints:
    - C1: the rows are as wide as the cache, and the result is a cache of the same type.
    - C2: no other operation appends to the same cache: it is changed in place.
    - C3: the cache is not the result of another `append`.

    ```mlir
    %c1 = transformer.append %c0, %k in(%rows) : !transformer.cache<512>
    ```
  }];
  let arguments = (ins Transformer_CacheType:$cache, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_CacheType:$result);
  let assemblyFormat = [{
    $cache `,` $input `in` `(` $rows `)` attr-dict `:` qualified(type($cache))
  }];
  let hasVerifier = 1;
}

def Transformer_CachedOp : Transformer_Op<"cached", [Pure]> {
  let summary = "the rows of a cache that belong to the segments";
  let description = [{
    Constraints:
    - C1: the result is as wide as the cache.
    - C2: no operation appends to the cache; read the result of `append` instead.

    ```mlir
    %keys = transformer.cached %c1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Transformer_CacheType:$cache, Transformer_SegmentsType:$rows);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $cache `in` `(` $rows `)` attr-dict `:` qualified(type($cache)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_HistoryOp : Transformer_Op<"history", [Pure]> {
  let summary = "all positions of each sequence so far, including the rows of this run";
  let description = [{
    The rows follow the positions of earlier runs. Without earlier runs the history is the rows.

    ```mlir
    %seen = transformer.history %rows
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows);
  let results = (outs Transformer_SegmentsType:$result);
  let assemblyFormat = "$rows attr-dict";
}

#endif
