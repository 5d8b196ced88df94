// SPDX-License-Identifier: Apache-2.0
// Kernels that select tokens, those that look at pieces of logits before, and graphs whose last
// result is a selection.
// RUN: heddle-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!logits = !dataflow.buffer<[tokens, 1000], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
!pairs = !dataflow.buffer<[tokens, 12], f32>
// CHECK: dataflow.kernel @peaks
// CHECK-SAME: computes #dataflow.peaks<columns = 1000, piece = 768>
dataflow.kernel @peaks : (!logits) -> !peaks computes #dataflow.peaks<columns = 1000, piece = 768> {
^bb0(%x: f32):
  dataflow.yield %x
}
// CHECK: dataflow.kernel @select
// CHECK-SAME: computes #dataflow.select<columns = 1000, piece = 768, count = 4>
dataflow.kernel @select : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 1000, piece = 768, count = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
// CHECK: dataflow.observed = "selection"
dataflow.graph @decode(%x: !logits {dataflow.name = "logits"}) -> (!pairs {dataflow.name = "selection", dataflow.observed = "selection"}) {
  %0 = dataflow.dispatch @peaks(%x) : (!logits) -> !peaks
  %1 = dataflow.dispatch @select(%x, %0) : (!logits, !peaks) -> !pairs
  dataflow.output %1 : !pairs
}

// -----

!logits = !dataflow.buffer<[tokens, 20], f32>
!peaks = !dataflow.buffer<[tokens, 3], f32>
!pairs = !dataflow.buffer<[tokens, 44], f32>
// expected-error@+1 {{'dataflow.kernel' op expects at most 20 of 20 columns, got 21}}
dataflow.kernel @more_than_all : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 20, piece = 768, count = 21> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 3], f32>
!pairs = !dataflow.buffer<[tokens, 132], f32>
// expected-error@+1 {{'dataflow.kernel' op expects at most 64 of 200 columns, got 65}}
dataflow.kernel @more_than_most : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 200, piece = 768, count = 65> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
!pairs = !dataflow.buffer<[tokens, 10], f32>
// expected-error@+1 {{'dataflow.kernel' op expects pieces of a multiple of 16 columns, at most 2147483647, got 100}}
dataflow.kernel @odd_pieces : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 200, piece = 100, count = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
// expected-error@+1 {{'dataflow.kernel' op expects pieces of a multiple of 16 columns, at most 2147483647, got 100}}
dataflow.kernel @odd_peaks : (!logits) -> !peaks computes #dataflow.peaks<columns = 200, piece = 100> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 9] and element type 'f32', got '!dataflow.buffer<[tokens, 6], f32>'}}
dataflow.kernel @few_peaks : (!logits) -> !peaks computes #dataflow.peaks<columns = 200, piece = 96> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
!pairs = !dataflow.buffer<[tokens, 12], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 9] and element type 'f32', got '!dataflow.buffer<[tokens, 6], f32>'}}
dataflow.kernel @peaks_of_others : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 200, piece = 96, count = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 2147483648], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
!pairs = !dataflow.buffer<[tokens, 8], f32>
// expected-error@+1 {{'dataflow.kernel' op expects at most 2147483647 columns, got 2147483648}}
dataflow.kernel @too_wide : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 2147483648, piece = 2147483632, count = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!logits = !dataflow.buffer<[tokens, 200], f32>
!peaks = !dataflow.buffer<[tokens, 9], f32>
!pairs = !dataflow.buffer<[tokens, 10], f32>
// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 12] and element type 'f32', got '!dataflow.buffer<[tokens, 10], f32>'}}
dataflow.kernel @other_width : (!logits, !peaks) -> !pairs computes #dataflow.select<columns = 200, piece = 96, count = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[sequences, 4], f32>
// expected-error@+1 {{'dataflow.graph' op expects selection result #0 to be [tokens, width] of f32, got '!dataflow.buffer<[sequences, 4], f32>'}}
dataflow.graph @selection_of_sequences(%x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y", dataflow.observed = "selection"}) {
  dataflow.output %x : !rows
}

// -----

!rows = !dataflow.buffer<[tokens, 4], f32>
!weights = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.graph' op expects the selection, result #0, after all others}}
dataflow.graph @selection_before_another(%x: !rows {dataflow.name = "x"}, %p: !weights {dataflow.name = "q"}) -> (!rows {dataflow.name = "y", dataflow.observed = "selection"}, !weights {dataflow.name = "p", dataflow.observed = "encoder"}) {
  dataflow.output %x, %p : !rows, !weights
}
