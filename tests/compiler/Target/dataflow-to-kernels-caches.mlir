// SPDX-License-Identifier: Apache-2.0
// What kernels over paged caches are made of.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s

!keys = !dataflow.cache<[2, 16], f32, keys>
!values = !dataflow.cache<[2, 16], f32, rows>
!rows = !dataflow.buffer<[tokens, 32], f32>
!scores = !dataflow.buffer<[tokens, 2, longest], f32>

dataflow.kernel @append_keys : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @append_rows : (!values, !dataflow.buffer<[tokens, 32] in 96, f32>) -> !values computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @scores : (!dataflow.buffer<[tokens, 2, 16], f32>, !keys) -> !scores computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @bias : (!dataflow.buffer<[2, 9], f32>, !keys) -> !scores computes #dataflow.nest<"hr->thk", none, relative, keys_from> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @hidden : (!scores, !keys) -> !scores computes #dataflow.nest<"thk->thk", none, hidden = 0xFF800000 : f32, keys_from> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @embed : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, 32], f32>, !dataflow.buffer<[64, 32], f32>, !dataflow.buffer<[32], f32>) -> !rows
    computes #dataflow.gather<width = 32, lookups = 1, positions = [2], scales = array<f32: 4.0>> norm #dataflow.norm<rms_norm, 1.0e-06 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

dataflow.kernel @weights : (!rows, !dataflow.cache<[32], f32, keys>, !dataflow.buffer<[2, 9], f32>) -> !scores computes #dataflow.attention_weights<heads = 2, keySize = 16, scale = 5.000000e-01 : f32, visibility = <causal>, biasDistance = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @attend : (!scores, !dataflow.cache<[32], f32, rows>) -> !rows computes #dataflow.attend<heads = 2, valueSize = 16, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// A row's block is that of its position; a position of keys is scattered, one of values copied.
// CHECK-LABEL: func.func @"append_keys.x86-64-v3"
// CHECK: scf.for
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: scf.for
// CHECK-COUNT-8: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK-LABEL: func.func @"append_rows.x86-64-v3"
// CHECK: arith.remui
// CHECK: llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr

// CHECK-LABEL: func.func @"scores.x86-64-v3"
// CHECK: arith.remui
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf

// The distance of a key is held within the table.
// CHECK-LABEL: func.func @"bias.x86-64-v3"
// CHECK: arith.subi
// CHECK: arith.minsi
// CHECK: arith.maxsi

// CHECK-LABEL: func.func @"hidden.x86-64-v3"
// CHECK: arith.cmpi slt
// CHECK: arith.select

// CHECK-LABEL: func.func @"embed.x86-64-v3"
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: math.sqrt

// The next head's keys are asked for while one is computed, after the last head those of the first
// head of the next sequence: 16 lines for 16 numbers a key. Small tiles for few rows first; what is
// stored stays within the keys of the row.
// CHECK-LABEL: func.func @"weights.x86-64-v3"
// CHECK: scf.while
// CHECK: scf.if
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK: else
// CHECK: scf.if
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK: scf.if
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK: math.exp2 {{.*}} : vector<8xf32>
// CHECK: arith.divf
// CHECK: llvm.intr.masked.store

// Values lie in rows: a line of each is asked for. A hidden value is selected away, never multiplied
// by zero.
// CHECK-LABEL: func.func @"attend.x86-64-v3"
// CHECK-COUNT-2: llvm.intr.prefetch
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK: arith.select {{.*}} : vector<8xf32>
// CHECK-NOT: math.exp2
