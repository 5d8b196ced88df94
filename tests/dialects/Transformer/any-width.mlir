// SPDX-License-Identifier: Apache-2.0
// Images that each have a width of their own: windows over their pixels, the rows that strides leave,
// and how many rows there are positions for.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

transformer.parameter @w : tensor<32x9xf32> from "w"
transformer.parameter @places : tensor<4096x32xf32> from "places"

// OP-LABEL: func.func @photos
// OP: %[[HALF:.*]] = transformer.strided %{{.*}} down 2 right 2 across ?
// OP: transformer.strided %[[HALF]] down 3 across ?
// OP: window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = ?>
// CHECK-DAG: dataflow.kernel @{{.*}} : (!dataflow.buffer<[tokens, 32], f32>, !dataflow.buffer<[9, 32], f32>) -> !dataflow.buffer<[grid(tokens, ?, 2, 2), 32], f32> computes #dataflow.slide<depthwise, width = 32, window = <height = 3, width = 3, strideDown = 2, strideRight = 2, across = ?>>
// CHECK-DAG: -> !dataflow.buffer<[grid(tokens, ?, 6, 2), 32], f32> computes #dataflow.slide<max, width = 32, window = <height = 3, strideDown = 3, across = ?>>
// CHECK: dataflow.graph @photos
// CHECK-SAME: max_rows = #dataflow.row_limits<grid(tokens, ?, 6, 2) = 4094>
func.func @photos(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x32xf32> {transformer.name = "y"}) {
  %half = transformer.strided %rows down 2 right 2 across ?
  %fewer = transformer.strided %half down 3 across ?
  %d = transformer.slide depthwise %x, @w in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = ?> : tensor<?x32xf32> -> tensor<?x32xf32>
  %m = transformer.slide max %d in(%half) to(%fewer) window<height = 3, strideDown = 3, across = ?> : tensor<?x32xf32> -> tensor<?x32xf32>
  %p = transformer.positions %fewer {offset = 2 : i64}
  %t = transformer.gather @places[%p] : tensor<?x32xf32>
  %y = transformer.add %m, %t : tensor<?x32xf32>, tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @images_of_one_width(%rows: !transformer.segments) -> !transformer.segments {
  %pixels = transformer.strided %rows across ?
  // expected-error@+1 {{'transformer.strided' op expects strides over grid(tokens, ?, 1, 1) that leave rows or pixels of one image, got 2 down and 1 to the right, 9 across}}
  %fewer = transformer.strided %pixels down 2 across 9
  return %fewer : !transformer.segments
}

// -----

func.func @images_of_any_width(%rows: !transformer.segments) -> !transformer.segments {
  %pixels = transformer.strided %rows across 9
  // expected-error@+1 {{'transformer.strided' op expects strides over grid(tokens, 9, 1, 1) that leave rows or pixels of one image, got 2 down and 1 to the right, ? across}}
  %fewer = transformer.strided %pixels down 2 across ?
  return %fewer : !transformer.segments
}

// -----

func.func @no_width(%rows: !transformer.segments) -> !transformer.segments {
  // expected-error@+1 {{expects 1 to 65535 pixels in a row, or '?', got 0}}
  %pixels = transformer.strided %rows down 2 across 0
  return %pixels : !transformer.segments
}

// -----

func.func @slide_of_one_width(%x: tensor<?x32xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  %half = transformer.strided %rows down 2 right 2 across ?
  // expected-error@+1 {{'transformer.slide' op expects the rows that its window makes of tokens, grid(tokens, 8, 2, 2), got grid(tokens, ?, 2, 2)}}
  %y = transformer.slide max %x in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 8> : tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
