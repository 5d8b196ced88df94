// SPDX-License-Identifier: Apache-2.0
// Rows of images that each have a width of their own, and how many of them there are positions for.
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects rows of 2 to 65535 pixels and strides of 1 to 255, got 0 pixels and strides of 2 and 2}}
func.func private @no_pixels(!dataflow.buffer<[grid(tokens, 0, 2, 2), 32], f32>)

// -----

// expected-error@+1 {{expects rows of 2 to 65535 pixels and strides of 1 to 255, got any number of pixels and strides of 0 and 2}}
func.func private @no_stride(!dataflow.buffer<[grid(tokens, ?, 0, 2), 32], f32>)

// -----

// expected-error@+1 {{'dataflow.graph' op expects 'max_rows' of 1 to 2147483647 rows of images of any width, got 9 of grid(tokens, 8, 2, 2)}}
dataflow.graph @graph_c11() attributes {max_rows = #dataflow.row_limits<grid(tokens, 8, 2, 2) = 9>} {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects 'max_rows' of 1 to 2147483647 rows of images of any width, got 0 of grid(tokens, ?, 2, 2)}}
dataflow.graph @no_rows() attributes {max_rows = #dataflow.row_limits<grid(tokens, ?, 2, 2) = 0>} {
  dataflow.output
}

// -----

!rows = !dataflow.buffer<[grid(tokens, ?, 2, 2), 32], f32>
!table = !dataflow.buffer<[9, 32], f32>
dataflow.kernel @gather : (!table) -> !rows computes #dataflow.gather<width = 32, lookups = 0, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x32xf32> from "table"
dataflow.graph @positions_without_a_limit() attributes {max_length = 5 : i64} {
  %t = dataflow.parameter @table : !table
  // expected-error@+1 {{'dataflow.dispatch' op expects a graph with a 'max_rows' where positions are looked up, got none}}
  %0 = dataflow.dispatch @gather(%t) : (!table) -> !rows
  dataflow.output
}

// -----

!rows = !dataflow.buffer<[grid(tokens, ?, 2, 2), 32], f32>
!table = !dataflow.buffer<[9, 32], f32>
dataflow.kernel @gather : (!table) -> !rows computes #dataflow.gather<width = 32, lookups = 0, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x32xf32> from "table"
dataflow.graph @positions_beyond_a_table() attributes {max_rows = #dataflow.row_limits<grid(tokens, ?, 2, 2) = 8>} {
  %t = dataflow.parameter @table : !table
  // expected-error@+1 {{'dataflow.dispatch' op expects a table of at least 'max_rows' 8 plus offset 2 rows, got 9}}
  %0 = dataflow.dispatch @gather(%t) : (!table) -> !rows
  dataflow.output
}
