// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a position of rank 1 to 3, got 4}}
dataflow.kernel @cache_c1 : (!dataflow.cache<[2, 2, 2, 2], f32, keys>) -> !dataflow.cache<[2, 2, 2, 2], f32, keys> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects a dimension above 0, got 0}}
dataflow.kernel @cache_c1_size : (!dataflow.cache<[0], f32, keys>) -> !dataflow.cache<[0], f32, keys> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects elements of whole bytes of f32, i32, f64, f16, bf16, f8E4M3FN, f8E5M2, i64, i16, i8, i4, ui64, ui32, ui16, ui8, i1, got 'index'}}
dataflow.kernel @cache_c2 : (!dataflow.cache<[2], index, keys>) -> !dataflow.cache<[2], index, keys> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects elements of whole bytes of f32,}}
dataflow.kernel @cache_c2_pairs : (!dataflow.cache<[2], i4, keys>) -> !dataflow.cache<[2], i4, keys> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects codes of i8 with a scale in f32 for as many elements as divide the width 64, got '!transformer.quantized<i8, 48>'}}
func.func private @cache_c3(!dataflow.cache<[64], !transformer.quantized<i8, 48>, keys>)

// -----

// expected-error@+1 {{expects codes of i8 with a scale in f32 for as many elements as divide the width 64, got '!transformer.quantized<i4, 32>'}}
func.func private @cache_c3_zeros(!dataflow.cache<[64], !transformer.quantized<i4, 32>, keys>)

// -----

// expected-error@+1 {{expects codes of i8 with a scale in f32 for as many elements as divide the width 64, got '!transformer.quantized<i8, 32, minimums>'}}
func.func private @cache_c3_minimums(!dataflow.cache<[64], !transformer.quantized<i8, 32, minimums>, keys>)

// -----

// expected-error@+1 {{expects a state of numbers, got '!transformer.quantized<i8, 64>'}}
func.func private @state_c2_codes(!dataflow.state<[64], !transformer.quantized<i8, 64>>)

// -----

!codes = !transformer.quantized<i8, 24>
!rows = !dataflow.buffer<[tokens, 48], f32>
// expected-error@+1 {{'dataflow.kernel' op expects scales of whole heads of 16 elements, got '!dataflow.cache<[48], !transformer.quantized<i8, 24>, keys>'}}
dataflow.kernel @attention_scales_of_keys : (!rows, !dataflow.cache<[48], !codes, keys>, !dataflow.cache<[48], f32, rows>) -> !rows computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!codes = !transformer.quantized<i8, 24>
!rows = !dataflow.buffer<[tokens, 48], f32>
// expected-error@+1 {{'dataflow.kernel' op expects scales of whole heads of 16 elements, got '!dataflow.cache<[48], !transformer.quantized<i8, 24>, rows>'}}
dataflow.kernel @attention_scales_of_values : (!rows, !dataflow.cache<[48], f32, keys>, !dataflow.cache<[48], !codes, rows>) -> !rows computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!codes = !transformer.quantized<i8, 24>
!rows = !dataflow.buffer<[tokens, 48], f32>
!weights = !dataflow.buffer<[tokens, 3, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects scales of whole heads of 16 elements, got '!dataflow.cache<[48], !transformer.quantized<i8, 24>, keys>'}}
dataflow.kernel @weights_scales : (!rows, !dataflow.cache<[48], !codes, keys>) -> !weights computes #dataflow.attention_weights<heads = 3, keySize = 16, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!codes = !transformer.quantized<i8, 24>
!rows = !dataflow.buffer<[tokens, 48], f32>
!weights = !dataflow.buffer<[tokens, 3, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects scales of whole heads of 16 elements, got '!dataflow.cache<[48], !transformer.quantized<i8, 24>, rows>'}}
dataflow.kernel @attend_scales : (!weights, !dataflow.cache<[48], !codes, rows>) -> !rows computes #dataflow.attend<heads = 3, valueSize = 16, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects a position of at most 2^40 elements, got more}}
dataflow.kernel @cache_c1_product : (!dataflow.cache<[1048577, 1048577], f32, keys>) -> !dataflow.cache<[1], f32, keys> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a cache as input #0 and result #0 of append, got '(!dataflow.cache<[64], f32, keys>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.cache<[64], f32, rows>'}}
dataflow.kernel @kernel_c2 : (!dataflow.cache<[64], f32, keys>, !rows) -> !dataflow.cache<[64], f32, rows> computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a buffer as operand #0, got '!dataflow.cache<[64], f32, keys>'}}
dataflow.kernel @kernel_c2_operand : (!dataflow.cache<[64], f32, keys>) -> !rows computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a buffer as result #0, got '!dataflow.cache<[64], f32, rows>'}}
dataflow.kernel @kernel_c2_result : (!rows) -> !dataflow.cache<[64], f32, rows> computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!cache = !dataflow.cache<[64], f32, keys>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 64] and element type 'f32', got '!dataflow.buffer<[tokens, 32], f32>'}}
dataflow.kernel @append_rows : (!cache, !dataflow.buffer<[tokens, 32], f32>) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!cache = !dataflow.cache<[64], f32, keys>
// expected-error@+1 {{'dataflow.kernel' op expects rows of tokens, or what blocks and strides make of them, got rows of sequences}}
dataflow.kernel @append_sequences : (!cache, !dataflow.buffer<[sequences, 64], f32>) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!cache = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no element-wise operands of append, got 1}}
dataflow.kernel @append_elementwise : (!cache, !rows, !rows) -> !cache computes #dataflow.append {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!cache = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that yields its argument for #dataflow.append, got another}}
dataflow.kernel @append_region : (!cache, !rows) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  %y = arith.negf %x : f32
  dataflow.yield %y
}

