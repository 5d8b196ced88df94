// SPDX-License-Identifier: Apache-2.0
// Convolutions over rows at both levels: what they look like, how one becomes the other, and what
// is wrong with some.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -dataflow-fold-epilogues -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

transformer.parameter @depthwise.weight : tensor<384x3xf32> from "depthwise.weight"
transformer.parameter @depthwise.bias : tensor<384xf32> from "depthwise.bias"

// The weight is read transposed, once; the bias and what follows are the epilogue.
// OP-LABEL: func.func @encode
// OP: transformer.convolve %{{.*}}, @depthwise.weight in(%[[ROWS:.*]], %[[ROWS]]) {dilation = 2 : i64} : tensor<?x384xf32>
// OP: transformer.convolve %{{.*}}, @depthwise.weight, @depthwise.bias in(%[[ROWS]], %[[ROWS]]) {causal} : tensor<?x384xf32>
// CHECK: transformer.parameter @depthwise.weight.transposed : tensor<3x384xf32> = transpose(@depthwise.weight)
// CHECK-NOT: = transpose(@depthwise.weight)
// CHECK-DAG: dataflow.kernel @[[CENTRED:[a-z0-9_]*]] : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[3, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32> computes #dataflow.convolve<width = 384, kernel = 3, dilation = 2, causal = false>
// CHECK-DAG: dataflow.kernel @[[CAUSAL:[a-z0-9_]*]] : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[3, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32> computes #dataflow.convolve<width = 384, kernel = 3, dilation = 1, causal = true>
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: dataflow.graph @encode(%[[X:[a-z0-9]*]]:
// CHECK: %[[W:.*]] = dataflow.parameter @depthwise.weight.transposed
// CHECK: %[[Y:.*]] = dataflow.dispatch @[[CENTRED]](%[[X]], %[[W]])
// CHECK: dataflow.dispatch @[[CAUSAL]](%[[Y]], %[[W]], %{{.*}})
func.func @encode(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "z"}) {
  %y = transformer.convolve %x, @depthwise.weight in(%rows, %rows) {dilation = 2 : i64} : tensor<?x384xf32>
  %z = transformer.convolve %y, @depthwise.weight, @depthwise.bias in(%rows, %rows) {causal} : tensor<?x384xf32>
  %a = transformer.activate relu %z : tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// -----

transformer.parameter @left.weight : tensor<384x3xf32> from "left.weight"
transformer.parameter @left.bias : tensor<384xf32> from "left.bias"

// Rows of a decoder are those of a cache.
// CHECK: dataflow.kernel @[[CACHED:convolve.*]] : (!dataflow.cache<[384], f32, rows>, !dataflow.buffer<[3, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
// CHECK: dataflow.graph @decode
// CHECK: %[[CACHE:.*]] = dataflow.dispatch @append
// CHECK: dataflow.dispatch @[[CACHED]](%[[CACHE]], %{{.*}})
// OP-LABEL: func.func @decode
// OP: transformer.convolve %{{.*}}, @left.weight, @left.bias in(%{{.*}}, %{{.*}}) {causal} : tensor<?x384xf32>
func.func @decode(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !transformer.cache<384> {transformer.name = "c"}) -> (tensor<?x384xf32> {transformer.name = "y"}, !transformer.cache<384> {transformer.name = "c"}) {
  %seen = transformer.history %rows
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<384>
  %k = transformer.cached %c1 in(%seen) : !transformer.cache<384> -> tensor<?x384xf32>
  %z = transformer.convolve %k, @left.weight, @left.bias in(%rows, %seen) {causal} : tensor<?x384xf32>
  return %z, %c1 : tensor<?x384xf32>, !transformer.cache<384>
}

// -----

transformer.parameter @w : tensor<39x3xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @convolve_c1(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' of shape 40x3, got 39x3}}
  %y = transformer.convolve %x, @w in(%rows, %rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x257xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @convolve_long_kernel(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' of shape 40x256, got 40x257}}
  %y = transformer.convolve %x, @w in(%rows, %rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

func.func @convolve_no_weight(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' to be a parameter, got no such symbol}}
  %y = transformer.convolve %x, @w in(%rows, %rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
transformer.parameter @b : tensor<3xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @convolve_c2(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects bias '@b' of shape 40, got 3}}
  %y = transformer.convolve %x, @w, @b in(%rows, %rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_c3(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a dilation of 1 to 2^20, got 0}}
  %y = transformer.convolve %x, @w in(%rows, %rows) {dilation = 0 : i64} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_far(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a kernel that reaches at most 2^20 rows, got one of 3 elements and a dilation of 524289}}
  %y = transformer.convolve %x, @w in(%rows, %rows) {dilation = 524289 : i64} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_c4(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  %seen = transformer.history %rows
  // expected-error@+1 {{'transformer.convolve' op expects one and the same segments for rows and keys, as it is not causal}}
  %y = transformer.convolve %x, @w in(%rows, %seen) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @pooled(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x40xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op convolves rows of sequences, expected rows of tokens}}
  %y = transformer.convolve %p, @w in(%rows, %rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @not_cached(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !transformer.cache<40> {transformer.name = "c"}) -> (tensor<?x40xf32> {transformer.name = "y"}, !transformer.cache<40> {transformer.name = "c"}) {
  %seen = transformer.history %rows
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<40>
  %k = transformer.cached %c1 in(%seen) : !transformer.cache<40> -> tensor<?x40xf32>
  %y = transformer.convolve %k, @w in(%rows, %seen) {causal} : tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op convolves rows with other keys, expected those of a cache}}
  %z = transformer.convolve %y, @w in(%rows, %seen) {causal} : tensor<?x40xf32>
  return %z, %c1 : tensor<?x40xf32>, !transformer.cache<40>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @of_a_memory(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %c: !transformer.cache<40> {transformer.name = "c"}) -> (tensor<?x40xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%memory) : !transformer.cache<40> -> tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op is causal over a memory, expected keys of the entry's rows or of their history}}
  %y = transformer.convolve %k, @w in(%rows, %memory) {causal} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.convolve<width = 40, kernel = 0, dilation = 1, causal = false>'}}
dataflow.kernel @no_kernel : (!rows, !dataflow.buffer<[3, 40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 0, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a kernel of 1 to 256 elements and a dilation of at most 2^20, got 257 and 1}}
dataflow.kernel @long_kernel : (!rows, !dataflow.buffer<[257, 40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 257, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [3, 40] and element type 'f32', got '!dataflow.buffer<[40, 3], f32>'}}
dataflow.kernel @not_transposed : (!rows, !dataflow.buffer<[40, 3], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a cache only as input of a causal convolution, got '!dataflow.cache<[40], f32, rows>'}}
dataflow.kernel @centred_cache : (!dataflow.cache<[40], f32, rows>, !dataflow.buffer<[3, 40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 to be a cache of 40 elements and layout 'rows', got '!dataflow.cache<[40], f32, keys>'}}
dataflow.kernel @keys : (!dataflow.cache<[40], f32, keys>, !dataflow.buffer<[3, 40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = true> {
^bb0(%x: f32):
  dataflow.yield %x
}
