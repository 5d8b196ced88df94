// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a buffer of rank 1 to 4, got 0}}
func.func private @buffer_c1(!dataflow.buffer<[], f32>)

// -----

// expected-error@+1 {{expects a dimension above 0, got -1}}
func.func private @negative(!dataflow.buffer<[-1, 4], f32>)

// -----

// expected-error@+1 {{expects a number, 'tokens', 'sequences' or 'longest', got 'rows'}}
func.func private @unknown(!dataflow.buffer<[rows, 4], f32>)

// -----

// expected-error@+1 {{expects a product of constant dimensions of at most 2^40, got more}}
func.func private @huge(!dataflow.buffer<[4294967296, 4294967296], f32>)

// -----

// expected-error@+1 {{expects elements of f32 or i32, got 'f64'}}
func.func private @buffer_c2(!dataflow.buffer<[tokens, 4], f64>)

// -----

// expected-error@+1 {{expects a row stride above 384 elements, and at most 2^40, got 384}}
func.func private @buffer_c3(!dataflow.buffer<[tokens, 384] in 384, f32>)

// -----

// expected-error@+1 {{expects a row stride only for rows of constant size, got 8}}
func.func private @vector(!dataflow.buffer<[tokens] in 8, f32>)

// -----

// expected-error@+1 {{expects a row stride above 0, got -8}}
func.func private @backwards(!dataflow.buffer<[tokens, 4] in -8, f32>)

// -----

// expected-error@+1 {{'dataflow.graph' op expects argument #0 to be a dense buffer of tokens or sequences, got '!dataflow.buffer<[4, 384], f32>'}}
dataflow.graph @graph_c1(%x: !dataflow.buffer<[4, 384], f32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects argument #0 to be a dense buffer of tokens or sequences, got '!dataflow.buffer<[tokens, 384] in 1152, f32>'}}
dataflow.graph @strided(%x: !dataflow.buffer<[tokens, 384] in 1152, f32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

dataflow.graph @graph_c2(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"})
    -> (!dataflow.buffer<[tokens, 192], f32> {dataflow.name = "y"}) {
  // expected-error@+1 {{'dataflow.output' op expects operands of the graph's result types ('!dataflow.buffer<[tokens, 192], f32>'), got ('!dataflow.buffer<[tokens, 384], f32>')}}
  dataflow.output %x : !dataflow.buffer<[tokens, 384], f32>
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.name' of argument #0, got none}}
dataflow.graph @graph_c3(%x: !dataflow.buffer<[tokens, 384], f32>) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects distinct names, got 'x' again at argument #1}}
dataflow.graph @twice(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"},
                      %y: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' above 0 of argument #0, got none}}
dataflow.graph @graph_c4(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' above 0 of argument #0, got 0 : i64}}
dataflow.graph @nothing(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x", dataflow.limit = 0 : i64}) {
  dataflow.output
}

// -----

transformer.parameter @w : tensor<384x384xf32> from "w" // expected-note {{the parameter is defined here}}
dataflow.graph @parameter_c1() {
  // expected-error@+1 {{'dataflow.parameter' op expects the type of parameter '@w', 'tensor<384x384xf32>', got '!dataflow.buffer<[384, 380], f32>'}}
  %0 = dataflow.parameter @w : !dataflow.buffer<[384, 380], f32>
  dataflow.output
}

// -----

dataflow.graph @unknown_parameter() {
  // expected-error@+1 {{'dataflow.parameter' op expects '@w' to be a 'transformer.parameter', got no such symbol}}
  %0 = dataflow.parameter @w : !dataflow.buffer<[384, 380], f32>
  dataflow.output
}

// -----

dataflow.graph @columns_c1(%x: !dataflow.buffer<[tokens, 1152], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.columns' op expects columns within the source's 1152, got 384 from 800}}
  %0 = dataflow.columns %x from 800 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 384] in 1152, f32>
  dataflow.output
}

// -----

dataflow.graph @columns_of_a_vector(%x: !dataflow.buffer<[tokens], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.columns' op expects buffers of rows [rows, width], got '!dataflow.buffer<[tokens], f32>' and '!dataflow.buffer<[tokens], f32>'}}
  %0 = dataflow.columns %x from 0 : !dataflow.buffer<[tokens], f32> -> !dataflow.buffer<[tokens], f32>
  dataflow.output
}

// -----

dataflow.graph @columns_c2(%x: !dataflow.buffer<[tokens, 1152], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.columns' op expects the source's rows, element type and row stride 1152, got '!dataflow.buffer<[tokens, 384], f32>' from '!dataflow.buffer<[tokens, 1152], f32>'}}
  %0 = dataflow.columns %x from 384 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

dataflow.graph @reshape_c1(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.reshape' op expects the first dimension, element type and row stride of its source, got '!dataflow.buffer<[sequences, 12, 32], f32>' from '!dataflow.buffer<[tokens, 384], f32>'}}
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 384], f32> -> !dataflow.buffer<[sequences, 12, 32], f32>
  dataflow.output
}

// -----

dataflow.graph @reshape_c2(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.reshape' op expects as many elements a row as its source, got '!dataflow.buffer<[tokens, 12, 30], f32>' from '!dataflow.buffer<[tokens, 384], f32>'}}
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 384], f32> -> !dataflow.buffer<[tokens, 12, 30], f32>
  dataflow.output
}

// -----

dataflow.graph @dispatch_c1(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects '@none' to be a 'dataflow.kernel', got no such symbol}}
  %0 = dataflow.dispatch @none(%x) : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

transformer.parameter @w : tensor<384xf32> from "w"
dataflow.graph @dispatch_of_a_parameter(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects '@w' to be a 'dataflow.kernel', got 'transformer.parameter'}}
  %0 = dataflow.dispatch @w(%x) : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

// expected-note@+1 {{the kernel is defined here}}
dataflow.kernel @rows : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c2(%x: !dataflow.buffer<[sequences, 384], f32> {dataflow.name = "x"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects the type of kernel '@rows', '(!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>', got '(!dataflow.buffer<[sequences, 384], f32>) -> !dataflow.buffer<[sequences, 384], f32>'}}
  %0 = dataflow.dispatch @rows(%x) : (!dataflow.buffer<[sequences, 384], f32>) -> !dataflow.buffer<[sequences, 384], f32>
  dataflow.output
}
