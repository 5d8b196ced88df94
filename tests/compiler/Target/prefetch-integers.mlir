// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4-vnni" -convert-dataflow-to-kernels="targets=x86-64-v4-vnni" | FileCheck %s

// How many lines a tile of a product of integers asks for in a round (docs/performance.md).

!x = !dataflow.buffer<[tokens, 80], f32>
!y = !dataflow.buffer<[tokens, 48], f32>
!w = !dataflow.buffer<[48, 80], !transformer.quantized<i8, row>>
!v = !dataflow.buffer<[48, 80], !transformer.quantized<i4, 16>>

transformer.parameter @a : tensor<48x80xf32> from "a"
transformer.parameter @w : tensor<48x80x!transformer.quantized<i8, row>> = convert(@a)
transformer.parameter @v : tensor<48x80x!transformer.quantized<i4, 16>> = convert(@a)

dataflow.kernel @eight : (!x, !w) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @four : (!x, !v) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}) {
  %w = dataflow.parameter @w : !w
  %v = dataflow.parameter @v : !v
  %0 = dataflow.dispatch @eight(%x, %w) : (!x, !w) -> !y
  %1 = dataflow.dispatch @four(%x, %v) : (!x, !v) -> !y
  dataflow.output %0, %1 : !y, !y
}

// Codes of 4 bits have a loop over pairs of groups and one for what is left. Only full tiles share the asking.
// CHECK-LABEL: func.func private @"tile/contract_8x48_i4_by8of16.x86-64-v4-vnni"
// CHECK-COUNT-12: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_unasked_8x48_i4_by8of16.x86-64-v4-vnni"
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_unasked_7x48_i4_by8of16.x86-64-v4-vnni"
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_8x48_i8_by4.x86-64-v4-vnni"
// CHECK-COUNT-3: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// A tile that is alone asks for one line, but for that of one row.
// CHECK-LABEL: func.func private @"tile/contract_asking_8x48_i8_by4.x86-64-v4-vnni"
// CHECK-COUNT-1: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func private @"tile/contract_asking_7x48_i8_by4.x86-64-v4-vnni"
// CHECK-LABEL: func.func private @"tile/contract_1x48_i8_by4.x86-64-v4-vnni"
// CHECK-COUNT-3: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-LABEL: func.func @"eight.x86-64-v4-vnni"
