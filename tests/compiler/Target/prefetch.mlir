// SPDX-License-Identifier: Apache-2.0
// What kernels ask for before they need it.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s

!row = !dataflow.buffer<[tokens, 48], f32>
!long = !dataflow.buffer<[tokens, 256], f32>
!step = !dataflow.buffer<[steps, 48], f32>
!large = !dataflow.buffer<[steps, 4800], f32>
!matrix = !dataflow.buffer<[48, 48], f32>

// A tile asks for weights. Where k is short, that is all.
dataflow.kernel @short : (!row, !matrix, !row) -> !row computes #dataflow.contract<n = 48, k = 48> {
^bb0(%sum: f32, %x: f32):
  %0 = arith.addf %sum, %x : f32
  dataflow.yield %0
}
// The rows of the epilogue are asked for where a tile takes long enough for them to come: three lines
// of what is added, three of the result.
dataflow.kernel @long : (!long, !dataflow.buffer<[48, 256], f32>, !row) -> !row computes #dataflow.contract<n = 48, k = 256> {
^bb0(%sum: f32, %x: f32):
  %0 = arith.addf %sum, %x : f32
  dataflow.yield %0
}
// The weights of a loop's steps are in a cache after the first: a tile alone asks for nothing then.
dataflow.kernel @steps : (!step, !matrix) -> !step computes #dataflow.contract<n = 48, k = 48> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// 92 MB are not. Eight rows alone ask for every line that they will read; six leave it to the processor.
dataflow.kernel @steps_of_many : (!large, !dataflow.buffer<[4800, 4800], f32>) -> !large computes #dataflow.contract<n = 4800, k = 4800> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// Rows of 4 KB share sets of the first-level cache: more than four that are one tile are copied apart.
dataflow.kernel @spread : (!dataflow.buffer<[tokens, 1024], f32>, !dataflow.buffer<[384, 1024], f32>) -> !dataflow.buffer<[tokens, 384], f32> computes #dataflow.contract<n = 384, k = 1024> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// Copies are not worth while for few panels.
dataflow.kernel @narrow : (!dataflow.buffer<[tokens, 1024], f32>, !dataflow.buffer<[336, 1024], f32>) -> !dataflow.buffer<[tokens, 336], f32> computes #dataflow.contract<n = 336, k = 1024> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// A row of a table in panels has every element in a cache line of its own: they are asked for while the
// row before is read. Rows that lie together are not.
dataflow.kernel @panels : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[96, 16], f32>) -> !dataflow.buffer<[tokens, 16], f32> computes #dataflow.gather<width = 16, lookups = 1, encoded = [0]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @rows : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[96, 16], f32>) -> !dataflow.buffer<[tokens, 16], f32> computes #dataflow.gather<width = 16, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: func.func private @"tile/contract_unasked_8x48.x86-64-v4"
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_unasked_7x48.x86-64-v4"
// CHECK-LABEL: func.func private @"tile/contract_8x48.x86-64-v4"
// CHECK-COUNT-6: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_7x48.x86-64-v4"
// All lines are asked for twice.
// CHECK-LABEL: func.func private @"tile/contract_asking_8x48.x86-64-v4"
// CHECK-COUNT-24: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_asking_7x48.x86-64-v4"
// What a tile that is alone asks for depends on its rows.
// CHECK-LABEL: func.func @"short.x86-64-v4"
// CHECK-NOT: llvm.intr.prefetch
// CHECK: call @"tile/contract_1x48.x86-64-v4"
// CHECK: call @"tile/contract_2x48.x86-64-v4"
// CHECK: call @"tile/contract_unasked_3x48.x86-64-v4"
// CHECK: call @"tile/contract_unasked_6x48.x86-64-v4"
// CHECK: call @"tile/contract_asking_7x48.x86-64-v4"
// CHECK: call @"tile/contract_asking_8x48.x86-64-v4"
// CHECK: call @"tile/contract_1x48.x86-64-v4"
// CHECK: call @"tile/contract_8x48.x86-64-v4"
// CHECK-NOT: contract_unasked_8
// Once where tiles pass over strips, and once where each passes over the whole panel.
// CHECK-LABEL: func.func @"long.x86-64-v4"
// CHECK-COUNT-12: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-NOT: contract_unasked_8
// CHECK-LABEL: func.func @"steps.x86-64-v4"
// CHECK: call @"tile/contract_unasked_1x48.x86-64-v4"
// CHECK: call @"tile/contract_1x48.x86-64-v4"
// CHECK-LABEL: func.func @"steps_of_many.x86-64-v4"
// CHECK-NOT: contract_unasked_8
// CHECK-LABEL: func.func @"spread.x86-64-v4"
// CHECK: %[[ROOM:.*]] = arith.constant 8320 : i64
// CHECK: llvm.alloca %[[ROOM]] x f32
// CHECK-LABEL: func.func @"narrow.x86-64-v4"
// CHECK-NOT: arith.constant 8320 : i64
// CHECK-LABEL: func.func @"panels.x86-64-v4"
// CHECK-COUNT-16: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func @"rows.x86-64-v4"
// CHECK-NOT: llvm.intr.prefetch
