// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4-amx" -convert-dataflow-to-kernels="targets=x86-64-v4-amx" > %t
// RUN: FileCheck %s --check-prefix=BF16 < %t
// RUN: FileCheck %s --check-prefix=ROWS < %t
// RUN: FileCheck %s --check-prefix=GROUPS < %t
// RUN: FileCheck %s --check-prefix=SMALL < %t
// RUN: FileCheck %s --check-prefix=F32 < %t

// Which products run on the tile registers of AMX, and how these are set up.

!x = !dataflow.buffer<[tokens, 80], f32>
!y = !dataflow.buffer<[tokens, 48], f32>
!b = !dataflow.buffer<[48, 80], bf16>
!r = !dataflow.buffer<[48, 80], !transformer.quantized<i8, row>>
!g = !dataflow.buffer<[48, 80], !transformer.quantized<i8, 64>>
!s = !dataflow.buffer<[48, 80], !transformer.quantized<i8, 16>>
!f = !dataflow.buffer<[48, 80], f32>

transformer.parameter @f : tensor<48x80xf32> from "f"
transformer.parameter @b : tensor<48x80xbf16> = convert(@f)
transformer.parameter @r : tensor<48x80x!transformer.quantized<i8, row>> = convert(@f)
transformer.parameter @g : tensor<48x80x!transformer.quantized<i8, 64>> = convert(@f)
transformer.parameter @s : tensor<48x80x!transformer.quantized<i8, 16>> = convert(@f)

dataflow.kernel @bf16 : (!x, !b) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @rows : (!x, !r) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @groups : (!x, !g) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @small : (!x, !s) -> !y computes #dataflow.contract<n = 48, k = 80, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @f32 : (!x, !f) -> !y computes #dataflow.contract<n = 48, k = 80> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "a"}, !y {dataflow.name = "b"}, !y {dataflow.name = "c"}, !y {dataflow.name = "d"}, !y {dataflow.name = "e"}) {
  %b = dataflow.parameter @b : !b
  %r = dataflow.parameter @r : !r
  %g = dataflow.parameter @g : !g
  %s = dataflow.parameter @s : !s
  %f = dataflow.parameter @f : !f
  %0 = dataflow.dispatch @bf16(%x, %b) : (!x, !b) -> !y
  %1 = dataflow.dispatch @rows(%x, %r) : (!x, !r) -> !y
  %2 = dataflow.dispatch @groups(%x, %g) : (!x, !g) -> !y
  %3 = dataflow.dispatch @small(%x, %s) : (!x, !s) -> !y
  %4 = dataflow.dispatch @f32(%x, %f) : (!x, !f) -> !y
  dataflow.output %0, %1, %2, %3, %4 : !y, !y, !y, !y, !y
}

// 32 steps at a time, then those that are left of 80. Tiles that share the asking ask for 24 lines in four rounds.
// BF16-LABEL: func.func private @"tile/contract_16x48_bf16_by2.x86-64-v4-amx"
// BF16-COUNT-3: llvm.call_intrinsic "llvm.x86.tilezero"
// BF16: scf.for
// BF16-COUNT-24: llvm.intr.prefetch
// BF16: llvm.call_intrinsic "llvm.x86.tileloadd64"
// BF16-COUNT-3: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// BF16: scf.if
// BF16: llvm.call_intrinsic "llvm.x86.tileloadd64"
// BF16-COUNT-3: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// BF16-COUNT-3: llvm.call_intrinsic "llvm.x86.tilestored64"
// Palette 1; rows of 64 bytes, but of 32 in register 5; 16 rows, but 8 in register 6.
// BF16-LABEL: func.func @"bf16.x86-64-v4-amx"
// BF16: arith.constant dense<[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 32, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : vector<64xi8>
// BF16: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// BF16-NOT: contract_8x48
// BF16: func.call @"tile/contract_16x48_bf16_by2.x86-64-v4-amx"
// BF16: llvm.call_intrinsic "llvm.x86.tilerelease"

// ROWS-LABEL: func.func private @"tile/contract_16x48_i8_by4.x86-64-v4-amx"
// ROWS-COUNT-6: llvm.call_intrinsic "llvm.x86.tdpbusd"
// ROWS-COUNT-3: llvm.call_intrinsic "llvm.x86.tilestored64"
// ROWS: arith.sitofp
// ROWS-LABEL: func.func @"rows.x86-64-v4-amx"
// ROWS: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// ROWS: llvm.call_intrinsic "llvm.x86.tilerelease"

// Sums of a group are scaled and added before the next one.
// GROUPS-LABEL: func.func private @"tile/contract_16x48_i8_by4of64.x86-64-v4-amx"
// GROUPS-COUNT-6: llvm.call_intrinsic "llvm.x86.tdpbusd"
// GROUPS: scf.for
// GROUPS-COUNT-6: llvm.call_intrinsic "llvm.x86.tdpbusd"

// Groups that do not fill a register, and f32, have the tiles of vectors.
// SMALL-LABEL: func.func private @"tile/contract_8x48_i8_by4of16.x86-64-v4-amx"
// SMALL-LABEL: func.func @"small.x86-64-v4-amx"
// SMALL-NOT: ldtilecfg
// SMALL-LABEL: func.func @"f32.x86-64-v4-amx"
// F32-LABEL: func.func private @"tile/contract_8x48.x86-64-v4-amx"
// F32-LABEL: func.func @"f32.x86-64-v4-amx"
// F32-NOT: ldtilecfg
