// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a buffer of rank 1 to 4, got 0}}
func.func private @buffer_c1(!dataflow.buffer<[], f32>)

// -----

// expected-error@+1 {{expects a dimension above 0, got -1}}
func.func private @negative(!dataflow.buffer<[-1, 4], f32>)

// -----

// expected-error@+1 {{expects a number, 'tokens', 'sequences', 'blocks(tokens, size)', 'steps', 'steps_reversed', 'ranks', 'choices(tokens, count)', 'grid(tokens, across, down, right)' or 'longest', got 'rows'}}
func.func private @unknown(!dataflow.buffer<[rows, 4], f32>)

// -----

// expected-error@+1 {{expects a product of constant dimensions of at most 2^40, got more}}
func.func private @huge(!dataflow.buffer<[4294967296, 4294967296], f32>)

// -----

// expected-error@+1 {{expects elements of f32, i32, f64, f16, bf16, f8E4M3FN, f8E5M2, i64, i16, i8, i4, ui64, ui32, ui16, ui8, i1, got 'i2'}}
func.func private @buffer_c2(!dataflow.buffer<[tokens, 4], i2>)

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

// expected-error@+1 {{'dataflow.graph' op expects argument #0 to be a cache, a state or a dense buffer of rows, such as tokens, got '!dataflow.buffer<[4, 384], f32>'}}
dataflow.graph @graph_c1(%x: !dataflow.buffer<[4, 384], f32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects argument #0 to be a cache, a state or a dense buffer of rows, such as tokens, got '!dataflow.buffer<[tokens, 384] in 1152, f32>'}}
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

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' of 1 to 2^31 in i64 of argument #0, got none}}
dataflow.graph @graph_c4(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' of 1 to 2^31 in i64 of argument #0, got 0 : i64}}
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
  // expected-error@+1 {{'dataflow.parameter' op expects symbol '@w' to be a parameter, got no such symbol}}
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

transformer.parameter @w : tensor<40x40xf32> from "w"
dataflow.graph @parameter_c2() {
  // expected-error@+1 {{'dataflow.parameter' op expects encoding '@w.packed' to be a parameter, got no such symbol}}
  %0 = dataflow.parameter @w as @w.packed : !dataflow.buffer<[40, 40], f32>
  dataflow.output
}

// -----

// Every encoding of a list is checked, wherever it is declared.
transformer.parameter @w : tensor<40x40xf32> from "w"
transformer.parameter @w.packed : tensor<1x40x48xf32> = pack(@w, 48)
dataflow.graph @encodings_by_target() {
  // expected-error@+1 {{'dataflow.parameter' op expects '@w' to be 'pack' of '@w', got another parameter}}
  %0 = dataflow.parameter @w as [@w.packed, @w] : !dataflow.buffer<[40, 40], f32>
  dataflow.output
}

// -----

transformer.parameter @w : tensor<40x40xf32> from "w"
dataflow.graph @no_encoding() {
  // expected-error@+1 {{expected attribute value}}
  %0 = dataflow.parameter @w as [] : !dataflow.buffer<[40, 40], f32>
  dataflow.output
}

// -----

transformer.parameter @w : tensor<40x40xf32> from "w"
transformer.parameter @w.packed : tensor<1x40x48xf32> = pack(@w, 48)
dataflow.graph @encoding_seen_as_rows() {
  // expected-error@+1 {{'dataflow.parameter' op expects only dispatches to read an encoded parameter, got 'dataflow.columns'}}
  %w = dataflow.parameter @w as @w.packed : !dataflow.buffer<[40, 40], f32>
  // expected-note@+1 {{the user is here}}
  %0 = dataflow.columns %w from 0 : !dataflow.buffer<[40, 40], f32> -> !dataflow.buffer<[40, 20] in 40, f32>
  dataflow.output
}

// -----

transformer.parameter @w : tensor<40x40xf32> from "w"
transformer.parameter @other : tensor<40x40xf32> from "other"
transformer.parameter @other.packed : tensor<1x40x48xf32> = pack(@other, 48)
dataflow.graph @encoding_of_another() {
  // expected-error@+1 {{'dataflow.parameter' op expects '@other.packed' to be 'pack' of '@w', got another parameter}}
  %0 = dataflow.parameter @w as @other.packed : !dataflow.buffer<[40, 40], f32>
  dataflow.output
}

// -----

!x = !dataflow.buffer<[tokens, 40], f32>
transformer.parameter @w : tensor<40x40xf32> from "w"
transformer.parameter @w.packed : tensor<2x40x48xf32> = pack(@w, 48, 2)
dataflow.kernel @contract : (!x, !dataflow.buffer<[40, 40], f32>) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.graph @dispatch_c11(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @w as @w.packed : !dataflow.buffer<[40, 40], f32>
  // expected-error@+1 {{'dataflow.dispatch' op expects '@w.packed' of 1 groups, got 2}}
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !dataflow.buffer<[40, 40], f32>) -> !x
  dataflow.output %0 : !x
}

// -----

!x = !dataflow.buffer<[tokens, 40], f32>
!w = !dataflow.buffer<[40, 40], bf16>
transformer.parameter @w : tensor<40x40xbf16> from "w"
transformer.parameter @w.packed : tensor<1x40x48xbf16> = pack(@w, 48)
dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 40, k = 40, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.graph @dispatch_c11_together(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @w as @w.packed : !w
  // expected-error@+1 {{'dataflow.dispatch' op expects '@w.packed' with 2 elements together, got 1}}
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !x
  dataflow.output %0 : !x
}

// -----

transformer.parameter @w : tensor<40x40xf32> from "w"
transformer.parameter @w.packed : tensor<1x40x48xf32> = pack(@w, 48)
dataflow.kernel @table : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[40, 40], f32>) -> !dataflow.buffer<[tokens, 40], f32> computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @encoded_table(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 40 : i64}) -> (!dataflow.buffer<[tokens, 40], f32> {dataflow.name = "y"}) {
  %w = dataflow.parameter @w as @w.packed : !dataflow.buffer<[40, 40], f32>
  // expected-error@+1 {{'dataflow.dispatch' op expects an encoded parameter as the matrix of a product or the table of an encoded look-up, got it as operand #1}}
  %0 = dataflow.dispatch @table(%ids, %w) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[40, 40], f32>) -> !dataflow.buffer<[tokens, 40], f32>
  dataflow.output %0 : !dataflow.buffer<[tokens, 40], f32>
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

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' of 1 to 2^31 in i64 of argument #0, got 2147483649 : i64}}
dataflow.graph @too_many(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x", dataflow.limit = 2147483649 : i64}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.limit' of 1 to 2^31 in i64 of argument #0, got 5 : ui64}}
dataflow.graph @unsigned_limit(%x: !dataflow.buffer<[tokens], i32> {dataflow.name = "x", dataflow.limit = 5 : ui64}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.name' of UTF-8 without control characters of argument #0, got "a\FF"}}
dataflow.graph @graph_c5(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "a\FF"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.name' of UTF-8 without control characters of argument #0, got "a\0Ab"}}
dataflow.graph @line_break(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "a\0Ab"}) {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.name' of UTF-8 without control characters of argument #0, got "a\C2\85"}}
dataflow.graph @next_line(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "a\C2\85"}) {
  dataflow.output
}

// -----

"dataflow.graph"() <{function_type = () -> (), sym_name = "no_output"}> ({
^bb0:
  %0 = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
  // expected-error@+1 {{block with no terminator}}
  %1 = "arith.addf"(%0, %0) : (f32, f32) -> f32
}) : () -> ()

// -----

dataflow.graph @graph_c6() {
  // expected-error@+1 {{'arith.constant' op in a graph: expects parameters, views, dispatches and loops, got 'arith.constant'}}
  %0 = arith.constant 0.0 : f32
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'max_length' of 0 or more, got -1}}
dataflow.graph @graph_c7() attributes {max_length = -1 : i64} {
  dataflow.output
}

// -----

func.func @dispatch_in_a_function() {
  // expected-error@+1 {{'dataflow.dispatch' op expects parent op to be one of 'dataflow.graph, dataflow.loop'}}
  %0 = dataflow.dispatch @f() : () -> !dataflow.buffer<[tokens, 384], f32>
  return
}

// -----

dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 1, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x384xf32> from "table"
dataflow.graph @dispatch_c3(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 10 : i64}) attributes {max_length = 7 : i64} {
  %t = dataflow.parameter @table : !dataflow.buffer<[9, 384], f32>
  // expected-error@+1 {{'dataflow.dispatch' op expects ids with a 'dataflow.limit' of at most the table's 9 rows, got 10}}
  %0 = dataflow.dispatch @gather(%ids, %t, %t) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 1, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x384xf32> from "table"
dataflow.graph @ids_in_a_view(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 10 : i64}) attributes {max_length = 7 : i64} {
  %t = dataflow.parameter @table : !dataflow.buffer<[9, 384], f32>
  %v = dataflow.reshape %ids : !dataflow.buffer<[tokens], i32> -> !dataflow.buffer<[tokens], i32>
  // expected-error@+1 {{'dataflow.dispatch' op expects ids with a 'dataflow.limit' of at most the table's 9 rows, got 10}}
  %0 = dataflow.dispatch @gather(%v, %t, %t) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 1, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x384xf32> from "table"
dataflow.graph @dispatch_c4(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 9 : i64}) attributes {max_length = 8 : i64} {
  %t = dataflow.parameter @table : !dataflow.buffer<[9, 384], f32>
  // expected-error@+1 {{'dataflow.dispatch' op expects a table of at least 'max_length' 8 plus offset 2 rows, got 9}}
  %0 = dataflow.dispatch @gather(%ids, %t, %t) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 1, positions = [2]> {
^bb0(%x: f32):
  dataflow.yield %x
}
transformer.parameter @table : tensor<9x384xf32> from "table"
dataflow.graph @no_length(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 9 : i64}) {
  %t = dataflow.parameter @table : !dataflow.buffer<[9, 384], f32>
  // expected-error@+1 {{'dataflow.dispatch' op expects a graph with a 'max_length' where positions are looked up, got none}}
  %0 = dataflow.dispatch @gather(%ids, %t, %t) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384], f32>, !dataflow.buffer<[9, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  dataflow.output
}

