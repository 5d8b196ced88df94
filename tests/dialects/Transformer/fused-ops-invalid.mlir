// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects heads to divide the widths, got 5 and 384}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 5 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_without_heads(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects heads to divide the widths, got 0 and 384}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 0 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_c2(%x: tensor<?x384xf32>, %k: tensor<?x192xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects queries and keys of one width, got 384 and 192}}
  %0 = transformer.attention %x, %k, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x192xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_of_other_width(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x192xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a result of width 384, that of the values, got 192}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x192xf32>
  return %0 : tensor<?x192xf32>
}

// -----

func.func @attention_c3(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a scale that is finite and not zero, got 0.000000e+00 : f32}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 0.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @columns_c1(%x: tensor<?x1152xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.columns' op expects columns within the input's 1152, got 384 from 769}}
  %0 = transformer.columns %x from 769 : tensor<?x1152xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @columns_from_before(%x: tensor<?x1152xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.columns' op expects columns within the input's 1152, got 384 from -1}}
  %0 = transformer.columns %x from -1 : tensor<?x1152xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_c1(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects a table for each of the 2 ids and position offsets, at least one, got 1}}
  %0 = transformer.embed [@t] ids(%ids, %ids) : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @embed_nothing() -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects a table for each of the 0 ids and position offsets, at least one, got 0}}
  %0 = transformer.embed [] : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x380xf32> from "t" // expected-note {{the parameter is defined here}}
func.func @embed_c2(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects table '@t' of rank 2 and width 384, got shape 100x380}}
  %0 = transformer.embed [@t] ids(%ids) : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
transformer.parameter @w : tensor<380xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @embed_c3(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects norm weight '@w' of shape 384, got 380}}
  %0 = transformer.embed [@t] ids(%ids) {norm_weight = @w, norm_bias = @w, epsilon = 1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_with_half_a_norm(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects both a norm weight and a norm bias or neither, got a weight alone}}
  %0 = transformer.embed [@t] ids(%ids) {norm_weight = @t, epsilon = 1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_c4(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects epsilon exactly with a norm, got epsilon alone}}
  %0 = transformer.embed [@t] ids(%ids) {epsilon = 1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_with_infinite_epsilon(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects a finite epsilon of 0 or more, got 0x7F800000 : f32}}
  %0 = transformer.embed [@t] ids(%ids) {norm_weight = @t, norm_bias = @t, epsilon = 0x7F800000 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_c5() -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects segments exactly with position offsets, got offsets alone}}
  %0 = transformer.embed [@t] {position_offsets = array<i64: 0>} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @t : tensor<100x384xf32> from "t"
func.func @embed_with_segments(%ids: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects segments exactly with position offsets, got segments alone}}
  %0 = transformer.embed [@t] ids(%ids) positions(%rows) : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @distances : tensor<3x257xf32> from "distances" // expected-note {{the parameter is defined here}}
func.func @attention_c4(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects table '@distances' of 12 heads and an odd number of distances, got shape 3x257}}
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// -----

transformer.parameter @distances : tensor<12x2097155xf32> from "distances" // expected-note {{the parameter is defined here}}
func.func @attention_far(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects table '@distances' of distances up to 2^20, got 1048577}}
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// -----

transformer.parameter @word : tensor<100x384xf32> from "word"
func.func @embed_c6(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects no scales or one for each of the 1 ids, got 2}}
  %x = transformer.embed [@word] ids(%ids) {scales = array<f32: 2.0, 2.0>} : tensor<?x384xf32>
  return %x : tensor<?x384xf32>
}

// -----

transformer.parameter @word : tensor<100x384xf32> from "word"
func.func @embed_zero_scale(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects scales that are finite and not zero, got 0.000000e+00}}
  %x = transformer.embed [@word] ids(%ids) {scales = array<f32: 0.0>} : tensor<?x384xf32>
  return %x : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<96x16xf32> from "w"
