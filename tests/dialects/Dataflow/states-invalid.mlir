// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state as input #0 and result #0 of accumulate, got '(!dataflow.state<[64], f32>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @accumulate_result : (!state, !rows) -> !rows computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state as operand #0 of accumulate, got '!dataflow.cache<[64], f32, keys>'}}
dataflow.kernel @kernel_c11 : (!keys, !rows) -> !keys computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a state as operand #1 of prefix_mean, got '!dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @kernel_c11_buffer : (!rows, !rows) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no state as operand #0 of append, got '!dataflow.state<[64], f32>'}}
dataflow.kernel @kernel_c11_append : (!state, !rows) -> !state computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no state as operand #1 of nest, got '!dataflow.state<[2, 32], f32>'}}
dataflow.kernel @kernel_c11_nest : (!dataflow.buffer<[tokens, 2, 32], f32>, !dataflow.state<[2, 32], f32>) -> !scores
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!state = !dataflow.state<[64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[tokens, 32], f32>'}}
dataflow.kernel @accumulate_rows : (!state, !dataflow.buffer<[tokens, 32], f32>) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no element-wise operands of accumulate, got 1}}
dataflow.kernel @accumulate_elementwise : (!state, !rows, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[sequences, 64], f32>'}}
dataflow.kernel @prefix_mean_rows : (!dataflow.buffer<[sequences, 64], f32>, !state) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that yields its argument for #dataflow.prefix_mean, got another}}
dataflow.kernel @prefix_mean_region : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  %y = arith.negf %x : f32
  dataflow.yield %y
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @prefix_mean : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c5_state(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y"}, !state {dataflow.name = "s"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects to be the last to use operand #0 as it was, which it changes in place, got another use}}
  %0 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  // expected-note@+1 {{the other use is here}}
  %1 = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows
  dataflow.output %1, %0 : !rows, !state
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c5_state_result(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  %0 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  // expected-error@+1 {{'dataflow.dispatch' op expects to change an argument of the graph in place, got a result as operand #0}}
  %1 = dataflow.dispatch @accumulate(%0, %x) changes [0] : (!state, !rows) -> !state
  dataflow.output
}

// -----

// expected-error@+1 {{expects a state of rank 1 to 3, got 4}}
dataflow.kernel @state_c1 : (!dataflow.state<[2, 2, 2, 2], f32>) -> !dataflow.state<[2], f32> computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects a state of at most 2^40 elements, got more}}
dataflow.kernel @state_c1_product : (!dataflow.state<[1048577, 1048577], f32>) -> !dataflow.state<[2], f32> computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects elements of whole bytes of f32,}}
dataflow.kernel @state_c2 : (!dataflow.state<[64], i4>) -> !dataflow.state<[64], i4> computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 2 results, got 1}}
dataflow.kernel @running_mean_results : (!rows, !state) -> !rows computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a buffer as result #0, got '!dataflow.state<[64], f32>'}}
dataflow.kernel @running_mean_order : (!rows, !state) -> (!state, !rows) computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[tokens, 32], f32>'}}
dataflow.kernel @running_mean_width : (!rows, !state) -> (!dataflow.buffer<[tokens, 32], f32>, !state) computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], f32>
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
  %0 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  // expected-error@+1 {{'dataflow.dispatch' op expects to read the state as it was before the run, got operand #1 as a dispatch left it}}
  %1 = dataflow.dispatch @prefix_mean(%x, %0) : (!rows, !state) -> !rows
  dataflow.output %1, %0 : !rows, !state
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.graph @dispatch_c9(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects 'changes' with an operand for each of 1 results that are caches or states, got 0}}
  %0 = dataflow.dispatch @accumulate(%s, %x) : (!state, !rows) -> !state
  dataflow.output
}

// -----

!state = !dataflow.state<[64], f32>
dataflow.graph @dispatch_c9_twice(%s: !state {dataflow.name = "s"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects 'changes' of distinct operands below 1, got 0}}
  %0:2 = dataflow.dispatch @accumulate(%s) changes [0, 0] : (!state) -> (!state, !state)
  dataflow.output
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.graph @dispatch_c9_type(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects the type of operand #1, which it changes, as a result, got '!dataflow.state<[64], f32>' of '!dataflow.buffer<[tokens, 64], f32>'}}
  %0 = dataflow.dispatch @accumulate(%s, %x) changes [1] : (!state, !rows) -> !state
  dataflow.output
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.graph @dispatch_c10(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects a place or 'none' for each of 2 results, got 1}}
  %0:2 = dataflow.dispatch @running_mean(%x, %s) changes [1] at <tokens = 256> : (!rows, !state) -> (!rows, !state)
  dataflow.output
}

// -----

!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.graph @dispatch_c10_state(%s: !state {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects places of buffers, and 'none' for caches and states, got #dataflow.size<tokens = 256> of '!dataflow.state<[64], f32>'}}
  %0:2 = dataflow.dispatch @running_mean(%x, %s) changes [1] at [none, <tokens = 256>] : (!rows, !state) -> (!rows, !state)
  dataflow.output
}

// -----

!two = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-note@+1 {{the kernel is defined here}}
dataflow.kernel @accumulate : (!two, !rows) -> !two computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c2_results(%s: !two {dataflow.name = "s"}, %x: !rows {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects the type of kernel '@accumulate', '(!dataflow.state<[64], f32>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.state<[64], f32>', got '(!dataflow.state<[64], f32>, !dataflow.buffer<[tokens, 64], f32>) -> (!dataflow.state<[64], f32>, !dataflow.buffer<[tokens, 64], f32>)'}}
  %0:2 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!two, !rows) -> (!two, !rows)
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a row for each sequence, got rows of tokens}}
dataflow.kernel @load_rows : (!dataflow.state<[8], f32>) -> !dataflow.buffer<[tokens, 8], f32> computes #dataflow.load {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a row for each sequence or rows in the order of time, got rows of tokens}}
dataflow.kernel @store_rows : (!dataflow.state<[8], f32>, !dataflow.buffer<[tokens, 8], f32>) -> !dataflow.state<[8], f32> computes #dataflow.store {
^bb0(%x: f32):
  dataflow.yield %x
}
