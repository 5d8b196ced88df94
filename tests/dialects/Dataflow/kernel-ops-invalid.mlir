// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op attribute 'computes' failed to satisfy constraint: a kernel family, such as #dataflow.contract}}
dataflow.kernel @kernel_c1 : (!rows) -> !rows computes "rows" {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 2 operands (1 inputs, 1 element-wise, 0 of the norm), got 1}}
dataflow.kernel @kernel_c2 : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 1 result, got 2}}
dataflow.kernel @two_results : (!rows) -> (!rows, !rows) computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a buffer as operand #0, got 'tensor<?x384xf32>'}}
dataflow.kernel @tensor : (tensor<?x384xf32>) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects 0 to 65536 lookups, got -1}}
dataflow.kernel @lookups : (!rows) -> !rows computes #dataflow.gather<width = 384, lookups = -1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects one argument of the region for each of 1 inputs, got 2}}
dataflow.kernel @nest_arguments : (!rows) -> !rows computes #dataflow.nest<"td->td", none> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
dataflow.kernel @kernel_c3 : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  // expected-error@+1 {{'func.call' op in a kernel's region: expects element-wise maths, got 'func.call'}}
  %0 = func.call @f(%x) : (f32) -> f32
  dataflow.yield %0
}
func.func private @f(f32) -> f32

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
dataflow.kernel @wide : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  // expected-error@+1 {{'arith.constant' op in a kernel's region: expects f32, and i1 for conditions, got () -> ('f64')}}
  %0 = arith.constant 1.0 : f64
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region with arguments of f32, got 'i32'}}
dataflow.kernel @integer : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: i32):
  %0 = arith.constant 0.0 : f32
  dataflow.yield %0
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region with the computed value as argument, got none}}
dataflow.kernel @no_argument : (!rows) -> !rows computes #dataflow.rows<width = 384> {
  %0 = arith.constant 0.0 : f32
  dataflow.yield %0
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that ends with 'dataflow.yield', got arith.constant}}
dataflow.kernel @no_yield : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  %0 = arith.constant 0.0 : f32
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a region that ends with 'dataflow.yield', got none}}
dataflow.kernel @empty : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects element-wise operand #1 to have the shape of the result, '!dataflow.buffer<[tokens, 384], f32>', its width, its rows of one number, or one number, got '!dataflow.buffer<[380], f32>'}}
dataflow.kernel @kernel_c4 : (!rows, !dataflow.buffer<[380], f32>) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [384, 384] and element type 'f32', got '!dataflow.buffer<[384, 380], f32>'}}
dataflow.kernel @kernel_c5 : (!rows, !dataflow.buffer<[384, 380], f32>) -> !rows computes #dataflow.contract<n = 384, k = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[4, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a result of rows, such as tokens, got '!dataflow.buffer<[4, 384], f32>'}}
dataflow.kernel @constant_rows : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens, 384] and element type 'f32', got '!dataflow.buffer<[tokens, 192], f32>'}}
dataflow.kernel @attention_keys : (!dataflow.buffer<[tokens, 192], f32>, !rows, !rows) -> !rows
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens] and element type 'i32', got '!dataflow.buffer<[tokens], f32>'}}
dataflow.kernel @gather_ids : (!dataflow.buffer<[tokens], f32>, !dataflow.buffer<[9, 384], f32>) -> !rows
    computes #dataflow.gather<width = 384, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [any, 384] and element type 'f32', got '!dataflow.buffer<[tokens, 384], f32>'}}
dataflow.kernel @gather_table : (!dataflow.buffer<[tokens], i32>, !rows) -> !rows
    computes #dataflow.gather<width = 384, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects rows that are made of several rows of the input, got tokens from tokens}}
dataflow.kernel @pool_rows : (!rows) -> !rows computes #dataflow.pool<mean, width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects norm operand #2 of shape [384] and element type 'f32', got '!dataflow.buffer<[380], f32>'}}
dataflow.kernel @norm_bias : (!rows, !dataflow.buffer<[384], f32>, !dataflow.buffer<[380], f32>) -> !rows
    computes #dataflow.rows<width = 384> norm <layer_norm, 1.0 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects no norm for #dataflow.nest<"td->td", none>, got one}}
