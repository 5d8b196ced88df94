// SPDX-License-Identifier: Apache-2.0
/// Fused operations, which passes create from primitive mathematics. Frontends never write them.
#ifndef HEDDLE_TRANSFORMER_FUSED_OPS
#define HEDDLE_TRANSFORMER_FUSED_OPS

include "dialects/Transformer/ParameterOps.td"

// Shared by attention and attention_weights.
defvar attendedDeclaration = [{
  /// The keys that have weights: all keys, if keys after the row have scores.
  ::heddle::transformer::VisibilityAttr getAttendedKeys() {
    return getHidden() ? VisibilityAttr::get(getContext(), Visibility::all()) : getVisibilityAttr();
  }
}];

def Transformer_AttendOp : Transformer_Op<"attend", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>]> {
  let summary = "P V for every head: sums values with given weights over the row's own keys";
  let description = [{
    `result[t, h, :]` is the sum over the keys k that row t sees of `weights[t, h, k] * V[k, h, :]`,
    with heads in columns as in `attention`. Keys that the row does not see are left out, whatever
    their weights and values. `attention` equals `attend` of its `attention_weights`.

    Source: Xiao et al., "Sharing attention weights for fast Transformer": layers that share
    weights keep their own values.

    With a `value_share` of r, r adjacent heads of weights share one head of values: V[k, h, :]
    means V[k, h / r, :].

    Constraints:
    - C1: the number of heads of the weights divides the width of the result.
    - C2: `value_share` divides the heads, and the result is `value_share` times as wide as the
      values.

    ```mlir
    %a = transformer.attend %p, %v in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Scores:$weights, Transformer_Rows:$value,
                       Transformer_SegmentsType:$queries, Transformer_SegmentsType:$keys,
                       Transformer_VisibilityAttr:$visibility,
                       DefaultValuedAttr<I64Attr, "1">:$value_share);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $weights `,` $value `in` `(` $queries `,` $keys `)` attr-dict
    `:` type($weights) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_AttentionOp : Transformer_Op<"attention",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "softmax(scale * Q K^T + bias) V for every head, over the row's own keys";
  let description = [{
    Queries, keys and values are rows [t, heads * head size]; head h begins at column h * head size.
    Source: "Attention is all you need", equation 1. The bias, if any, is that of `relative_bias`
    with the same segments.

    With `pairs` a score is no product of a query and a key but, of the maths f that it says of the
    sum s0 of a column of both, `scale * sum over d of pair_weights[h, d] * f(Q[t, h, d] + K[k, h, d])`.
    Source: Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2, where f is tanh.

    With `locations`, numbers of keys such as the weights of the step before, each column of a pair has a
    weighted sum of those of the key and its neighbours as well: f is of Q[t, h, d] + K[k, h, d] +
    sum over c of location_weights[d, c] * L[t, k, c]. The lines L are `locations[t, g, k + n - (taps - 1) / 2]`
    for each tensor in order, each of its heads g and each n below its number in `location_taps`, with zero
    outside the keys of the row's own sequence; with `location_filters` each line is a sum of all of these,
    by a row of the filters. Source: Chorowski et al., "Attention-based models for speech recognition",
    section 2.1.

    With `score` the scalar maths that it says maps each scaled product, or sum over pairs, before the
    softmax; the bias is added after it, unless it takes the bias itself.

    A row sees the keys that `visibility` says; those outside are neither read nor computed. With
    `hidden` a causal row also sees later keys, with the scores that the attribute defines: a finite
    mask keeps its exact meaning.

    With a `key_share` of r, r adjacent heads of queries share one head of keys: head h of the
    queries uses head h / r of the keys. `value_share` is the same for values. One head of keys and
    values for all queries is multi-query attention (Shazeer, "Fast Transformer decoding: one
    write-head is all you need"); several are grouped-query attention (Ainslie et al., "GQA").

    Constraints:
    - C1: the number of heads divides the widths of queries and result; each share divides it.
    - C2: queries are `key_share` times as wide as keys, the result is `value_share` times as wide as
      the values.
    - C3: the scale is finite and not zero.
    - C4: the bias, if there is one, is a parameter of shape [heads, 2 * distance + 1], the distance
      at most 2^20.
    - C5: `hidden` is given only for causal attention.
    - C6: a score that takes the bias has one, of several distances.
    - C7: `pairs` and `pair_weights` are both given or neither; the weights are a parameter of shape
      [heads, head size], and no step of `pairs` takes a bias.
    - C8: `locations` is given only with `pairs`; `location_taps` has an odd number for each tensor of
      it; these have at most 64 heads, and 2^20 taps in all heads, together. The filters are a parameter [lines, sum of heads * taps], the weights one of shape [head
      size, lines], given where `locations` is; without filters there are as many lines as that sum.

    ```mlir
    %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$query, Transformer_Rows:$key, Transformer_Rows:$value,
                       Transformer_SegmentsType:$queries, Transformer_SegmentsType:$keys,
                       Variadic<Transformer_Scores>:$locations, I64Attr:$heads,
                       F32Attr:$scale, Transformer_VisibilityAttr:$visibility,
                       OptionalAttr<FlatSymbolRefAttr>:$bias,
                       OptionalAttr<Transformer_HiddenAttr>:$hidden,
                       DefaultValuedAttr<I64Attr, "1">:$key_share,
                       DefaultValuedAttr<I64Attr, "1">:$value_share,
                       OptionalAttr<Transformer_ScoreAttr>:$score,
                       OptionalAttr<Transformer_ScoreAttr>:$pairs,
                       OptionalAttr<FlatSymbolRefAttr>:$pair_weights,
                       OptionalAttr<DenseI64ArrayAttr>:$location_taps,
                       OptionalAttr<FlatSymbolRefAttr>:$location_filters,
                       OptionalAttr<FlatSymbolRefAttr>:$location_weights);
  let results = (outs Transformer_Rows:$result);
  let extraClassDeclaration = attendedDeclaration;
  let assemblyFormat = [{
    $query `,` $key `,` $value `in` `(` $queries `,` $keys `)`
    (`locations` `(` $locations^ `:` type($locations) `)`)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_AttentionWeightsOp : Transformer_Op<"attention_weights",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "softmax(scale * Q K^T + bias) for every head, over the row's own keys";
  let description = [{
    The weights of `attention` without the sum of values, for layers that share them and callers that
    request them. Keys that a row does not see have weight zero. `hidden`, `score`, `pairs` and
    `locations` are as in `attention`.

    With `raw` the result is the scores themselves: what no softmax follows, or not at once.

    Constraints:
    - C1: the number of heads divides the width of queries; `key_share` divides it.
    - C2: queries are `key_share` times as wide as keys.
    - C3: the scale is finite and not zero.
    - C4: the bias, if there is one, is a parameter of shape [heads, 2 * distance + 1], the distance
      at most 2^20.
    - C5: the result is [t, heads, k].
    - C6: `hidden` is given only for causal weights.
    - C7: a score that takes the bias has one, of several distances.
    - C8: `pairs` and `pair_weights` are as in `attention`.
    - C9: `raw` scores are of all keys, without a bias.
    - C10: `locations` and what belongs to it are as C8 of `attention` says.

    ```mlir
    %p = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$query, Transformer_Rows:$key,
                       Transformer_SegmentsType:$queries, Transformer_SegmentsType:$keys,
                       Variadic<Transformer_Scores>:$locations, I64Attr:$heads,
                       F32Attr:$scale, Transformer_VisibilityAttr:$visibility,
                       OptionalAttr<FlatSymbolRefAttr>:$bias,
                       OptionalAttr<Transformer_HiddenAttr>:$hidden,
                       DefaultValuedAttr<I64Attr, "1">:$key_share,
                       OptionalAttr<Transformer_ScoreAttr>:$score,
                       OptionalAttr<Transformer_ScoreAttr>:$pairs,
                       OptionalAttr<FlatSymbolRefAttr>:$pair_weights,
                       OptionalAttr<DenseI64ArrayAttr>:$location_taps,
                       OptionalAttr<FlatSymbolRefAttr>:$location_filters,
                       OptionalAttr<FlatSymbolRefAttr>:$location_weights,
                       UnitAttr:$raw);
  let results = (outs Transformer_Scores:$result);
  let extraClassDeclaration = attendedDeclaration;
  let assemblyFormat = [{
    $query `,` $key `in` `(` $queries `,` $keys `)`
    (`locations` `(` $locations^ `:` type($locations) `)`)? attr-dict
    `:` type($query) `,` type($key) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_EmbedOp : Transformer_Op<"embed",
    [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the sum of rows looked up in several tables, optionally with a layer norm";
  let description = [{
    `result[t, :] = layer_norm(sum over i of scales[i] * tables[i][ids[i][t], :])`. Look-ups by
    position need no ids; their tables follow those with ids, one for each of `position_offsets`.
    `scales`, if not empty, has one factor for each of the ids; look-ups by position are not scaled.

    Constraints:
    - C1: there is one table for each of the ids and of the position offsets, at least one in all.
    - C2: the tables are parameters of rank 2 whose width is the result's.
    - C3: norm weight and bias are parameters of shape [width], both given or neither.
    - C4: epsilon is given exactly when the norm is, finite and not negative.
    - C5: segments are given exactly when there are position offsets.
    - C6: there are either no scales or one for each of the ids, finite and not zero.
    - C7: the position offsets are not negative.
    - C8: ids are no `positions`: those are look-ups by position.

    ```mlir
    %x = transformer.embed [@word.weight, @position.weight] ids(%ids) positions(%rows) {norm_weight = @norm.weight, norm_bias = @norm.bias, epsilon = 9.99999996E-13 : f32, position_offsets = array<i64: 0>} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins TypedArrayAttrBase<FlatSymbolRefAttr, "tables">:$tables,
                       Variadic<Transformer_Ids>:$ids,
                       Optional<Transformer_SegmentsType>:$rows,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$position_offsets,
                       DefaultValuedAttr<DenseF32ArrayAttr, "{}">:$scales,
                       OptionalAttr<FlatSymbolRefAttr>:$norm_weight,
                       OptionalAttr<FlatSymbolRefAttr>:$norm_bias,
                       OptionalAttr<F32Attr>:$epsilon);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $tables (`ids` `(` $ids^ `)`)? (`positions` `(` $rows^ `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_RotateOp : Transformer_Op<"rotate", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>,
    TypesMatchWith<"the result has the type of the input", "input", "result", "$_self">,
    TypesMatchWith<"sines have the type of cosines", "cosine", "sine", "$_self">]> {
  let summary = "pairs of columns of each head turned by angles, of which cosines and sines are given";
  let description = [{
    With heads of d columns and n cosines, column j of a head becomes
    `x[j] * cosine[j] - x[j + n] * sine[j]` and column j + n becomes
    `x[j + n] * cosine[j] + x[j] * sine[j]`, for j < n. Columns from 2 n on stay what they are.

    Source: Su et al., "RoFormer: enhanced Transformer with rotary position embedding", equation 34,
    with the pairs of GPT-NeoX: one column of each is in the first half.

    Constraints:
    - C1: there is at least one head, and the heads divide the width of the input.
    - C2: cosines, and sines of their type, are at most half as wide as a head.

    ```mlir
    %r = transformer.rotate %q, %c, %s {heads = 2 : i64} : tensor<?x32xf32>, tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_Rows:$cosine, Transformer_Rows:$sine,
                       I64Attr:$heads);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $cosine `,` $sine attr-dict `:` type($input) `,` type($cosine)
  }];
  let hasVerifier = 1;
}

def Transformer_GroupedLinearOp : Transformer_Op<"grouped_linear",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a linear map for each group of columns";
  let description = [{
    With input width `groups * k` and result width `groups * n`:
    `result[t, g * n + i] = sum over j < k of input[t, g * k + j] * weight[g * n + i, j]`, plus
    `bias[g * n + i]`.

    Constraints:
    - C1: there is at least one group, and the groups divide the widths of input and result.
    - C2: the weight is a parameter of shape [result width, input width / groups].
    - C3: the bias, if any, is a parameter of shape [result width].

    ```mlir
    %y = transformer.grouped_linear %x, @inner.weight, @inner.bias {groups = 8 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, FlatSymbolRefAttr:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$bias, I64Attr:$groups);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
