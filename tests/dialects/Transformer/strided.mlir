// SPDX-License-Identifier: Apache-2.0
// Every n-th row, and every n-th pixel.
// RUN: heddle-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @strided
// CHECK: %[[HALF:.*]] = transformer.strided %{{.*}} down 2
// CHECK: transformer.strided %[[HALF]] down 3
// CHECK: %[[PIXELS:.*]] = transformer.strided %{{.*}} down 2 right 2 across 29
// CHECK: transformer.strided %[[PIXELS]] down 3 across 15
// CHECK: transformer.strided %{{.*}} across 7
// CHECK: transformer.strided %{{.*}} down 2 right 2 across ?
func.func @strided(%rows: !transformer.segments) -> (!transformer.segments, !transformer.segments, !transformer.segments, !transformer.segments) {
  %half = transformer.strided %rows down 2
  %sixth = transformer.strided %half down 3
  %pixels = transformer.strided %rows down 2 right 2 across 29
  %fewer = transformer.strided %pixels down 3 across 15
  %all = transformer.strided %rows across 7
  %photo = transformer.strided %rows down 2 right 2 across ?
  return %sixth, %fewer, %all, %photo : !transformer.segments, !transformer.segments, !transformer.segments, !transformer.segments
}

// -----

func.func @strided_c1(%rows: !transformer.segments) -> !transformer.segments {
  // expected-error@+1 {{'transformer.strided' op expects strides of 1 to 255, of a line one above 1 down and none to the right, got 0 down and 1 to the right}}
  %half = transformer.strided %rows down 0
  return %half : !transformer.segments
}

// -----

func.func @no_stride(%rows: !transformer.segments) -> !transformer.segments {
  // expected-error@+1 {{'transformer.strided' op expects strides of 1 to 255, of a line one above 1 down and none to the right, got 1 down and 1 to the right}}
  %all = transformer.strided %rows
  return %all : !transformer.segments
}

// -----

func.func @right_of_a_line(%rows: !transformer.segments) -> !transformer.segments {
  // expected-error@+1 {{'transformer.strided' op expects strides of 1 to 255, of a line one above 1 down and none to the right, got 2 down and 2 to the right}}
  %half = transformer.strided %rows down 2 right 2
  return %half : !transformer.segments
}

// -----

func.func @strided_c2(%rows: !transformer.segments) -> !transformer.segments {
  %pixels = transformer.strided %rows down 2 right 2 across 29
  // expected-error@+1 {{'transformer.strided' op expects strides over grid(tokens, 29, 2, 2) that leave rows or pixels of one image, got 2 down and 1 to the right, 14 across}}
  %fewer = transformer.strided %pixels down 2 across 14
  return %fewer : !transformer.segments
}

// -----

func.func @too_far(%rows: !transformer.segments) -> !transformer.segments {
  %pixels = transformer.strided %rows down 200 across 29
  // expected-error@+1 {{'transformer.strided' op expects strides over grid(tokens, 29, 200, 1) that leave rows or pixels of one image, got 2 down and 1 to the right, 29 across}}
  %fewer = transformer.strided %pixels down 2 across 29
  return %fewer : !transformer.segments
}

// -----

func.func @line_of_pixels(%rows: !transformer.segments) -> !transformer.segments {
  %pixels = transformer.strided %rows across 29
  // expected-error@+1 {{'transformer.strided' op expects strides over grid(tokens, 29, 1, 1) that leave rows or pixels of one image, got 2 down and 1 to the right, 1 across}}
  %fewer = transformer.strided %pixels down 2
  return %fewer : !transformer.segments
}

// -----

// expected-error@+1 {{expects rows of 2 to 65535 pixels and strides of 1 to 255, got 1 pixels and strides of 2 and 2}}
func.func private @narrow(!dataflow.buffer<[grid(tokens, 1, 2, 2), 32], f32>)
