// SPDX-License-Identifier: Apache-2.0
// A few tiles of rows pass over a panel strip by strip, so that the first-level cache has its weights
// for all of them.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s

!long = !dataflow.buffer<[tokens, 256], f32>
!out = !dataflow.buffer<[tokens, 100], f32>

dataflow.kernel @strips : (!long, !dataflow.buffer<[100, 256], f32>) -> !out computes #dataflow.contract<n = 100, k = 256> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// A strip of bf16 has twice as many steps: this is less than two of them.
dataflow.kernel @narrow : (!long, !dataflow.buffer<[100, 256], bf16>) -> !out computes #dataflow.contract<n = 100, k = 256> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @short : (!dataflow.buffer<[tokens, 252], f32>, !dataflow.buffer<[100, 252], f32>) -> !out computes #dataflow.contract<n = 100, k = 252> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// Sums begin with what is there.
// CHECK-LABEL: func.func private @"tile/contract_adding_8x48.x86-64-v4"
// CHECK-COUNT-24: llvm.load
// CHECK: scf.for

// Room for the sums of six tiles, which begin as zeros; strips of 128 steps; the whole vectors of the
// last panel have 16 columns.
// CHECK-LABEL: func.func @"strips.x86-64-v4"
// CHECK: %[[ROOM:.*]] = arith.constant 2304 : i64
// CHECK: llvm.alloca %[[ROOM]] x f32
// CHECK: call @"tile/contract_adding_1x48.x86-64-v4"
// CHECK: call @"tile/contract_adding_8x48.x86-64-v4"
// CHECK: call @"tile/contract_adding_8x16.x86-64-v4"
// CHECK: call @"tile/contract_8x48.x86-64-v4"
// CHECK-LABEL: func.func @"narrow.x86-64-v4"
// CHECK-NOT: adding
// CHECK-LABEL: func.func @"short.x86-64-v4"
// CHECK-NOT: adding
