// SPDX-License-Identifier: Apache-2.0
/// Primitive mathematics of attention: heads, contractions, masks, softmax.
#ifndef HEDDLE_TRANSFORMER_HEAD_OPS
#define HEDDLE_TRANSFORMER_HEAD_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_SplitHeadsOp : Transformer_Op<"split_heads", [Pure]> {
  let summary = "rows [t, h * d] seen as [t, h, d]";
  let description = [{
    Constraints:
    - C1: the input's width is heads times head size.

    ```mlir
    %qh = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input);
  let results = (outs Transformer_Heads:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_MergeHeadsOp : Transformer_Op<"merge_heads", [Pure]> {
  let summary = "[t, h, d] seen as rows [t, h * d]";
  let description = [{
    Constraints:
    - C1: the result's width is heads times head size.

    ```mlir
    %c = transformer.merge_heads %ch : tensor<?x12x32xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Heads:$input);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_RepeatHeadsOp : Transformer_Op<"repeat_heads", [Pure]> {
  let summary = "every head several times: [t, g, d] to [t, g * r, d]";
  let description = [{
    `result[t, h, :] = input[t, h / r, :]`: heads of keys or values that r adjacent heads of queries
    share. Source: Ainslie et al., "GQA: training generalized multi-query Transformer models
    from multi-head checkpoints", section 2.2.

    Constraints:
    - C1: the result's heads are a multiple of the input's.
    - C2: the heads have one size.

    ```mlir
    %kr = transformer.repeat_heads %kh : tensor<?x2x64xf32> -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins Transformer_Heads:$input);
  let results = (outs Transformer_Heads:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_TransposeOp : Transformer_Op<"transpose", [Pure]> {
  let summary = "reorders axes: axis i of the result is axis permutation[i] of the input";
  let description = [{
    Constraints:
    - C1: the permutation names every axis of the input once.
    - C2: the result's shape is the input's, permuted.

    ```mlir
    %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ContractOp : Transformer_Op<"contract", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>]> {
  let summary = "an Einstein summation of two operands";
  let description = [{
    The specification names each axis of the left operand, the right operand and the result by a
    letter; products are summed over the axes that the result lacks. `t` are rows of queries; `k`
    are the keys of the row's own sequence, according to the segments in `in` (queries, then keys).
    A value with both `t` and `k` has one entry for each key of the row's own sequence; a value with
    `k` alone has all rows.

    Constraints:
    - C1: the specification is `axes,axes->axes`, letters distinct within an operand.
    - C2: every axis of the result is an axis of an operand, and the ranks agree with the types.
    - C3: a letter has the same size wherever it occurs.
    - C4: `in` is given exactly when the specification has an axis `k`, and `t` and `k` are dynamic,
      all others static.

    ```mlir
    %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x12x32xf32>, tensor<?x12x32xf32> -> tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$axes, Transformer_Tensor:$lhs, Transformer_Tensor:$rhs,
                       Variadic<Transformer_SegmentsType>:$segments);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = [{
    $axes $lhs `,` $rhs (`in` `(` $segments^ `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The three groups of letters of the specification.
    ::mlir::StringRef getLhsAxes() { return getAxes().split(',').first; }
    ::mlir::StringRef getRhsAxes() { return getAxes().split(',').second.split("->").first; }
    ::mlir::StringRef getResultAxes() { return getAxes().split("->").second; }
  }];
}

def Transformer_PairSumOp : Transformer_Op<"pair_sum", [Pure]> {
  let summary = "the sum of each row and each of its keys: [t, w] and [k, w] to [t, k, w]";
  let description = [{
    `result[t, k, :] = query[t, :] + key[k, :]` for the keys of the row's own sequence. What scores
    that are no products are made of: v . tanh(q + k) is `activate tanh` of it, and the `contract`
    "tkw,hw->thk" with v.

    Source: Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2.

    Constraints:
    - C1: rows and keys are as wide as the result, which is [t, k, w].

    ```mlir
    %p = transformer.pair_sum %q, %u in(%rows, %source) : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x?x20xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$query, Transformer_Rows:$key,
                       Transformer_SegmentsType:$queries, Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = [{
    $query `,` $key `in` `(` $queries `,` $keys `)` attr-dict
    `:` type($query) `,` type($key) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_MaskOp : Transformer_Op<"mask", [Pure]> {
  let summary = "which keys of its own sequence each query sees";
  let description = [{
    `result[t, k]` is true for `all`; for `causal`, it is true if the position of k is not after
    that of t; with bounds, as `#transformer.visibility` says of the position of t. There are no
    padding masks, because there is no padding.

    ```mlir
    %m = transformer.mask causal in(%rows, %rows)
    %w = transformer.mask from i - 2 to i + 3 in(%rows, %rows)
    ```
  }];
  let arguments = (ins Transformer_VisibilityAttr:$visibility, Transformer_SegmentsType:$queries,
                       Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Mask:$result);
  let assemblyFormat = "custom<Visibility>($visibility) `in` `(` $queries `,` $keys `)` attr-dict";
}

def Transformer_MaskBiasOp : Transformer_Op<"mask_bias", [Pure]> {
  let summary = "a bias to add to scores: zero where the mask is true, `hidden` elsewhere";
  let description = [{
    Constraints:
    - C1: `hidden` is -1e4 or less, so that a hidden key's weight vanishes.
    - C2: the result has the shape of the mask.

    ```mlir
    %b = transformer.mask_bias %m {hidden = -1.000000e+09 : f32} : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Mask:$mask, F32Attr:$hidden);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$mask attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Transformer_RelativeBiasOp : Transformer_Op<"relative_bias",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a bias to add to scores: one number for each head and distance of a key from its query";
  let description = [{
    `result[t, h, k] = table[h, clamp(position(k) - position(t), -D, D) + D]`. Distances beyond D
    use the ends of the table. Source: Raffel et al., "Exploring the limits of transfer learning
    with a unified text-to-text transformer", section 2.1.

    Constraints:
    - C1: the table is a parameter of shape [heads, 2 * D + 1], D at most 2^20.
    - C2: the result is of rank 3, [t, h, k], t and k dynamic.

    ```mlir
    %r = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, Transformer_SegmentsType:$queries,
                       Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$table `in` `(` $queries `,` $keys `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Transformer_SelectOp : Transformer_Op<"select", [Pure, TypesMatchWith<
    "the result has the type of the scores", "scores", "result", "$_self">]> {
  let summary = "the score where the mask is true, `hidden` elsewhere";
  let description = [{
    Constraints:
    - C1: the scores are of rank 3, [t, h, k], t and k dynamic.
    - C2: `hidden` is -1e4 or less.

    ```mlir
    %z = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Mask:$mask, Transformer_Tensor:$scores, F32Attr:$hidden);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$mask `,` $scores attr-dict `:` type($scores)";
  let hasVerifier = 1;
}

def Transformer_SoftmaxOp : Transformer_Op<"softmax", [Pure, TypesMatchWith<
    "the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "exp(x - max) / sum, over the keys of each row and head";
  let description = [{
    The softmax runs over the last axis, the keys of the row's own sequence.

    Constraints:
    - C1: the input is of rank 3, [t, h, k], t and k dynamic.

    ```mlir
    %p = transformer.softmax %z in(%rows) : tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input `in` `(` $keys `)` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_DivideBySumOp : Transformer_Op<"divide_by_sum", [Pure, TypesMatchWith<
    "the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "x / sum, over the keys of each row and head";
  let description = [{
    Weights of keys that no exponential makes: of sigmoids of scores it is the smooth attention of
    Chorowski et al., "Attention-based models for speech recognition", section 2.2. The sum runs over
    the last axis, the keys of the row's own sequence, in their order.

    Constraints:
    - C1: the input is of rank 3, [t, h, k], t and k dynamic.

    ```mlir
    %p = transformer.divide_by_sum %z in(%rows) : tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input `in` `(` $keys `)` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_ConvolveKeysOp : Transformer_Op<"convolve_keys", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a convolution over the keys of each row: [t, h, k] to [t, k, w]";
  let description = [{
    `result[t, k, c] = sum over h, j of weight[c, h, j] * input[t, h, k + j - (n - 1) / 2]` with n
    elements for each head; what is before the first key of the row's own sequence or after its last
    one is zero. Where a step has looked becomes what its neighbours add to the scores of keys.

    Source: Chorowski et al., "Attention-based models for speech recognition", section 2.1.

    Constraints:
    - C1: the input is of rank 3, [t, h, k], t and k dynamic, and the result is [t, k, w].
    - C2: the weight is a parameter of shape [w, h, n], n odd.

    ```mlir
    %f = transformer.convolve_keys %p, @location.weight in(%rows, %source) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, FlatSymbolRefAttr:$weight,
                       Transformer_SegmentsType:$queries, Transformer_SegmentsType:$keys);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `in` `(` $queries `,` $keys `)` attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