dataflow.kernel @kernel_c6 : (!rows) -> !rows computes #dataflow.nest<"td->td", none> norm <normalize, 1.0 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a finite epsilon of 0 or more, got -1.000000e+00 : f32}}
dataflow.kernel @epsilon : (!rows) -> !rows computes #dataflow.rows<width = 384> norm <normalize, -1.0 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a name of letters, digits, '_', '.' and '-', got "kernel_c7$"}}
dataflow.kernel @kernel_c7$ : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects a name of letters, digits, '_', '.' and '-', got ""}}
dataflow.kernel @"" : (!rows) -> !rows computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects result #0 to be dense, got '!dataflow.buffer<[tokens, 384] in 400, f32>'}}
dataflow.kernel @kernel_c8 : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384] in 400, f32> computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 to be dense, got '!dataflow.buffer<[384, 384] in 20000, f32>'}}
dataflow.kernel @strided_weights : (!rows, !dataflow.buffer<[384, 384] in 20000, f32>) -> !rows computes #dataflow.contract<n = 384, k = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #1 to be dense, got '!dataflow.buffer<[9, 384] in 400, f32>'}}
dataflow.kernel @strided_table : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 384] in 400, f32>) -> !rows
    computes #dataflow.gather<width = 384, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects position offsets of 0 or more, got -1}}
dataflow.kernel @kernel_c9 : (!dataflow.buffer<[9, 384], f32>) -> !rows
    computes #dataflow.gather<width = 384, lookups = 0, positions = [-1]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.contract<n = 384, k = 0>'}}
dataflow.kernel @kernel_c5 : (!rows, !dataflow.buffer<[384, 384], f32>) -> !rows computes #dataflow.contract<n = 384, k = 0> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.gather<width = 384, lookups = 0>'}}
dataflow.kernel @kernel_c5 : () -> !rows computes #dataflow.gather<width = 384, lookups = 0> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects weights whose rows, or every so many elements of them, a multiple of 4, share a scale and no minimum, at most 65536 of them, for products of integers, got '!dataflow.buffer<[100, 64], f32>'}}
dataflow.kernel @integers_of_f32 : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[100, 64], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64, arithmetic = integers> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects weights whose rows, or every so many elements of them, a multiple of 4, share a scale and no minimum, at most 65536 of them, for products of integers, got '!dataflow.buffer<[100, 64], !transformer.quantized<i8, 6>>'}}
dataflow.kernel @integers_of_sixes : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[100, 64], !transformer.quantized<i8, 6>>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64, arithmetic = integers> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects weights in bf16 for products of bf16, got '!dataflow.buffer<[100, 64], f32>'}}
dataflow.kernel @bf16_of_f32 : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[100, 64], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64, arithmetic = bf16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects encoded lookups of products of bf16, got none}}
dataflow.kernel @encoded_bf16_of_none : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[40, 64], bf16>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.gather<width = 64, lookups = 1, bf16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.contract<n = 100, k = 64, groups = 0>'}}
dataflow.kernel @no_groups : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[100, 64], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64, groups = 0> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// The panels of all groups together would be five.
// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [200, 64] and element type 'f32', got '!dataflow.buffer<[100, 64], f32>'}}
dataflow.kernel @weights_of_groups : (!dataflow.buffer<[tokens, 128], f32>, !dataflow.buffer<[100, 64], f32>) -> !dataflow.buffer<[tokens, 200], f32> computes #dataflow.contract<n = 100, k = 64, groups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [tokens, 128] and element type 'f32', got '!dataflow.buffer<[tokens, 64], f32>'}}
dataflow.kernel @input_of_groups : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[200, 64], f32>) -> !dataflow.buffer<[tokens, 200], f32> computes #dataflow.contract<n = 100, k = 64, groups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 200] and element type 'f32', got '!dataflow.buffer<[tokens, 100], f32>'}}
dataflow.kernel @result_of_groups : (!dataflow.buffer<[tokens, 128], f32>, !dataflow.buffer<[200, 64], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64, groups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a share of keys that divides the 12 heads, got 5}}
dataflow.kernel @attention_key_share : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, keyShare = 5> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects positive sizes, got '#dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.000000e+00 : f32, visibility = <all>, valueShare = 0>'}}
dataflow.kernel @attention_no_share : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, valueShare = 0> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects input #1 of shape [tokens, 96] and element type 'f32', got '!dataflow.buffer<[tokens, 384], f32>'}}
dataflow.kernel @attention_unshared_keys : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, keyShare = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