func.func @grouped_linear_c1(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{'transformer.grouped_linear' op expects groups to divide the widths, got 3 and 64}}
  %0 = transformer.grouped_linear %x, @w {groups = 3 : i64} : tensor<?x64xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

transformer.parameter @w : tensor<98x16xf32> from "w"
func.func @grouped_linear_of_other_width(%x: tensor<?x64xf32>) -> tensor<?x98xf32> {
  // expected-error@+1 {{'transformer.grouped_linear' op expects groups to divide the widths, got 4 and 98}}
  %0 = transformer.grouped_linear %x, @w {groups = 4 : i64} : tensor<?x64xf32> -> tensor<?x98xf32>
  return %0 : tensor<?x98xf32>
}

// -----

transformer.parameter @w : tensor<96x16xf32> from "w"
func.func @grouped_linear_without_groups(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{'transformer.grouped_linear' op expects groups to divide the widths, got 0 and 64}}
  %0 = transformer.grouped_linear %x, @w {groups = 0 : i64} : tensor<?x64xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

transformer.parameter @w : tensor<96x64xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @grouped_linear_c2(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{'transformer.grouped_linear' op expects weight '@w' of shape 96x16, got 96x64}}
  %0 = transformer.grouped_linear %x, @w {groups = 4 : i64} : tensor<?x64xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

transformer.parameter @w : tensor<96x16xf32> from "w"
transformer.parameter @b : tensor<24xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @grouped_linear_c3(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{'transformer.grouped_linear' op expects bias '@b' of shape 96, got 24}}
  %0 = transformer.grouped_linear %x, @w, @b {groups = 4 : i64} : tensor<?x64xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

func.func @attention_c5(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects 'hidden' only with visibility causal, got all}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, hidden = #transformer.hidden<score -1.0e4 : f32>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

