// SPDX-License-Identifier: Apache-2.0
// Convolutions over rows at both levels: what they look like, how one becomes the other, and what
// is wrong with some.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -dataflow-fold-epilogues -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

transformer.parameter @depthwise.weight : tensor<384x3xf32> from "depthwise.weight"
transformer.parameter @depthwise.bias : tensor<384xf32> from "depthwise.bias"

// The weight is read transposed, once; the bias and what follows are the epilogue.
// OP-LABEL: func.func @encode
// OP: transformer.convolve %{{.*}}, @depthwise.weight in(%[[ROWS:.*]]) {dilation = 2 : i64} : tensor<?x384xf32>
// OP: transformer.convolve %{{.*}}, @depthwise.weight, @depthwise.bias in(%[[ROWS]]) {causal} : tensor<?x384xf32>
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
  %y = transformer.convolve %x, @depthwise.weight in(%rows) {dilation = 2 : i64} : tensor<?x384xf32>
  %z = transformer.convolve %y, @depthwise.weight, @depthwise.bias in(%rows) {causal} : tensor<?x384xf32>
  %a = transformer.activate relu %z : tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// -----

transformer.parameter @left.weight : tensor<384x3xf32> from "left.weight"
transformer.parameter @left.bias : tensor<384xf32> from "left.bias"

// A decoder has the rows before a run in a state, which is changed after it was read.
// CHECK: dataflow.kernel @[[RESUMED:convolve.*]] : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[3, 384], f32>, !dataflow.state<[768], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32> computes #dataflow.convolve<width = 384, kernel = 3, dilation = 1, causal = true, resumes = true>
// CHECK: dataflow.kernel @keep : (!dataflow.state<[768], f32>, !dataflow.buffer<[tokens, 384], f32>) -> !dataflow.state<[768], f32> computes #dataflow.keep
// CHECK: dataflow.graph @decode(%[[X:[a-z0-9]*]]: {{.*}}, %[[S:[a-z0-9]*]]: !dataflow.state<[768], f32>
// CHECK: %[[Z:.*]] = dataflow.dispatch @[[RESUMED]](%[[X]], %{{.*}}, %[[S]], %{{.*}})
// CHECK: %[[S1:.*]] = dataflow.dispatch @keep(%[[S]], %[[X]]) changes [0]
// CHECK: dataflow.output %[[Z]], %[[S1]]
// OP-LABEL: func.func @decode
// OP: transformer.convolve %{{.*}}, @left.weight, @left.bias in(%{{.*}}) after(%{{.*}} : !transformer.state<768>) {causal} : tensor<?x384xf32>
func.func @decode(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s0: !transformer.state<768> {transformer.name = "s"}) -> (tensor<?x384xf32> {transformer.name = "y"}, !transformer.state<768> {transformer.name = "s"}) {
  %s1 = transformer.keep %s0, %x in(%rows) : !transformer.state<768>, tensor<?x384xf32>
  %z = transformer.convolve %x, @left.weight, @left.bias in(%rows) after(%s0 : !transformer.state<768>) {causal} : tensor<?x384xf32>
  return %z, %s1 : tensor<?x384xf32>, !transformer.state<768>
}

// -----

transformer.parameter @w : tensor<39x3xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @convolve_c1(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' of shape 40x3, got 39x3}}
  %y = transformer.convolve %x, @w in(%rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x257xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @convolve_long_kernel(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' of shape 40x256, got 40x257}}
  %y = transformer.convolve %x, @w in(%rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

func.func @convolve_no_weight(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects weight '@w' to be a parameter, got no such symbol}}
  %y = transformer.convolve %x, @w in(%rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
transformer.parameter @b : tensor<3xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @convolve_c2(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects bias '@b' of shape 40, got 3}}
  %y = transformer.convolve %x, @w, @b in(%rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_c3(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a dilation of 1 to 2^20, got 0}}
  %y = transformer.convolve %x, @w in(%rows) {dilation = 0 : i64} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_far(%x: tensor<?x40xf32>, %rows: !transformer.segments) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a kernel that reaches at most 2^20 rows, got one of 3 elements and a dilation of 524289}}
  %y = transformer.convolve %x, @w in(%rows) {dilation = 524289 : i64} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_c4(%x: tensor<?x40xf32>, %rows: !transformer.segments, %s: !transformer.state<80>) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects no state, as it is not causal}}
  %y = transformer.convolve %x, @w in(%rows) after(%s : !transformer.state<80>) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_c5(%x: tensor<?x40xf32>, %rows: !transformer.segments, %s: !transformer.state<80>) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a state of 4 rows of 40 elements, got '!transformer.state<80>'}}
  %y = transformer.convolve %x, @w in(%rows) after(%s : !transformer.state<80>) {causal, dilation = 2 : i64} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x1xf32> from "w"
