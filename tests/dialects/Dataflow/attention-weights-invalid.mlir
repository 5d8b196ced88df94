// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// The kernels of the halves of attention.

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[tokens, 60], f32>'}}
dataflow.kernel @weights_of_other_keys : (!rows, !dataflow.buffer<[tokens, 60], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 2, longest] and element type 'f32', got '!dataflow.buffer<[tokens, 2, 9], f32>'}}
dataflow.kernel @weights_of_constant_keys : (!rows, !rows) -> !dataflow.buffer<[tokens, 2, 9], f32>
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 to be a cache of 64 elements and layout 'keys', got '!dataflow.cache<[64], f32, rows>'}}
dataflow.kernel @weights_of_values : (!rows, !dataflow.cache<[64], f32, rows>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a bias distance of 0 to 2^20, got 1048577}}
dataflow.kernel @weights_far : (!rows, !rows, !dataflow.buffer<[2, 33], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 1048577> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #2 of shape [2, 33] and element type 'f32', got '!dataflow.buffer<[2, 31], f32>'}}
dataflow.kernel @weights_bias : (!rows, !rows, !dataflow.buffer<[2, 31], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 2 operands (2 inputs, 0 element-wise, 0 of the norm), got 3}}
dataflow.kernel @weights_operands : (!rows, !rows, !dataflow.buffer<[2, 33], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that takes the score for #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>>, got 2 arguments}}
dataflow.kernel @kernel_c6_of_scores_without_bias : (!rows, !rows) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32, %bias: f32):
  %0 = arith.addf %x, %bias : f32
  dataflow.yield %0
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that takes the score and the bias for #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.000000e+00 : f32, visibility = <all>, biasDistance = 16>, got 3 arguments}}
dataflow.kernel @kernel_c6_of_scores : (!rows, !rows, !rows, !dataflow.buffer<[2, 33], f32>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 16> {
^bb0(%x: f32, %bias: f32, %more: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.attention_weights<heads = 0, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>>'}}
dataflow.kernel @weights_without_heads : (!rows, !rows) -> !scores
    computes #dataflow.attention_weights<heads = 0, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #2 to be dense, got '!dataflow.buffer<[2, 33] in 40, f32>'}}
dataflow.kernel @weights_in_wider_bias : (!rows, !rows, !dataflow.buffer<[2, 33] in 40, f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens, 2, longest] and element type 'f32', got '!dataflow.buffer<[tokens, 4, longest], f32>'}}
dataflow.kernel @attend_of_other_weights : (!dataflow.buffer<[tokens, 4, longest], f32>, !rows) -> !rows
    computes #dataflow.attend<heads = 2, valueSize = 32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 to be a cache of 64 elements and layout 'rows', got '!dataflow.cache<[64], f32, keys>'}}
dataflow.kernel @attend_to_keys : (!scores, !dataflow.cache<[64], f32, keys>) -> !rows
    computes #dataflow.attend<heads = 2, valueSize = 32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.attend<heads = 0, valueSize = 32, visibility = <all>>'}}
dataflow.kernel @attend_without_heads : (!scores, !rows) -> !rows
    computes #dataflow.attend<heads = 0, valueSize = 32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that yields its argument for #dataflow.attend<heads = 2, valueSize = 32, visibility = <all>>, got another}}
dataflow.kernel @attend_epilogue : (!scores, !rows) -> !rows
    computes #dataflow.attend<heads = 2, valueSize = 32, visibility = <all>> {
^bb0(%x: f32):
  %0 = arith.negf %x : f32
  dataflow.yield %0
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
!values = !dataflow.cache<[64], f32, rows>
dataflow.kernel @attend : (!scores, !values) -> !rows computes #dataflow.attend<heads = 2, valueSize = 32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @weights : (!rows, !rows) -> !scores computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_causal_attend(%v: !values {dataflow.name = "v"}, %x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y"}) {
  %p = dataflow.dispatch @weights(%x, %x) : (!rows, !rows) -> !scores
  // expected-error@+1 {{'dataflow.dispatch' op expects a cache that is appended to in the graph where keys are hidden by their positions, got one that is only read}}
  %y = dataflow.dispatch @attend(%p, %v) : (!scores, !values) -> !rows
  dataflow.output %y : !rows
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 'hidden' only where keys are causal, got '#dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.000000e+00 : f32, visibility = <all>, hidden = <added -1.000000e+04 : f32>>'}}
dataflow.kernel @kernel_c12 : (!rows, !rows, !rows) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, hidden = <added -1.0e4 : f32>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 'hidden' only where keys are causal, got}}
dataflow.kernel @weights_hidden_unmasked : (!rows, !rows) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, hidden = <score -1.0e4 : f32>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region of pairs for #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true>, got none}}
dataflow.kernel @kernel_c14 : (!rows, !rows, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no region of pairs for #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>>, got one}}
dataflow.kernel @pairs_of_products : (!rows, !rows) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region of pairs of one block that takes an element of a query and one of a key, got 1 blocks and 1 arguments}}
dataflow.kernel @pairs_of_one : (!rows, !rows, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #2 of shape [2, 32] and element type 'f32', got '!dataflow.buffer<[1, 32], f32>'}}
dataflow.kernel @pair_weights : (!rows, !rows, !dataflow.buffer<[1, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// The weights of pairs are no bias.
// expected-error@+1 {{'dataflow.kernel' op expects a region that takes the score for #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true>, got 2 arguments}}
dataflow.kernel @bias_of_pairs : (!rows, !rows, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%x: f32, %b: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects raw scores of all keys, got '#dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <causal>, raw = true>'}}
dataflow.kernel @kernel_c15 : (!rows, !rows) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <causal>, raw = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects heads and an odd number of taps for each input of locations, at most 64 heads and 1048576 numbers near a key, with pairs, and filters only with them, got '#dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [4]>'}}
dataflow.kernel @kernel_c16 : (!rows, !rows, !scores, !dataflow.buffer<[32, 8], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [4]> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects heads and an odd number of taps for each input of locations, at most 64 heads and 1048576 numbers near a key, with pairs, and filters only with them, got '#dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true, locationHeads = [2, 2], locationTaps = [3]>'}}
dataflow.kernel @locations_of_other_counts : (!rows, !rows, !scores, !dataflow.buffer<[32, 8], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2, 2], locationTaps = [3]> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects heads and an odd number of taps for each input of locations, at most 64 heads and 1048576 numbers near a key, with pairs, and filters only with them, got '#dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true, locationHeads = [0], locationTaps = [3]>'}}
dataflow.kernel @locations_of_no_heads : (!rows, !rows, !scores, !dataflow.buffer<[32, 8], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [0], locationTaps = [3]> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects heads and an odd number of taps for each input of locations, at most 64 heads and 1048576 numbers near a key, with pairs, and filters only with them, got '#dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true, locationFilters = 3>'}}
dataflow.kernel @filters_without_locations : (!rows, !rows, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationFilters = 3> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #2 of shape [tokens, 1, longest] and element type 'f32', got '!dataflow.buffer<[tokens, 2, longest], f32>'}}
dataflow.kernel @locations_of_other_heads : (!rows, !rows, !scores, !dataflow.buffer<[32, 3], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [1], locationTaps = [3]> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #3 of shape [32, 6] and element type 'f32', got '!dataflow.buffer<[32, 5], f32>'}}
dataflow.kernel @location_weights : (!rows, !rows, !scores, !dataflow.buffer<[32, 5], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [3]> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #3 of shape [4, 6] and element type 'f32', got '!dataflow.buffer<[4, 5], f32>'}}
dataflow.kernel @location_filters : (!rows, !rows, !scores, !dataflow.buffer<[4, 5], f32>, !dataflow.buffer<[32, 4], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [3], locationFilters = 4> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}