// expected-error@+1 {{expects an f32 of at most 2^127 in size for hidden keys, got 0xFF800000 : f32}}
func.func private @infinite_hidden() attributes {a = #transformer.hidden<score 0xFF800000 : f32>}

// -----

// Times log2(e), it is infinite.
// expected-error@+1 {{expects an f32 of at most 2^127 in size for hidden keys, got -3.000000e+38 : f32}}
func.func private @hidden_too_large() attributes {a = #transformer.hidden<added -3.0e+38 : f32>}

// -----

// expected-error@+1 {{expects an f32 of at most 2^127 in size for hidden keys, got -1.000000e+04 : f64}}
func.func private @hidden_of_f64() attributes {a = #transformer.hidden<score -1.0e4 : f64>}

// -----

func.func @attention_with_uneven_key_share(%q: tensor<?x384xf32>, %k: tensor<?x96xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a key share that divides the 6 heads, got 4}}
  %0 = transformer.attention %q, %k, %q in(%rows, %rows) {heads = 6 : i64, key_share = 4 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x96xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_without_value_share(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a value share that divides the 6 heads, got 0}}
  %0 = transformer.attention %q, %q, %q in(%rows, %rows) {heads = 6 : i64, scale = 1.0 : f32, value_share = 0 : i64, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_with_unshared_keys(%q: tensor<?x384xf32>, %k: tensor<?x192xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects keys of width 128 for queries of 384 and a key share of 3, got 192}}
  %0 = transformer.attention %q, %k, %q in(%rows, %rows) {heads = 6 : i64, key_share = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x192xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_with_narrow_values(%q: tensor<?x384xf32>, %v: tensor<?x64xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a result of width 64 * 3, that of the values times their share, got 384}}
  %0 = transformer.attention %q, %q, %v in(%rows, %rows) {heads = 6 : i64, scale = 1.0 : f32, value_share = 3 : i64, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x64xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @place : tensor<100x384xf32> from "place"
func.func @embed_c7(%rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.embed' op expects position offsets of 0 or more, got -1}}
  %x = transformer.embed [@place] positions(%rows) {position_offsets = array<i64: -1>} : tensor<?x384xf32>
  return %x : tensor<?x384xf32>
}

// -----

transformer.parameter @place : tensor<100x384xf32> from "place"
func.func @embed_c8(%rows: !transformer.segments) -> tensor<?x384xf32> {
  %p = transformer.positions %rows {offset = 0 : i64}
  // expected-error@+1 {{'transformer.embed' op expects positions as 'positions', got them as ids #0}}
  %x = transformer.embed [@place] ids(%p) : tensor<?x384xf32>
  return %x : tensor<?x384xf32>
}

// -----

func.func @attention_c6(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a bias for a score that takes it, got none}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<add(s0, bias)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @one : tensor<12x1xf32> from "one"
func.func @attention_c6_of_one_distance(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects a bias of several distances for a score that takes it, got @one of one}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {bias = @one, heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<add(s0, bias)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @score_c1(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{expects 1 to 16 steps of a score, got 17}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<relu(s0), relu(s1), relu(s2), relu(s3), relu(s4), relu(s5), relu(s6), relu(s7), relu(s8), relu(s9), relu(s10), relu(s11), relu(s12), relu(s13), relu(s14), relu(s15), relu(s16)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @score_c2(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{expects step 2 of a score to take s0 to s1, got s2}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<tanh(s0), add(s0, s2)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @score_c2_beyond_f32(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{expects finite constants of a score, got INF in step 1}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<multiply(s0, 1.0e+300)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @score_of_no_step(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{expected 'add', 'multiply' or an activation, got 'softmax'}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<softmax(s0)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @score_of_no_number(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{expected a number of the score, such as 's0', 'bias' or a constant}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<tanh(x)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @attention_c7(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects both 'pairs' and 'pair_weights' or neither, got 'pairs' alone}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
func.func @attention_of_pairs_with_a_bias(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects maths of pairs without a bias, got #transformer.score<add(s0, bias)>}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, pair_weights = @v, pairs = #transformer.score<add(s0, bias)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x31xf32> from "v" // expected-note {{the parameter is defined here}}
func.func @attention_of_narrow_pair_weights(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects pair weights '@v' of shape 12x32, got 12x31}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @attention_c8(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects 'location_taps' with a number for each of 1 tensors of locations, got 0}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @attention_with_an_even_number_of_taps(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects odd numbers of taps, at most 64 heads and 1048576 numbers near a key, got taps 4 of 'tensor<?x1x?xf32>'}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_taps = array<i64: 4>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x195xf32> from "w"
func.func @attention_with_locations_of_65_heads(%x: tensor<?x384xf32>, %s: tensor<?x65x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects odd numbers of taps, at most 64 heads and 1048576 numbers near a key, got taps 3 of 'tensor<?x65x?xf32>'}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x65x?xf32>) {heads = 12 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @attention_with_locations_without_pairs(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects 'locations' only with 'pairs'}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_taps = array<i64: 3>, location_weights = @w, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
func.func @attention_with_locations_without_weights(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects 'location_weights' exactly where there are locations, and 'location_filters' only there}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_taps = array<i64: 3>, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @attention_of_filters_alone(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects 'location_weights' exactly where there are locations, and 'location_filters' only there}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, location_filters = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @attention_of_narrow_location_weights(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects location weights '@w' of shape 32x5, got 32x3}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_taps = array<i64: 5>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w"
transformer.parameter @f : tensor<3x4xf32> from "f" // expected-note {{the parameter is defined here}}
func.func @attention_of_narrow_location_filters(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects location filters '@f' of shape 3x5, got 3x4}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_filters = @f, location_taps = array<i64: 5>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @v : tensor<12x32xf32> from "v"
transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @attention_of_no_location_filters(%x: tensor<?x384xf32>, %s: tensor<?x1x?xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.attention' op expects location filters '@f' to be a parameter, got no such symbol}}
  %0 = transformer.attention %x, %x, %x in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 12 : i64, location_filters = @f, location_taps = array<i64: 5>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}
