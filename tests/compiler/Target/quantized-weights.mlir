// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s

// Codes of a matrix are multiplied with their scales on the way into a tile or, for several tiles,
// once into scratch.

!x = !dataflow.buffer<[tokens, 80], f32>
!y = !dataflow.buffer<[tokens, 48], f32>
!w = !dataflow.buffer<[48, 80], !transformer.quantized<i8, 64>>

transformer.parameter @a : tensor<48x80xf32> from "a"
transformer.parameter @w : tensor<48x80x!transformer.quantized<i8, 64>> = convert(@a)

// The tile of one row: for every 64 of k three vectors of scales, then the codes behind them.
// CHECK-LABEL: func.func private @"tile/contract_1x48_i8of64.x86-64-v4"
// CHECK: scf.for
// CHECK: llvm.getelementptr
// CHECK-COUNT-3: llvm.load {{.*}} vector<16xf32>
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// CHECK: arith.mulf
// CHECK: math.fma
// CHECK-LABEL: func.func @"contract.x86-64-v4"
// One tile reads codes, more than one read what is unpacked before.
// CHECK: scf.if
// CHECK: } else {
// CHECK: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// CHECK: arith.mulf
// CHECK: llvm.store
// CHECK: func.call @"tile/contract_1x48_i8of64.x86-64-v4"
// CHECK: func.call @"tile/contract_1x48.x86-64-v4"
dataflow.kernel @contract : (!x, !w) -> !y computes #dataflow.contract<n = 48, k = 80> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) {
  %w = dataflow.parameter @w : !w
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !y
  dataflow.output %0 : !y
}
