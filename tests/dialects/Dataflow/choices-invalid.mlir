// SPDX-License-Identifier: Apache-2.0
// Kernels of rows that choose, and of choices: what is wrong with some.
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects 1 to 255 choices, got 256}}
func.func private @many(!dataflow.buffer<[choices(tokens, 256), 8], f32>)

// -----

// expected-error@+1 {{expects rows that are no choices themselves, got 'choices(tokens, 2)'}}
func.func private @nested(!dataflow.buffer<[choices(choices(tokens, 2), 2), 8], f32>)

// -----

// Choices of blocks and of sequences are there, and so is the most choices of a sequence.
func.func private @of_blocks(!dataflow.buffer<[choices(blocks(tokens, 3), 2), 2, longest(choices(tokens, 4))], f32>, !dataflow.buffer<[choices(sequences, 1)], i32>)

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects at most 4 choices of 4 columns, got 5}}
dataflow.kernel @top_k_numbers : (!rows) -> (!dataflow.buffer<[tokens, 5], f32>, !dataflow.buffer<[choices(tokens, 5)], i32>) computes #dataflow.top_k<count = 5, columns = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects result #1 of shape [choices(tokens, 2)] and element type 'i32', got '!dataflow.buffer<[tokens], i32>'}}
dataflow.kernel @kernel_c5_top_k : (!rows) -> (!dataflow.buffer<[tokens, 2], f32>, !dataflow.buffer<[tokens], i32>) computes #dataflow.top_k<count = 2, columns = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[choices(tokens, 2), 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects rows that are no choices themselves, got choices(tokens, 2)}}
dataflow.kernel @top_k_choices : (!rows) -> (!dataflow.buffer<[choices(tokens, 2), 2], f32>, !dataflow.buffer<[tokens], i32>) computes #dataflow.top_k<count = 2, columns = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!ids = !dataflow.buffer<[tokens], i32>
// expected-error@+1 {{'dataflow.kernel' op expects 1 to 65536 groups, got 65537}}
dataflow.kernel @order_numbers : (!ids) -> !ids computes #dataflow.order<groups = 65537> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a result of choices of the input's rows, got tokens of tokens}}
dataflow.kernel @kernel_c5_repeat : (!rows) -> !rows computes #dataflow.repeat<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [choices(tokens, 2)] and element type 'i32', got '!dataflow.buffer<[tokens], i32>'}}
dataflow.kernel @kernel_c5_place_columns : (!dataflow.buffer<[tokens, 2], f32>, !dataflow.buffer<[tokens], i32>) -> !rows computes #dataflow.place_columns<count = 2, columns = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!ids = !dataflow.buffer<[choices(tokens, 2)], i32>
// expected-error@+1 {{'dataflow.kernel' op expects rows of the result, or those whose choices they are, got sequences for choices(tokens, 2)}}
dataflow.kernel @kernel_c5_chosen : (!dataflow.buffer<[sequences, 4], f32>, !dataflow.buffer<[15, 4], f32>, !ids, !ids) -> !dataflow.buffer<[choices(tokens, 2), 5], f32> computes #dataflow.contract_chosen<n = 5, k = 4, groups = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!ids = !dataflow.buffer<[tokens], i32>
!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no norm for #dataflow.contract_chosen<n = 4, k = 4, groups = 3>, got one}}
dataflow.kernel @kernel_c6_chosen : (!rows, !dataflow.buffer<[12, 4], f32>, !ids, !ids) -> !rows computes #dataflow.contract_chosen<n = 4, k = 4, groups = 3> norm <normalize, 1.0e-6 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a finite epsilon of 0 or more, got -1.000000e+00 : f32}}
dataflow.kernel @kernel_c6_softmax : (!rows) -> !rows computes #dataflow.rows<width = 4> norm <softmax, -1.0 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

dataflow.graph @reshape_c1(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.reshape' op expects as many elements a row as its source, got '!dataflow.buffer<[choices(tokens, 2), 4], f32>' from '!dataflow.buffer<[tokens, 4], f32>'}}
  %y = dataflow.reshape %x : !dataflow.buffer<[tokens, 4], f32> -> !dataflow.buffer<[choices(tokens, 2), 4], f32>
  dataflow.output
}
