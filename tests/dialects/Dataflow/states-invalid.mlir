// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a cache as input #0 and result of accumulate, got '(!dataflow.cache<[64], f32, state>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @accumulate_result : (!state, !rows) -> !rows computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a cache of layout 'state' as operand #0 of accumulate, got '!dataflow.cache<[64], f32, keys>'}}
dataflow.kernel @kernel_c11 : (!keys, !rows) -> !keys computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a cache of layout 'state' as operand #1 of prefix_mean, got '!dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @kernel_c11_buffer : (!rows, !rows) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no state as operand #0 of append, got '!dataflow.cache<[64], f32, state>'}}
dataflow.kernel @kernel_c11_append : (!state, !rows) -> !state computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no state as operand #1 of nest, got '!dataflow.cache<[2, 32], f32, state>'}}
dataflow.kernel @kernel_c11_nest : (!dataflow.buffer<[tokens, 2, 32], f32>, !dataflow.cache<[2, 32], f32, state>) -> !scores
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!state = !dataflow.cache<[64], f32, state>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[tokens, 32], f32>'}}
dataflow.kernel @accumulate_rows : (!state, !dataflow.buffer<[tokens, 32], f32>) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no element-wise operands of accumulate, got 1}}
dataflow.kernel @accumulate_elementwise : (!state, !rows, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.cache<[64], f32, state>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[sequences, 64], f32>'}}
dataflow.kernel @prefix_mean_rows : (!dataflow.buffer<[sequences, 64], f32>, !state) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that yields its argument for #dataflow.prefix_mean, got another}}
dataflow.kernel @prefix_mean_region : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  %y = arith.negf %x : f32
  dataflow.yield %y
}

// -----

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @prefix_mean : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c8(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y"}, !state {dataflow.name = "s"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects to be the last to use the state it changes, got a dispatch after it}}
  %0 = dataflow.dispatch @accumulate(%s, %x) : (!state, !rows) -> !state
  // expected-note@+1 {{the other user is here}}
  %1 = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows
  dataflow.output %1, %0 : !rows, !state
}

// -----

!state = !dataflow.cache<[64], f32, state>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c8_result(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  %0 = dataflow.dispatch @accumulate(%s, %x) : (!state, !rows) -> !state
  // expected-error@+1 {{'dataflow.dispatch' op expects to accumulate into an argument of the graph, got a result}}
  %1 = dataflow.dispatch @accumulate(%0, %x) : (!state, !rows) -> !state
  dataflow.output
}
