// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics -convert-dataflow-to-kernels="targets=x86-64-v4"

// Elements that the dialect has and the code of a target does not.

// expected-error@+1 {{'dataflow.kernel' op has weights of f16 as operand #1, expected f32 or bf16 or i8 with scales, which target 'x86-64-v4' computes with}}
dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 40], f16>) -> !dataflow.buffer<[tokens, 40], f32> computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!keys = !dataflow.cache<[32], f16, keys>
// expected-error@+1 {{'dataflow.kernel' op has a cache of f16 as operand #0, expected f32 or bf16 or i8 with scales, which target 'x86-64-v4' computes with}}
dataflow.kernel @append : (!keys, !dataflow.buffer<[tokens, 32], f32>) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!keys = !dataflow.cache<[32], i8, keys>
// expected-error@+1 {{'dataflow.kernel' op has a cache of i8 as operand #0, expected f32 or bf16 or i8 with scales, which target 'x86-64-v4' computes with}}
dataflow.kernel @append : (!keys, !dataflow.buffer<[tokens, 32], f32>) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!state = !dataflow.state<[64], bf16>
// expected-error@+1 {{'dataflow.kernel' op has a state of bf16 as operand #0, expected f32, which target 'x86-64-v4' computes with}}
dataflow.kernel @accumulate : (!state, !dataflow.buffer<[tokens, 64], f32>) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op looks up rows of '!dataflow.buffer<[30, 40], !transformer.quantized<i8, 24>>' as operand #1, expected one scale for each row, or for every multiple of 16 elements}}
dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 40], !transformer.quantized<i8, 24>>) -> !dataflow.buffer<[tokens, 40], f32> computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op has 'dataflow.float_products' = "f16", expected "tf32x3", "tf32" or "bf16"}}
dataflow.kernel @note : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[48, 40], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 40> attributes {dataflow.float_products = "f16"} {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// -----

// expected-error@+1 {{'dataflow.kernel' op has 'dataflow.float_products' = "bf16" and computes #dataflow.contract<n = 48, k = 40>, expected an attention of f32 whose scores are products, or with tf32 a product of f32 with weights of f32}}
dataflow.kernel @rounded : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[48, 40], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 40> attributes {dataflow.float_products = "bf16"} {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// -----

// expected-error@+1 {{'dataflow.kernel' op has 'dataflow.float_products' = "tf32" and computes #dataflow.attention<heads = 1, keySize = 16, valueSize = 16, scale = 1.000000e+00 : f32, visibility = <all>, arithmetic = bf16>, expected an attention of f32 whose scores are products, or with tf32 a product of f32 with weights of f32}}
dataflow.kernel @twice : (!dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[tokens, 16], f32>) -> !dataflow.buffer<[tokens, 16], f32>
    computes #dataflow.attention<heads = 1, keySize = 16, valueSize = 16, scale = 1.0 : f32, visibility = <all>, arithmetic = bf16> attributes {dataflow.float_products = "tf32"} {
^bb0(%score: f32):
  dataflow.yield %score
}

// -----

// expected-error@+1 {{'dataflow.kernel' op has 'dataflow.float_products' = "tf32" and computes #dataflow.attention<heads = 1, keySize = 16, valueSize = 16, scale = 1.000000e+00 : f32, visibility = <all>, pairs = true>, expected an attention of f32 whose scores are products, or with tf32 a product of f32 with weights of f32}}
dataflow.kernel @pairs : (!dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[1, 16], f32>) -> !dataflow.buffer<[tokens, 16], f32>
    computes #dataflow.attention<heads = 1, keySize = 16, valueSize = 16, scale = 1.0 : f32, visibility = <all>, pairs = true> attributes {dataflow.float_products = "tf32"} {
^bb0(%score: f32):
  dataflow.yield %score
} pairs {
^bb0(%query: f32, %key: f32):
  dataflow.yield %query
}
