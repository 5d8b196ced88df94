// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-plan-memory -split-input-file -verify-diagnostics

// expected-error@+1 {{graph 'ids' outputs its input 0 of integers, expected f32}}
dataflow.graph @ids(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x", dataflow.limit = 4 : i64}) -> (!dataflow.buffer<[tokens], i32> {dataflow.name = "y"}) {
  dataflow.output %x : !dataflow.buffer<[tokens], i32>
}

// -----

dataflow.kernel @square : (!dataflow.buffer<[tokens, 4], f32>) -> !dataflow.buffer<[tokens, tokens], f32> computes #dataflow.nest<"td->tk", none> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @squares(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "y"}) {
  // expected-error@+1 {{'dataflow.dispatch' op has a result '!dataflow.buffer<[tokens, tokens], f32>' whose size is no multiple of the rows of a space, or of those times the most keys of a row}}
  %0 = dataflow.dispatch @square(%x) : (!dataflow.buffer<[tokens, 4], f32>) -> !dataflow.buffer<[tokens, tokens], f32>
  dataflow.output %x : !dataflow.buffer<[tokens, 4], f32>
}