// -----

!weights = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.observed' of "encoder", "decoder" or "cross", or "selection", of result #0, got "self"}}
dataflow.graph @graph_c9(%x: !weights {dataflow.name = "x"}) -> (!weights {dataflow.name = "p", dataflow.observed = "self"}) {
  dataflow.output %x : !weights
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects a 'dataflow.observed' of "encoder", "decoder" or "cross", or "selection", of result #0, got 1 : i64}}
dataflow.graph @observed_as_a_number(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "p", dataflow.observed = 1 : i64}) {
  dataflow.output %x : !dataflow.buffer<[tokens, 4], f32>
}

// -----

// expected-error@+1 {{'dataflow.graph' op expects observed result #0 to be [tokens, heads, longest] of f32, got '!dataflow.buffer<[tokens, 4], f32>'}}
dataflow.graph @observed_rows(%x: !dataflow.buffer<[tokens, 4], f32> {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "p", dataflow.observed = "cross"}) {
  dataflow.output %x : !dataflow.buffer<[tokens, 4], f32>
}

// -----

!weights = !dataflow.buffer<[tokens, 2, longest], f32>
!rows = !dataflow.buffer<[tokens, 4], f32>
// expected-error@+1 {{'dataflow.graph' op expects observed results after all others, got result #1 after one}}
dataflow.graph @observed_before_another(%x: !rows {dataflow.name = "x"}, %p: !weights {dataflow.name = "q"}) -> (!weights {dataflow.name = "p", dataflow.observed = "encoder"}, !rows {dataflow.name = "y"}) {
  dataflow.output %p, %x : !weights, !rows
}

