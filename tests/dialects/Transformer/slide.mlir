// SPDX-License-Identifier: Apache-2.0
// Windows that slide over rows at both levels, and what is wrong with some.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

transformer.parameter @depthwise.weight : tensor<32x9xf32> from "w"

// OP-LABEL: func.func @image
// OP: %[[HALF:.*]] = transformer.strided %{{.*}} down 2 right 2 across 29
// OP: transformer.slide patches %{{.*}} in(%{{.*}}) to(%[[HALF]]) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x288xf32>
// OP: transformer.slide depthwise %{{.*}}, @depthwise.weight in(%{{.*}}) to(%[[HALF]]) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x32xf32>
// OP: transformer.slide max %{{.*}} in(%{{.*}}) to(%[[HALF]]) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29>
// CHECK: transformer.parameter @depthwise.weight.transposed : tensor<9x32xf32> = transpose(@depthwise.weight)
// CHECK-DAG: computes #dataflow.slide<patches, width = 32, window = <height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29>>
// CHECK-DAG: dataflow.kernel @{{.*}} : (!dataflow.buffer<[tokens, 32], f32>, !dataflow.buffer<[9, 32], f32>) -> !dataflow.buffer<[grid(tokens, 29, 2, 2), 32], f32> computes #dataflow.slide<depthwise, width = 32, window = <height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29>>
// CHECK-DAG: computes #dataflow.slide<max, width = 32,
// CHECK: dataflow.graph @image
func.func @image(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x288xf32> {transformer.name = "p"}, tensor<?x32xf32> {transformer.name = "d"}, tensor<?x32xf32> {transformer.name = "m"}) {
  %half = transformer.strided %rows down 2 right 2 across 29
  %p = transformer.slide patches %x in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x288xf32>
  %d = transformer.slide depthwise %x, @depthwise.weight in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x32xf32>
  %m = transformer.slide max %x in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %p, %d, %m : tensor<?x288xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}

// OP-LABEL: func.func @causal
// OP: transformer.slide patches %{{.*}} in(%{{.*}}) window<height = 3, causal = true> : tensor<?x32xf32> -> tensor<?x96xf32>
func.func @causal(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "p"}) {
  %p = transformer.slide patches %x in(%rows) window<height = 3, causal = true> : tensor<?x32xf32> -> tensor<?x96xf32>
  return %p : tensor<?x96xf32>
}

// -----

transformer.parameter @w : tensor<32x3xf32> from "w"

// Every second row is that of blocks of two. Over a line without strides a depthwise window is a
// convolution; a decoder has the rows before a run in a state.
// CHECK-DAG: -> !dataflow.buffer<[blocks(tokens, 2), 32], f32> computes #dataflow.slide<max, width = 32, window = <height = 3, strideDown = 2>>
// CHECK-DAG: computes #dataflow.convolve<width = 32, kernel = 3, dilation = 2, causal = false>
// CHECK: dataflow.graph @line
func.func @line(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x32xf32> {transformer.name = "m"}, tensor<?x32xf32> {transformer.name = "d"}) {
  %half = transformer.strided %rows down 2
  %m = transformer.slide max %x in(%rows) to(%half) window<height = 3, strideDown = 2> : tensor<?x32xf32> -> tensor<?x32xf32>
  %d = transformer.slide depthwise %x, @w in(%rows) window<height = 3, dilationDown = 2> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %m, %d : tensor<?x32xf32>, tensor<?x32xf32>
}

// CHECK: dataflow.kernel @{{.*}} : (!dataflow.buffer<[tokens, 32], f32>, !dataflow.state<[64], f32>) -> !dataflow.buffer<[tokens, 96], f32> computes #dataflow.slide<patches, width = 32, window = <height = 3, causal = true>, groups = 4, resumes = true>
// CHECK: dataflow.graph @resumed
// CHECK: dataflow.dispatch @slide
// CHECK: dataflow.dispatch @keep
func.func @resumed(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<64> {transformer.name = "s"}) -> (tensor<?x96xf32> {transformer.name = "y"}, !transformer.state<64> {transformer.name = "s"}) {
  %s1 = transformer.keep %s, %x in(%rows) : !transformer.state<64>, tensor<?x32xf32>
  %y = transformer.slide patches %x in(%rows) after(%s : !transformer.state<64>) window<height = 3, causal = true> {groups = 4 : i64} : tensor<?x32xf32> -> tensor<?x96xf32>
  return %y, %s1 : tensor<?x96xf32>, !transformer.state<64>
}