// -----

!cache = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no norm for #dataflow.append, got one}}
dataflow.kernel @append_norm : (!cache, !rows) -> !cache computes #dataflow.append norm #dataflow.norm<normalize, 1.0e-06 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 2 operands (1 inputs, 0 element-wise, 1 of the norm), got 1}}
dataflow.kernel @rms_norm_operands : (!rows) -> !rows computes #dataflow.rows<width = 64> norm #dataflow.norm<rms_norm, 1.0e-06 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a finite scale for each of 1 lookups, got array<f32: 2.000000e+00, 2.000000e+00>}}
dataflow.kernel @kernel_c9 : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>
    computes #dataflow.gather<width = 64, lookups = 1, scales = array<f32: 2.0, 2.0>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+2 {{expects the name of an option, got 'factors'}}
dataflow.kernel @option : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>
    computes #dataflow.gather<width = 64, lookups = 1, factors = array<f32: 2.0>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects keys and values that are both buffers or both caches, got '!dataflow.cache<[64], f32, keys>' and '!dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @kernel_c10 : (!rows, !dataflow.cache<[64], f32, keys>, !rows) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 to be a cache of 64 elements and layout 'keys', got '!dataflow.cache<[64], f32, rows>'}}
dataflow.kernel @kernel_c10_layout : (!rows, !dataflow.cache<[64], f32, rows>, !dataflow.cache<[64], f32, rows>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a bias distance of 0 to 2^20, got 1048577}}
dataflow.kernel @kernel_c10_distance : (!rows, !rows, !rows, !dataflow.buffer<[2, 33], f32>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 1048577> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #3 of shape [2, 33] and element type 'f32', got '!dataflow.buffer<[2, 31], f32>'}}
dataflow.kernel @attention_bias : (!rows, !rows, !rows, !dataflow.buffer<[2, 31], f32>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, biasDistance = 16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects axes 't' and 'k', and 'r' of an odd size that the result lacks, with 'relative', got 'hr->thk'}}
dataflow.kernel @relative : (!dataflow.buffer<[2, 32], f32>) -> !scores computes #dataflow.nest<"hr->thk", none, relative> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a last input that is the only cache with 'keys_from', got 'thk->thk'}}
dataflow.kernel @keys_from : (!scores, !scores) -> !scores computes #dataflow.nest<"thk->thk", none, keys_from> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects axes that begin with 'k' for input #0, a cache, got 'hdk'}}
dataflow.kernel @cache_axes : (!dataflow.cache<[2, 32], f32, keys>) -> !scores computes #dataflow.nest<"hdk->thk", sum> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!scores = !dataflow.buffer<[tokens, 2, longest], f32>
// expected-error@+1 {{'dataflow.kernel' op expects axis 't', and an axis 'k' that counts no rows of the batch, with a cache, got 'khd,khd->thk'}}
dataflow.kernel @key_rows : (!dataflow.cache<[2, 32], f32, keys>, !dataflow.buffer<[tokens, 2, 32], f32>) -> !scores computes #dataflow.nest<"khd,khd->thk", sum> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
dataflow.graph @reshape_c1(%k: !keys {dataflow.name = "k"}) -> () {
  // expected-error@+1 {{'dataflow.reshape' op expects two buffers or two caches of one element type and layout, got '!dataflow.cache<[64], f32, rows>' from '!dataflow.cache<[64], f32, keys>'}}
  %0 = dataflow.reshape %k : !keys -> !dataflow.cache<[64], f32, rows>
  dataflow.output
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
dataflow.graph @reshape_c2(%k: !keys {dataflow.name = "k"}) -> () {
  // expected-error@+1 {{'dataflow.reshape' op expects as many elements a position as its source, got '!dataflow.cache<[2, 16], f32, keys>' from '!dataflow.cache<[64], f32, keys>'}}
  %0 = dataflow.reshape %k : !keys -> !dataflow.cache<[2, 16], f32, keys>
  dataflow.output
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
// expected-error@+1 {{'dataflow.graph' op expects result #0 to be what a dispatch left of argument "k", got another value}}
dataflow.graph @graph_c8(%k: !keys {dataflow.name = "k"}) -> (!keys {dataflow.name = "k"}) {
  dataflow.output %k : !keys
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c5(%k: !keys {dataflow.name = "k"}, %x: !rows {dataflow.name = "x"}) -> (!keys {dataflow.name = "k"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects to be the last to use operand #0 as it was, which it changes in place, got another use}}
  %0 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  // expected-note@+1 {{the other use is here}}
  %1 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  dataflow.output %0 : !keys
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c5_result(%k: !keys {dataflow.name = "k"}, %x: !rows {dataflow.name = "x"}) -> () {
  %0 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  // expected-error@+1 {{'dataflow.dispatch' op expects to change an argument of the graph in place, got a result as operand #0}}
  %1 = dataflow.dispatch @append(%0, %x) changes [0] : (!keys, !rows) -> !keys
  dataflow.output
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!values = !dataflow.cache<[64], f32, rows>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @attention : (!rows, !keys, !values) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c6(%k: !keys {dataflow.name = "k"}, %v: !values {dataflow.name = "v"}, %x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y"}, !keys {dataflow.name = "k"}) {
  %0 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  // expected-error@+1 {{'dataflow.dispatch' op expects caches that are all appended to in the graph or all only read, got operand #2, which is only read}}
  %y = dataflow.dispatch @attention(%x, %0, %v) : (!rows, !keys, !values) -> !rows
  dataflow.output %y, %0 : !rows, !keys
}

// -----

!heads = !dataflow.cache<[2, 32], f32, rows>
!values = !dataflow.cache<[64], f32, rows>
!rows = !dataflow.buffer<[tokens, 64], f32>
!split = !dataflow.buffer<[tokens, 2, 32], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
dataflow.kernel @append : (!values, !rows) -> !values computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @both : (!split, !heads, !heads) -> !scores computes #dataflow.nest<"thd,khd,khd->thk", sum> {
^bb0(%x: f32, %y: f32, %z: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c6_nest(%k: !values {dataflow.name = "k"}, %v: !values {dataflow.name = "v"}, %x: !rows {dataflow.name = "x"}) -> (!values {dataflow.name = "v"}) {
  %0 = dataflow.dispatch @append(%v, %x) changes [0] : (!values, !rows) -> !values
  %xh = dataflow.reshape %x : !rows -> !split
  %kh = dataflow.reshape %k : !values -> !heads
  %vh = dataflow.reshape %0 : !values -> !heads
  // expected-error@+1 {{'dataflow.dispatch' op expects caches that are all appended to in the graph or all only read, got operand #2, which is appended to}}
  %y = dataflow.dispatch @both(%xh, %kh, %vh) : (!split, !heads, !heads) -> !scores
  dataflow.output %0 : !values
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!values = !dataflow.cache<[64], f32, rows>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @attention : (!rows, !keys, !values) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c7(%k: !keys {dataflow.name = "k"}, %v: !values {dataflow.name = "v"}, %x: !rows {dataflow.name = "x"}) -> (!rows {dataflow.name = "y"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects a cache that is appended to in the graph where keys are hidden by their positions, got one that is only read}}
  %y = dataflow.dispatch @attention(%x, %k, %v) : (!rows, !keys, !values) -> !rows
  dataflow.output %y : !rows
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!bias = !dataflow.buffer<[tokens, longest], f32>
dataflow.kernel @mask_bias : (!keys) -> !bias computes #dataflow.nest<"->tk", none, hidden = -1.0e+04 : f32, keys_from> {
  %zero = arith.constant 0.0 : f32
  dataflow.yield %zero
}
dataflow.graph @dispatch_c7_nest(%k: !keys {dataflow.name = "k"}) -> () {
  // expected-error@+1 {{'dataflow.dispatch' op expects a cache that is appended to in the graph where keys are hidden by their positions, got one that is only read}}
  %y = dataflow.dispatch @mask_bias(%k) : (!keys) -> !bias
  dataflow.output
}

// -----

!keys = !dataflow.cache<[64], f32, keys>
!values = !dataflow.cache<[64], f32, rows>
!rows = !dataflow.buffer<[tokens, 64], f32>
dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @weights : (!rows, !keys) -> !dataflow.buffer<[tokens, 2, longest], f32>
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c6_before(%k: !keys {dataflow.name = "k"}, %x: !rows {dataflow.name = "x"}) -> (!keys {dataflow.name = "k"}) {
  // expected-error@+1 {{'dataflow.dispatch' op expects to read the cache as it is when the rows of the run are in it, got operand #1 as it was before}}
  %y = dataflow.dispatch @weights(%x, %k) : (!rows, !keys) -> !dataflow.buffer<[tokens, 2, longest], f32>
  %0 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  dataflow.output %0 : !keys
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects encoded lookups in ascending order, below 2, got [1, 0]}}
dataflow.kernel @kernel_c9_encoded : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>, !dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>
    computes #dataflow.gather<width = 64, lookups = 2, encoded = [1, 0]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects encoded lookups of products of integers, got none}}
dataflow.kernel @kernel_c9_integers : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>
    computes #dataflow.gather<width = 64, lookups = 1, integers> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects encoded lookups in ascending order, below 1, got [1]}}
dataflow.kernel @kernel_c9_lookup : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32>
    computes #dataflow.gather<width = 64, lookups = 1, encoded = [1]> {
^bb0(%x: f32):
  dataflow.yield %x
}