func.func @convolve_no_rows(%x: tensor<?x40xf32>, %rows: !transformer.segments, %s: !transformer.state<40>) -> tensor<?x40xf32> {
  // expected-error@+1 {{'transformer.convolve' op expects a state of 0 rows of 40 elements, got '!transformer.state<40>'}}
  %y = transformer.convolve %x, @w in(%rows) after(%s : !transformer.state<40>) {causal} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @convolve_late(%x: tensor<?x40xf32>, %rows: !transformer.segments, %s: !transformer.state<80>) -> (tensor<?x40xf32>, !transformer.state<80>) {
  // expected-note@+1 {{this has changed it}}
  %s1 = transformer.keep %s, %x in(%rows) : !transformer.state<80>, tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op expects a state that nothing has changed}}
  %y = transformer.convolve %x, @w in(%rows) after(%s1 : !transformer.state<80>) {causal} : tensor<?x40xf32>
  return %y, %s1 : tensor<?x40xf32>, !transformer.state<80>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @pooled(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x40xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op convolves rows of sequences, expected rows of tokens}}
  %y = transformer.convolve %p, @w in(%rows) : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @of_a_memory(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %c: !transformer.cache<40> {transformer.name = "c"}) -> (tensor<?x40xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%memory) : !transformer.cache<40> -> tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op names other segments for its rows, expected those of the entry's rows}}
  %y = transformer.convolve %k, @w in(%memory) {causal} : tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

transformer.parameter @w : tensor<40x3xf32> from "w"
func.func @of_a_cache(%x: tensor<?x40xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !transformer.cache<40> {transformer.name = "c"}) -> (tensor<?x40xf32> {transformer.name = "y"}, !transformer.cache<40> {transformer.name = "c"}) {
  %seen = transformer.history %rows
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<40>
  %k = transformer.cached %c1 in(%seen) : !transformer.cache<40> -> tensor<?x40xf32>
  // expected-error@+1 {{'transformer.convolve' op reads a cache as rows, expected only attention and its mathematics to read one}}
  %y = transformer.convolve %k, @w in(%rows) {causal} : tensor<?x40xf32>
  return %y, %c1 : tensor<?x40xf32>, !transformer.cache<40>
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
// expected-error@+1 {{'dataflow.kernel' op expects a causal convolution of rows of tokens to resume, got a centred one of rows of tokens}}
dataflow.kernel @centred_resumes : (!rows, !dataflow.buffer<[3, 40], f32>, !dataflow.state<[80], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = false, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state of 2 rows of 40 elements, got '!dataflow.state<[40], f32>'}}
dataflow.kernel @short_state : (!rows, !dataflow.buffer<[3, 40], f32>, !dataflow.state<[40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = true, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a buffer as operand #0, got '!dataflow.cache<[40], f32, rows>'}}
dataflow.kernel @cache : (!dataflow.cache<[40], f32, rows>, !dataflow.buffer<[3, 40], f32>) -> !rows computes #dataflow.convolve<width = 40, kernel = 3, dilation = 1, causal = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 40], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state of whole rows of 40 elements, got '!dataflow.state<[70], f32>'}}
dataflow.kernel @keep_part : (!dataflow.state<[70], f32>, !rows) -> !dataflow.state<[70], f32> computes #dataflow.keep {
^bb0(%x: f32):
  dataflow.yield %x
}