// -----

func.func @slide_c1(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x64xf32> {
  // expected-error@+1 {{'transformer.slide' op expects a result of width 96, got 64}}
  %y = transformer.slide patches %x in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @slide_c2(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects a weight, as it is 'depthwise'}}
  %y = transformer.slide depthwise %x in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

transformer.parameter @w : tensor<32x3xf32> from "w"
func.func @slide_with_weight(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects no weight, as it is 'max'}}
  %y = transformer.slide max %x, @w in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

transformer.parameter @w : tensor<32x3xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @slide_weight_shape(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects weight '@w' of shape 32x5, got 32x3}}
  %y = transformer.slide depthwise %x, @w in(%rows) window<height = 5> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_c3(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x96xf32> {
  // expected-error@+1 {{'transformer.slide' op expects groups of patches that divide the width 32, got 5 of 'patches'}}
  %y = transformer.slide patches %x in(%rows) window<height = 3> {groups = 5 : i64} : tensor<?x32xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

func.func @slide_groups_of_max(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects groups of patches that divide the width 32, got 2 of 'max'}}
  %y = transformer.slide max %x in(%rows) window<height = 3> {groups = 2 : i64} : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_c4(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects the rows that its window makes of tokens, blocks(tokens, 2), got tokens}}
  %y = transformer.slide max %x in(%rows) window<height = 3, strideDown = 2> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_other_segments(%x: tensor<?x32xf32>, %rows: !transformer.segments, %others: !transformer.segments) -> tensor<?x32xf32> {
  %half = transformer.strided %others down 2
  // expected-error@+1 {{'transformer.slide' op expects the rows that its window makes of tokens, blocks(tokens, 2), got rows of other segments}}
  %y = transformer.slide max %x in(%rows) to(%half) window<height = 3, strideDown = 2> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// An image has one width.
func.func @slide_other_width(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  %half = transformer.strided %rows down 2 right 2 across 29
  // expected-error@+1 {{'transformer.slide' op expects the rows that its window makes of grid(tokens, 29, 2, 2), got grid(tokens, 29, 2, 2)}}
  %y = transformer.slide max %x in(%half) window<height = 3, width = 3, across = 14> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_c5(%x: tensor<?x32xf32>, %rows: !transformer.segments, %s: !transformer.state<64>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects no state, as its window is not causal}}
  %y = transformer.slide max %x in(%rows) after(%s : !transformer.state<64>) window<height = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_state_and_strides(%x: tensor<?x32xf32>, %rows: !transformer.segments, %s: !transformer.state<64>) -> tensor<?x32xf32> {
  %half = transformer.strided %rows down 2
  // expected-error@+1 {{'transformer.slide' op expects no state, as its window is one with strides}}
  %y = transformer.slide max %x in(%rows) to(%half) after(%s : !transformer.state<64>) window<height = 3, strideDown = 2, causal = true> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_short_state(%x: tensor<?x32xf32>, %rows: !transformer.segments, %s: !transformer.state<64>) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects a state of 4 rows of 32 elements, got '!transformer.state<64>'}}
  %y = transformer.slide max %x in(%rows) after(%s : !transformer.state<64>) window<height = 5, causal = true> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_late(%x: tensor<?x32xf32>, %rows: !transformer.segments, %s: !transformer.state<64>) -> (tensor<?x32xf32>, !transformer.state<64>) {
  // expected-note@+1 {{this has changed it}}
  %s1 = transformer.keep %s, %x in(%rows) : !transformer.state<64>, tensor<?x32xf32>
  // expected-error@+1 {{'transformer.slide' op expects a state that nothing has changed}}
  %y = transformer.slide max %x in(%rows) after(%s1 : !transformer.state<64>) window<height = 3, causal = true> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y, %s1 : tensor<?x32xf32>, !transformer.state<64>
}