// -----

!cache = !dataflow.cache<[8], f32, rows>
!rows = !dataflow.buffer<[tokens, 8], f32>
!pairs = !dataflow.buffer<[blocks(tokens, 2), 8], f32>
dataflow.kernel @append : (!cache, !rows) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @append_pairs : (!cache, !pairs) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @graph_c10(%x: !rows {dataflow.name = "x"}, %p: !pairs {dataflow.name = "p"}, %c: !cache {dataflow.name = "c"}, %d: !cache {dataflow.name = "d"}) -> (!cache {dataflow.name = "c"}, !cache {dataflow.name = "d"}) {
  %0 = dataflow.dispatch @append(%c, %x) changes [0] : (!cache, !rows) -> !cache
  // expected-error@+1 {{'dataflow.dispatch' op expects to append rows of tokens, as a dispatch before it does, got rows of blocks(tokens, 2)}}
  %1 = dataflow.dispatch @append_pairs(%d, %p) changes [0] : (!cache, !pairs) -> !cache
  dataflow.output %0, %1 : !cache, !cache
}

// -----

// MLIR's parser would let the function's %x be the argument of the kernel's region.
func.func @uses_a_name() -> f32 {
  return %x : f32
}
// expected-error@+1 {{custom op 'dataflow.kernel' defines a name that an operation before it uses}}
dataflow.kernel @defines_it : (!dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

func.func @uses_a_name() -> f32 {
  return %x : f32
}
dataflow.kernel @is_given_up : (!dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
// expected-error@+1 {{redefinition of block '^bb0'}}
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects constant dimensions and no row stride of quantised elements}}
func.func private @buffer_c4(!dataflow.buffer<[tokens, 40], !transformer.quantized<i8, 32>>)

// -----

// expected-error@+1 {{expects constant dimensions and no row stride of quantised elements}}
func.func private @buffer_c4_stride(!dataflow.buffer<[30, 40] in 80, !transformer.quantized<i8, 32>>)
