// SPDX-License-Identifier: Apache-2.0
// What kernels over caches of bf16 are made of: integers round what is appended, whatever the
// target, and what is read is widened where it is multiplied.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v4-bf16" | FileCheck %s --check-prefix=WIDE

!keys = !dataflow.cache<[32], bf16, keys>
!values = !dataflow.cache<[32], bf16, rows>
!rows = !dataflow.buffer<[tokens, 32], f32>

dataflow.kernel @append_keys : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @append_rows : (!values, !rows) -> !values computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @attention : (!rows, !keys, !values) -> !rows computes #dataflow.attention<heads = 2, keySize = 16, valueSize = 16, scale = 5.000000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @nest : (!dataflow.buffer<[tokens, 2, 16], f32>, !dataflow.cache<[2, 16], bf16, keys>) -> !dataflow.buffer<[tokens, 2, longest], f32> computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k fastmath<contract> : f32
  dataflow.yield %0
}

// CHECK-LABEL: func.func @"append_keys.x86-64-v3"
// CHECK: arith.bitcast %{{.*}} : vector<8xf32> to vector<8xi32>
// CHECK: arith.cmpf uno
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<8xi16>, !llvm.ptr
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr
// CHECK-LABEL: func.func @"append_rows.x86-64-v3"
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<8xi16>, !llvm.ptr

// The lines that are asked for are half as many as of f32.
// CHECK-LABEL: func.func @"attention.x86-64-v3"
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: arith.extui %{{.*}} : vector<8xi16> to vector<8xi32>
// CHECK: math.fma
// CHECK-LABEL: func.func @"nest.x86-64-v3"
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16

// The instruction that rounds takes small numbers for zero.
// WIDE-LABEL: func.func @"append_rows.x86-64-v4-bf16"
// WIDE-NOT: cvtneps2bf16
// WIDE: llvm.store %{{.*}} {alignment = 2 : i64} : vector<16xi16>, !llvm.ptr
