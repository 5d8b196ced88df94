// SPDX-License-Identifier: Apache-2.0
/// Attention, whole and in its two halves.
#ifndef HEDDLE_DATAFLOW_FAMILIES_ATTENTION
#define HEDDLE_DATAFLOW_FAMILIES_ATTENTION

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

// Shared by attention and attention_weights.
defvar locationDeclaration = [{
  /// Heads and taps of each input of locations.
  ::mlir::ArrayRef<int64_t> getHeadsOfLocations() const {
    return getLocationHeads() ? getLocationHeads().asArrayRef() : ::mlir::ArrayRef<int64_t>();
  }
  ::mlir::ArrayRef<int64_t> getTapsOfLocations() const {
    return getLocationTaps() ? getLocationTaps().asArrayRef() : ::mlir::ArrayRef<int64_t>();
  }
  /// Them, the filters if there are some, and the weights of the lines.
  int64_t getNumLocationInputs() const {
    return getHeadsOfLocations().empty() ? 0 : getHeadsOfLocations().size() + (getLocationFilters() > 0 ? 2 : 1);
  }
  /// The first of these. The weights of pairs follow, the last input.
  int64_t getFirstLocation() const {
    return getNumInputs() - (getPairs() ? 1 : 0) - getNumLocationInputs();
  }
}];

def Dataflow_AttendAttr : Dataflow_Family<"Attend", "attend"> {
  let summary = "P V for every head, of weights P [rows, heads, longest] and values V";
  let description = [{
    The sum over the keys that a row sees of weights times values. Values are rows of the same
    sequences as the weights, or a cache of layout `rows`. Weights of keys that the row does not see
    are not read: it sees those that `visibility` says. `valueShare` neighbouring heads of weights
    have one head of values.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$valueSize,
                        "::heddle::transformer::VisibilityAttr":$visibility,
                        DefaultValuedParameter<"int64_t", "1">:$valueShare);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_AttentionAttr : Dataflow_Family<"Attention", "attention"> {
  let summary = "softmax(scale * Q K^T + bias) V of inputs Q, K, V, over the keys of the row";
  let description = [{
    Keys and values are rows of the same sequences as the queries, or both caches: K of layout
    `keys`, V of layout `rows`. A query sees the keys that `visibility` says of its position; others
    are neither read nor computed. Keys that are rows may be of another row space than the queries,
    such as blocks of them, where no mask and no bias compares their positions.

    With a `biasDistance` D above 0, inputs[3] is a table [heads, 2 D + 1], and the score of key k
    for row t has bias[h, min(max(position(k) - position(t), -D), D) + D] added after scaling.

    The region maps scores: its argument is the scaled product, and what it yields has the bias
    added. With a second argument it takes the bias itself.

    With `pairs` the kernel has a second region, f, and the last input is a table W [heads, keySize]:
    in place of the product Q K^T stands the sum over the columns d of a head of W[h, d] f(q, k) of
    the elements d of query and key. Nothing of [rows, keys, keySize] is in memory.

    With `locationHeads` and `locationTaps`, pairs have locations, numbers of keys: before W there are so many inputs
    [rows, locationHeads[i], longest] and a matrix A [keySize, lines]. To element d of key k is added, for
    row t, the sum over the lines c of A[d, c] L[t, c, k]. Line by line, L are the numbers of key
    k + n - (locationTaps[i] - 1) / 2 for each input i, head and n below locationTaps[i], zero outside the keys
    of the row's own sequence. With `locationFilters` F above 0 there are F lines in place of all these,
    each a sum of them by a row of a further matrix, which comes before A.

    With `hidden` a causal query sees the keys after it too, with the scores of
    `#transformer.hidden`.

    `keyShare` neighbouring heads of queries have one head of keys, `valueShare` one of values.

    With `arithmetic = bf16`, queries, keys and values are rounded to bf16, ties to even, where they are
    multiplied, and so is the weight of a key, a power of two times e^score: the same power for all
    keys of a row, so that processors round alike whatever it is. GPUs take the largest score so far in
    its place. Products are added up in f32, in an order that follows from the kernel, the target and
    the positions of the keys; scale, maths of scores, biases, the softmax and the sum of the weights,
    which are not rounded for it, are f32. What is below the least normal number of f32 may count as
    zero, and a value that is infinite or no number may make no number of rows that do not see its key.
    Keys and values are rows, heads have at most 128 elements, and there are no `pairs`.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$keySize, "int64_t":$valueSize,
                        "::mlir::FloatAttr":$scale,
                        "::heddle::transformer::VisibilityAttr":$visibility,
                        DefaultValuedParameter<"int64_t", "0">:$biasDistance,
                        OptionalParameter<"::heddle::transformer::HiddenAttr">:$hidden,
                        DefaultValuedParameter<"int64_t", "1">:$keyShare,
                        DefaultValuedParameter<"int64_t", "1">:$valueShare,
                        DefaultValuedParameter<"bool", "false">:$pairs,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$locationHeads,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$locationTaps,
                        DefaultValuedParameter<"int64_t", "0">:$locationFilters,
                        DefaultValuedParameter<"Arithmetic", "Arithmetic::F32">:$arithmetic);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = locationDeclaration # [{
  /// The same with products of another arithmetic.
  AttentionAttr withArithmetic(Arithmetic arithmetic) const;
}];
}

def Dataflow_AttentionWeightsAttr : Dataflow_Family<"AttentionWeights", "attention_weights"> {
  let summary = "softmax(scale * Q K^T + bias) of inputs Q and K: [rows, heads, longest]";
  let description = [{
    Keys, their share, visibility, bias, regions, `hidden` and locations are as for `attention`; the
    table of biases is inputs[2]. Keys that a row does not see have weight zero; entries beyond the keys of its sequence are not
    written. With `raw` the result is the scores, of which none is hidden.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$keySize, "::mlir::FloatAttr":$scale,
                        "::heddle::transformer::VisibilityAttr":$visibility,
                        DefaultValuedParameter<"int64_t", "0">:$biasDistance,
                        OptionalParameter<"::heddle::transformer::HiddenAttr">:$hidden,
                        DefaultValuedParameter<"int64_t", "1">:$keyShare,
                        DefaultValuedParameter<"bool", "false">:$pairs,
                        DefaultValuedParameter<"bool", "false">:$raw,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$locationHeads,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$locationTaps,
                        DefaultValuedParameter<"int64_t", "0">:$locationFilters);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = locationDeclaration;
}

#endif
