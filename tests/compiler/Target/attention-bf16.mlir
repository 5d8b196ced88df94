// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3,x86-64-v4-amx" > %t
// RUN: FileCheck %s --check-prefix=V3 < %t
// RUN: FileCheck %s --check-prefix=AMX < %t
// RUN: FileCheck %s --check-prefix=F32 < %t

// Attention of bf16: rounding and FMA, or the tile registers of AMX.

!x = !dataflow.buffer<[tokens, 80], f32>

dataflow.kernel @bf16 : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 2, keySize = 40, valueSize = 40, scale = 1.0 : f32, visibility = <all>, arithmetic = bf16> {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @f32 : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 2, keySize = 40, valueSize = 40, scale = 1.0 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}) {
  %0 = dataflow.dispatch @bf16(%x, %x, %x) : (!x, !x, !x) -> !x
  %1 = dataflow.dispatch @f32(%x, %x, %x) : (!x, !x, !x) -> !x
  dataflow.output %0, %1 : !x, !x
}

// Half of the last bit is added to keys, values, queries and weights; maxima are whole numbers.
// V3-LABEL: func.func @"bf16.x86-64-v3"
// V3-NOT: llvm.x86
// V3: arith.constant dense<32767> : vector<8xi32>
// V3: llvm.intr.ceil
// V3-LABEL: func.func @"f32.x86-64-v3"

// All eight registers are full: 16 rows of 64 bytes. Heads of 40 elements take two registers of each
// vector of keys, and three of 32 values.
// AMX-LABEL: func.func @"bf16.x86-64-v4-amx"
// AMX: arith.constant dense<[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0]> : vector<64xi8>
// AMX: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// AMX: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// AMX-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// AMX-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// AMX: llvm.intr.ceil
// AMX: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// AMX-COUNT-3: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// AMX-COUNT-3: llvm.call_intrinsic "llvm.x86.tilestored64"
// AMX: llvm.call_intrinsic "llvm.x86.tilerelease"

// F32-LABEL: func.func @"f32.x86-64-v4-amx"
// F32-NOT: llvm.intr.ceil
// F32-NOT: tdpbf16ps
