// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// What attention may multiply.

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects arithmetic 'f32' or 'bf16', got 'integers'}}
dataflow.kernel @codes : (!rows, !rows, !rows) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, arithmetic = integers> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects products of heads of at most 128 elements with arithmetic 'bf16', got sums over pairs}}
dataflow.kernel @pairs : (!rows, !rows, !rows, !dataflow.buffer<[2, 32], f32>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, arithmetic = bf16> {
^bb0(%x: f32):
  dataflow.yield %x
} pairs {
^bb0(%q: f32, %k: f32):
  dataflow.yield %q
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
!wide = !dataflow.buffer<[tokens, 258], f32>
// expected-error@+1 {{'dataflow.kernel' op expects products of heads of at most 128 elements with arithmetic 'bf16', got heads of 129}}
dataflow.kernel @large : (!rows, !rows, !wide) -> !wide
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 129, scale = 1.0 : f32, visibility = <all>, arithmetic = bf16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!rows = !dataflow.buffer<[tokens, 64], f32>
// expected-error@+1 {{'dataflow.kernel' op expects keys and values in rows with arithmetic 'bf16', got '!dataflow.cache<[64], f32, keys>'}}
dataflow.kernel @cached : (!rows, !dataflow.cache<[64], f32, keys>, !dataflow.cache<[64], f32, rows>) -> !rows
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, arithmetic = bf16> {
^bb0(%x: f32):
  dataflow.yield %x
}
