// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s --check-prefix=MINIMUMS

// Codes of a matrix are multiplied with their scales on the way into a tile or, for several tiles,
// once into scratch.

!x = !dataflow.buffer<[tokens, 80], f32>
!y = !dataflow.buffer<[tokens, 48], f32>
!w = !dataflow.buffer<[48, 80], !transformer.quantized<i8, 64>>
!m = !dataflow.buffer<[48, 80], !transformer.quantized<i4, 32, f16, minimums>>

transformer.parameter @a : tensor<48x80xf32> from "a"
transformer.parameter @w : tensor<48x80x!transformer.quantized<i8, 64>> = convert(@a)
transformer.parameter @m : tensor<48x80x!transformer.quantized<i4, 32, f16, minimums>> from "m"

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

// Behind the scales are minimums, which are added as codes are multiplied: codes of 4 bits are
// neither shifted by a zero nor multiplied on their own.
// MINIMUMS-LABEL: func.func private @"tile/contract_1x48_i4xf16minof32.x86-64-v4"
// MINIMUMS-COUNT-6: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// MINIMUMS: arith.andi
// MINIMUMS-NOT: arith.subi {{.*}} vector
// MINIMUMS: arith.sitofp {{.*}} : vector<16xi32> to vector<16xf32>
// MINIMUMS-NOT: arith.mulf
// MINIMUMS-COUNT-2: math.fma
// MINIMUMS-LABEL: func.func @"contract_least.x86-64-v4"
dataflow.kernel @contract_least : (!x, !m) -> !y computes #dataflow.contract<n = 48, k = 80> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}) {
  %w = dataflow.parameter @w : !w
  %m = dataflow.parameter @m : !m
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !y
  %1 = dataflow.dispatch @contract_least(%x, %m) : (!x, !m) -> !y
  dataflow.output %0, %1 : !y, !y
}
