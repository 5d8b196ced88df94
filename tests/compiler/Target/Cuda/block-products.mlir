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
// CHECK: func.func @product.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43776, 128, 2, 16, 1, 64, 2, 0>}
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

// Products of bf16: tensor cores. Weights are copied as they lie, a word for two steps of a column.
dataflow.kernel @rounded : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], bf16>) -> !dataflow.buffer<[tokens, 72], f32>
    computes #dataflow.contract<n = 72, k = 40, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @rounded.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43008, 128, 2, 16, 1, 64, 2, 0>}
// Rows are loaded four elements at a time, and rounded and stored when the next ones are loaded.
// CHECK-COUNT-4: nvvm.cp.async.commit.group
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: nvvm.convert.f32x2.to.bf16x2 %{{.*}}, %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
// CHECK: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: nvvm.cp.async.wait.group 3
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
// Two loads of two words serve two instructions.
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// Of many rows four matrices, each for six of columns.
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: nvvm.ldmatrix

// Products that may be of tf32: the same tile, a word for each step. Rows are rounded on their way to
// shared memory, weights when they are multiplied; the slabs of few rows have 32 steps.
dataflow.kernel @tf32 : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[72, 64], f32>) -> !dataflow.buffer<[tokens, 72], f32>
    computes #dataflow.contract<n = 72, k = 64> attributes {dataflow.float_products = "tf32"} {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @tf32.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43008, 128, 2, 16, 1, 64, 2, 0>}
// CHECK-COUNT-4: nvvm.cp.async.commit.group
// CHECK-COUNT-4: nvvm.convert.float.to.tf32 {{.*}}rnd = #nvvm.fp_rnd_mode<rna>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.cp.async.wait.group 3
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK-NOT: nvvm.convert
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-COUNT-2: nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK-COUNT-2: nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync
// CHECK: nvvm.ldmatrix

// Three products of tf32 for one: of each number of both matrices a rounded one, and the rounded rest.
dataflow.kernel @tf32x3 : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[72, 64], f32>) -> !dataflow.buffer<[tokens, 72], f32>
    computes #dataflow.contract<n = 72, k = 64> attributes {dataflow.float_products = "tf32x3"} {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @tf32x3.sm_80(
// CHECK-NOT: nvvm.convert
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.convert.float.to.tf32
// CHECK: arith.subf
// CHECK: nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync {{.*}}tf32
// CHECK-NOT: nvvm.convert
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: nvvm.convert

// Columns of a wider buffer may begin anywhere: element by element.
dataflow.kernel @anywhere : (!dataflow.buffer<[tokens, 64] in 128, f32>, !dataflow.buffer<[48, 64], bf16>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 64, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @anywhere.sm_80(
// CHECK-NOT: !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32

// A panel belongs to one group of columns, so tiles have one panel.
// CHECK: func.func @groups.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43520, 128, 1, 16, 1, 64, 2, 0>}
dataflow.kernel @groups : (!dataflow.buffer<[tokens, 80], f32>, !dataflow.buffer<[96, 40], f32>) -> !dataflow.buffer<[tokens, 96], f32>
    computes #dataflow.contract<n = 48, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// Rows that choose groups: a block finds the end of a group among up to 16 or 128 places.
// CHECK: func.func @experts.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 43776, 128, 2, 16, 1, 64, 2, 0>}
// CHECK: %[[FOUR_STEPS:.*]] = arith.constant 4 : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[FOUR_STEPS]]
dataflow.kernel @experts : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[192, 40], f32>, !dataflow.buffer<[tokens], i32>, !dataflow.buffer<[tokens], i32>) -> !dataflow.buffer<[tokens, 96], f32>
    computes #dataflow.contract_chosen<n = 96, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// The same on tensor cores.
// CHECK: func.func @columns.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 39936, 128, 1, 16, 1, 64, 2, 0>}
// CHECK: nvvm.mma.sync
dataflow.kernel @columns : (!dataflow.buffer<[tokens, 80], f32>, !dataflow.buffer<[48, 40], bf16>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 24, k = 40, groups = 2, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// A block takes every n-th tile, n the number of blocks; its context is the launch's.
// ENTRY-LABEL: llvm.func @product(
// ENTRY-SAME: attributes {nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 128>, passthrough = ["heddle-together"]}
// ENTRY-NOT: llvm.alloca
// ENTRY-DAG: nvvm.read.ptx.sreg.ctaid.x
// ENTRY-DAG: nvvm.read.ptx.sreg.nctaid.x
// ENTRY: scf.while
// ENTRY: func.call @product.sm_80
// ENTRY-LABEL: llvm.func @columns(
// ENTRY-SAME: attributes {nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 128>, passthrough = ["heddle-together"]}
// ENTRY-NOT: llvm.alloca
