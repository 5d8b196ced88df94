// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

func.func @attention_weights_c1(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x5x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects heads to divide the widths, got 5 and 384}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 5 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x5x?xf32>
  return %0 : tensor<?x5x?xf32>
}

// -----

func.func @attention_weights_c2(%x: tensor<?x384xf32>, %k: tensor<?x192xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects queries and keys of one width, got 384 and 192}}
  %0 = transformer.attention_weights %x, %k in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x192xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @attention_weights_c3(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects a scale that is finite and not zero, got 0x7F800000 : f32}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 0x7F800000 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @distances : tensor<3x257xf32> from "distances" // expected-note {{the parameter is defined here}}
func.func @attention_weights_c4(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects table '@distances' of 12 heads and an odd number of distances, got shape 3x257}}
  %p = transformer.attention_weights %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %p : tensor<?x12x?xf32>
}

// -----

func.func @attention_weights_c5(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x6x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects a result of 12 heads, got 6}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x6x?xf32>
  return %0 : tensor<?x6x?xf32>
}

// -----

func.func @attention_weights_c7(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects a bias for a score that takes it, got none}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<tanh(s0), multiply(s1, bias)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @attention_weights_of_constant_keys(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x8xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op result #0 must be numbers of queries, heads and keys, tensor<?xHx?xf32>, but got 'tensor<?x12x8xf32>'}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x8xf32>
  return %0 : tensor<?x12x8xf32>
}

// -----

func.func @attend_c1(%p: tensor<?x5x?xf32>, %v: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attend' op expects weights of heads that divide the width of the result, got 5 and 384}}
  %0 = transformer.attend %p, %v in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x5x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attend_c2(%p: tensor<?x12x?xf32>, %v: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x192xf32> {
  // expected-error@+1 {{'transformer.attend' op expects a result of width 384, that of the values, got 192}}
  %0 = transformer.attend %p, %v in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x192xf32>
  return %0 : tensor<?x192xf32>
}

// -----

func.func @attention_weights_c6(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects 'hidden' only with visibility causal, got all}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, hidden = #transformer.hidden<added -1.0e4 : f32>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @attention_weights_with_negative_share(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x6x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects a key share that divides the 6 heads, got -1}}
  %0 = transformer.attention_weights %q, %q in(%rows, %rows) {heads = 6 : i64, key_share = -1 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x6x?xf32>
  return %0 : tensor<?x6x?xf32>
}

// -----

func.func @attention_weights_with_unshared_keys(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x6x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects keys of width 192 for queries of 384 and a key share of 2, got 384}}
  %0 = transformer.attention_weights %q, %q in(%rows, %rows) {heads = 6 : i64, key_share = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x6x?xf32>
  return %0 : tensor<?x6x?xf32>
}

// -----

func.func @attend_narrow_result(%p: tensor<?x6x?xf32>, %v: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attend' op expects a result of width 384 * 2, that of the values times their share, got 384}}
  %0 = transformer.attend %p, %v in(%rows, %rows) {value_share = 2 : i64, visibility = #transformer.visibility<all>} : tensor<?x6x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attend_with_uneven_share(%p: tensor<?x6x?xf32>, %v: tensor<?x96xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attend' op expects a value share that divides the 6 heads, got 4}}
  %0 = transformer.attend %p, %v in(%rows, %rows) {value_share = 4 : i64, visibility = #transformer.visibility<all>} : tensor<?x6x?xf32>, tensor<?x96xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
func.func @attention_weights_c8(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects both 'pairs' and 'pair_weights' or neither, got 'pair_weights' alone}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, pair_weights = @v, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @v : tensor<384xf32> from "v" // expected-note {{the parameter is defined here}}
func.func @attention_weights_of_pairs_of_all_heads(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects pair weights '@v' of shape 12x32, got 384}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @attention_weights_c9(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects raw scores of all keys, got those that a row sees of 'causal'}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, raw, scale = 1.0 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @distances : tensor<12x9xf32> from "distances"
func.func @raw_scores_with_a_bias(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects raw scores without a bias, got @distances}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) {bias = @distances, heads = 12 : i64, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @v : tensor<1x20xf32> from "v"
transformer.parameter @w : tensor<20x3xf32> from "w"
func.func @attention_weights_c10(%x: tensor<?x20xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x1x?xf32> {
  // expected-error@+1 {{'transformer.attention_weights' op expects odd numbers of taps, at most 64 heads and 1048576 numbers near a key, got taps -1 of 'tensor<?x1x?xf32>'}}
  %0 = transformer.attention_weights %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: -1>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  return %0 : tensor<?x1x?xf32>
}
