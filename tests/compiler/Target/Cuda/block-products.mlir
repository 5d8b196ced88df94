// SPDX-License-Identifier: Apache-2.0
// Products of numbers as blocks compute them; other products stay with threads that are callers.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" -kernels-add-entries | FileCheck %s --check-prefix=ENTRY
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80:16" | FileCheck %s --check-prefix=NARROW

// Panels of a width that somebody has asked for: no block, no shared memory.
// NARROW-NOT: nvvm.
// NARROW-NOT: addr_space

// CHECK-LABEL: module @sm_80
// One array for all kernels, of the size that each is launched with.
// CHECK: llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

dataflow.kernel @product : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], f32>, !dataflow.buffer<[72], f32>) -> !dataflow.buffer<[tokens, 72], f32>
    computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32, %bias: f32):
  %0 = arith.addf %sum, %bias : f32
  dataflow.yield %0
}
// 128 threads; tiles of 128 rows and two panels, of 16 rows and one up to 64 rows.
// CHECK: func.func @product.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43776, 128, 2, 16, 1, 64>}
// CHECK: nvvm.read.ptx.sreg.tid.x
// Five stages for few rows: slabs of 32 steps, of which the last lacks 24. What is not there is zero.
// CHECK: nvvm.barrier0
// CHECK: nvvm.cp.async.shared.global {{.*}}, 4, cache = ca, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
// CHECK-COUNT-4: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 3
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.cp.async.commit.group
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: math.fma
// Three for many.
// CHECK-COUNT-2: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier0
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: math.fma
// Sums go through shared memory to the epilogue.
// CHECK: nvvm.barrier0
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: arith.addf

// Slabs are whole: nothing is filled with zeros.
dataflow.kernel @whole : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[48, 64], bf16>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @whole.sm_80({{.*}}) attributes {dataflow.block_work
// CHECK: nvvm.cp.async.shared.global {{.*}}, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// Elements of bf16 become f32 on their way into registers.
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xi16>
// CHECK: arith.shli
// CHECK: math.fma

// CHECK-NOT: block_work
dataflow.kernel @groups : (!dataflow.buffer<[tokens, 80], f32>, !dataflow.buffer<[96, 40], f32>) -> !dataflow.buffer<[tokens, 96], f32>
    computes #dataflow.contract<n = 48, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @codes : (!dataflow.buffer<[tokens, 80], f32>, !dataflow.buffer<[48, 80], !transformer.quantized<i8, 64>>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 80> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// A block takes every n-th tile, n the number of blocks; its context is the launch's.
// ENTRY-LABEL: llvm.func @product(
// ENTRY-SAME: attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>}
// ENTRY-NOT: llvm.alloca
// ENTRY-DAG: nvvm.read.ptx.sreg.ctaid.x
// ENTRY-DAG: nvvm.read.ptx.sreg.nctaid.x
// ENTRY: scf.while
// ENTRY: func.call @product.sm_80
// ENTRY-LABEL: llvm.func @groups(
// ENTRY-SAME: attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>}
// ENTRY: llvm.alloca
