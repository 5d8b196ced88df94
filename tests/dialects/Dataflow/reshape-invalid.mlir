// RUN: heddle-opt %s -split-input-file -verify-diagnostics

dataflow.graph @reshape_c1_rows(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.reshape' op expects the first dimension, element type and row stride of its source, got '!dataflow.buffer<[sequences, 2, 2], f32>' from '!dataflow.buffer<[tokens, 4], f32>'}}
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 4], f32> -> !dataflow.buffer<[sequences, 2, 2], f32>
  dataflow.output
}

// -----

dataflow.graph @reshape_c1_stride(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{expects the first dimension, element type and row stride of its source}}
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 4], f32> -> !dataflow.buffer<[tokens, 2, 2] in 8, f32>
  dataflow.output
}

// -----

dataflow.graph @reshape_c2(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.reshape' op expects as many elements a row as its source, got '!dataflow.buffer<[tokens, 2, 3], f32>' from '!dataflow.buffer<[tokens, 4], f32>'}}
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 4], f32> -> !dataflow.buffer<[tokens, 2, 3], f32>
  dataflow.output
}
