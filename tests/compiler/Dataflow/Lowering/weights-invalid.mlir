// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics

func.func @transposed(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %p = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  %t = transformer.transpose %p [2, 1, 0] : tensor<?x2x?xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attend' op has weights '!dataflow.buffer<[longest, 2, tokens], f32>', expected '!dataflow.buffer<[tokens, 2, longest], f32>'}}
  %y = transformer.attend %t, %x in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @pooled(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x4xf32>
  // expected-error@+1 {{'transformer.attention_weights' op attends to rows of sequences, expected rows of tokens}}
  %y = transformer.attention_weights %x, %p in(%rows, %rows) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @keys_as_values(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %p = transformer.attention_weights %x, %k in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attend' op reads cache "c" as rows, but another attention as keys}}
  %y = transformer.attend %p, %k in(%rows, %m) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @weights_of_other_keys(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %v = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %p = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attend' op combines values of different keys}}
  %y = transformer.attend %p, %v in(%rows, %m) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @values_that_are_rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %p = transformer.attention_weights %x, %k in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attend' op has keys or values that are rows, expected those of a cache}}
  %y = transformer.attend %p, %x in(%rows, %m) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @queries_of_a_cache(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention_weights' op reads a cache as rows, expected only attention and its mathematics to read one}}
  %y = transformer.attention_weights %k, %k in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @causal_memory(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  %p = transformer.attention_weights %x, %k in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attend' op is causal over a memory, expected keys of the entry's rows or of their history}}
  %y = transformer.attend %p, %v in(%rows, %m) {visibility = #transformer.visibility<causal>} : tensor<?x2x?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @other_rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.attention_weights' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.attention_weights %x, %x in(%m, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

transformer.parameter @number : tensor<2x1xf32> from "number"
func.func @one_column(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.attention_weights' op has scores in place of those of hidden keys and a bias of one column, expected one of several distances}}
  %y = transformer.attention_weights %x, %x in(%rows, %rows) {bias = @number, heads = 2 : i64, hidden = #transformer.hidden<score -1.0e4 : f32>, scale = 1.0 : f32, visibility = #transformer.visibility<causal>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

transformer.parameter @number : tensor<2x1xf32> from "number"
func.func @one_column_of_attention(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.attention' op has scores in place of those of hidden keys and a bias of one column, expected one of several distances}}
  %y = transformer.attention %x, %x, %x in(%rows, %rows) {bias = @number, heads = 2 : i64, hidden = #transformer.hidden<score -1.0e4 : f32>, scale = 1.0 : f32, visibility = #transformer.visibility<causal>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @v : tensor<2x4xf32> from "v"
transformer.parameter @w : tensor<4x6xf32> from "w"
func.func @looks_at_turned_numbers(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %p = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  %t = transformer.transpose %p [2, 1, 0] : tensor<?x2x?xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.attention_weights' op has locations '!dataflow.buffer<[longest, 2, tokens], f32>', expected '!dataflow.buffer<[tokens, 2, longest], f32>'}}
  %y = transformer.attention_weights %x, %x in(%rows, %rows) locations(%t : tensor<?x2x?xf32>) {heads = 2 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}