// -----

func.func @slide_c6(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{'transformer.slide' op expects a window without dilation, as it is 'max', got #transformer.window<height = 3, dilationDown = 2>}}
  %y = transformer.slide max %x in(%rows) window<height = 3, dilationDown = 2> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @pooled(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x32xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x32xf32>
  // expected-error@+1 {{'transformer.slide' op slides over rows of sequences, expected rows of tokens}}
  %y = transformer.slide max %p in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @many_elements(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{expects a window of 1 to 256 elements, got 257 x 1}}
  %y = transformer.slide max %x in(%rows) window<height = 257> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @no_elements(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{expects a window of 1 to 256 elements, got 0 x 1}}
  %y = transformer.slide max %x in(%rows) window<height = 0> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @far_stride(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{expects strides of 1 to 255, got 256 down and 1 to the right}}
  %y = transformer.slide max %x in(%rows) window<height = 3, strideDown = 256> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @far_dilation(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{expects dilations with which a window reaches at most 2^20 places, got 524289 down and 1 to the right}}
  %y = transformer.slide max %x in(%rows) window<height = 3, dilationDown = 524289> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @wide_image(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+2 {{expects 1 to 65535 pixels in a row, or '?', got 0}}
  // expected-error@+1 {{failed to parse Transformer_WindowAttr parameter 'across'}}
  %y = transformer.slide max %x in(%rows) window<height = 3, across = 0> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @wide_line(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  // expected-error@+1 {{expects a window over a line to be 1 wide, got a width of 3, a stride of 1 and a dilation of 1 to the right}}
  %y = transformer.slide max %x in(%rows) window<height = 3, width = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @slide_state_and_pixels(%x: tensor<?x32xf32>, %rows: !transformer.segments, %s: !transformer.state<64>) -> tensor<?x32xf32> {
  %pixels = transformer.strided %rows across 8
  // expected-error@+1 {{'transformer.slide' op expects no state, as its window is over rows of pixels}}
  %y = transformer.slide max %x in(%rows) to(%pixels) after(%s : !transformer.state<64>) window<height = 3, across = 8, causal = true> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects the rows that #transformer.window<height = 3, strideDown = 2> makes of tokens, got tokens}}
dataflow.kernel @rows : (!rows) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3, strideDown = 2>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects groups of patches that divide the width 32, got 2 of 'max'}}
dataflow.kernel @groups : (!rows) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3>, groups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a causal window over a line, without strides, to resume, got #transformer.window<height = 3>}}
dataflow.kernel @resumes : (!rows, !dataflow.state<[64], f32>) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3>, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state of 2 rows of 32 elements, got '!dataflow.state<[32], f32>'}}
dataflow.kernel @short_state : (!rows, !dataflow.state<[32], f32>) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3, causal = true>, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[blocks(tokens, 2), 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects rows of tokens to resume, got rows of blocks(tokens, 2)}}
dataflow.kernel @blocks : (!rows, !dataflow.state<[64], f32>) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3, causal = true>, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects groups that are those of patches, or divide the width 96, got 1}}
dataflow.kernel @product : (!rows, !dataflow.buffer<[8, 48], f32>) -> !dataflow.buffer<[tokens, 8], f32> computes #dataflow.contract_slide<n = 8, slide = <patches, width = 32, window = <height = 3>, groups = 2>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 32], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a window without dilation for a maximum, got #transformer.window<height = 3, dilationDown = 2>}}
dataflow.kernel @dilated : (!rows) -> !rows computes #dataflow.slide<max, width = 32, window = <height = 3, dilationDown = 2>> {
^bb0(%x: f32):
  dataflow.yield %x
}
