// SPDX-License-Identifier: Apache-2.0
// Products of integers as blocks compute them, and those that stay with threads that are callers.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_90a" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80:16" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=PROCESSOR

// REPORT: sm_80: integers by blocks, in tiles of 64 x 192, up to 64 rows of 16 x 48
// REPORT: sm_80: integers by blocks, in tiles of 64 x 96, up to 64 rows of 16 x 48
// REPORT: sm_80: integers by blocks, in tiles of 64 x 96, up to 64 rows of 16 x 48
// REPORT: sm_80: thread by thread: 256 elements share a scale, expected at most 128 or the whole row
// REPORT: sm_80: integers by blocks, in tiles of 64 x 48, up to 64 rows of 16 x 48
// REPORT: sm_80: dequantised weights by blocks, in tiles of 128 x 96, up to 64 rows of 16 x 48
// HOPPER: sm_90a: integers by blocks, in tiles of 64 x 192, up to 64 rows of 16 x 48
// NARROW: sm_80: thread by thread: its panels have 16 columns
// PROCESSOR-NOT: thread by thread
// PROCESSOR-NOT: by blocks

!x = !dataflow.buffer<[tokens, 384], f32>
!y = !dataflow.buffer<[tokens, 48], f32>

dataflow.kernel @rows : (!x, !dataflow.buffer<[48, 384], !transformer.quantized<i8, row>>) -> !y
    computes #dataflow.contract<n = 48, k = 384, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @rows.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 49152, 64, 4, 16, 1, 64, 2, 0>}
// Six stages for few rows. Factors of columns and extents of rows come before the loop over slabs.
// CHECK-COUNT-5: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-15: nvvm.shfl.sync  bfly
// CHECK: arith.divf
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// Four codes are a word.
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-COUNT-4: arith.minsi
// CHECK: llvm.store {{.*}} {alignment = 4 : i64} : vector<1xi32>, !llvm.ptr<3>
// CHECK: nvvm.cp.async.wait.group 4
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// Sums become numbers after the last slab.
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier0
// CHECK: arith.subi
// CHECK: arith.sitofp

dataflow.kernel @groups : (!x, !dataflow.buffer<[48, 384], !transformer.quantized<i8, 128>>) -> !y
    computes #dataflow.contract<n = 48, k = 384, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// A slab has 128 steps, a group, for few rows and for many. Its 32 lanes find the extent.
// CHECK: func.func @groups.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, {{[0-9]+}}, 64, 2, 16, 1, 64, 2, 0>}
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-15: nvvm.shfl.sync  bfly
// CHECK: arith.divf
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK: arith.sitofp
// CHECK: math.fma

dataflow.kernel @halves : (!x, !dataflow.buffer<[48, 384], !transformer.quantized<i4, 32, bf16>>) -> !y
    computes #dataflow.contract<n = 48, k = 384, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// Four groups in a slab for few rows, each of 8 lanes. A word of a column is two words of codes.
// CHECK: func.func @halves.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, {{[0-9]+}}, 64, 2, 16, 1, 64, 2, 0>}
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-9: nvvm.shfl.sync  bfly
// CHECK: nvvm.ldmatrix
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-NOT: llvm.load
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<u8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>
// The second product is of the other matrix of columns, the third one adds the row's codes.
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: math.fma

// CHECK: func.func @large.sm_80
// CHECK-NOT: block_work
dataflow.kernel @large : (!x, !dataflow.buffer<[48, 384], !transformer.quantized<i8, 256>>) -> !y
    computes #dataflow.contract<n = 48, k = 384, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// Tiles of groups of columns have one panel.
// CHECK: func.func @columns.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, {{[0-9]+}}, 64, 1, 16, 1, 64, 2, 0>}
// CHECK: nvvm.mma.sync
dataflow.kernel @columns : (!x, !dataflow.buffer<[48, 192], !transformer.quantized<i8, row>>) -> !y
    computes #dataflow.contract<n = 24, k = 192, groups = 2, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @dequantised : (!x, !dataflow.buffer<[48, 384], !transformer.quantized<i8, row>>) -> !y
    computes #dataflow.contract<n = 48, k = 384> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @dequantised.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, {{[0-9]+}}, 128, 2, 16, 1, 64, 2, 0>}
// The first slab of few rows: six slabs are in flight, and all threads see the first before it is
// dequantised.
// CHECK-COUNT-6: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 5
// CHECK-NEXT: nvvm.barrier0
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xi8>
// CHECK-NEXT: arith.sitofp {{.*}} : vector<4xi8> to vector<4xf32>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-4: arith.mulf
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// Every later slab is dequantised before the one that came before it is multiplied.
// CHECK: nvvm.cp.async.wait.group 4
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.cp.async.commit.group
// CHECK: arith.sitofp
// CHECK: math.fma
