// SPDX-License-Identifier: Apache-2.0
// Functions of the math dialect in a target's module become arithmetic; epilogues, which are a
// specification, keep them.
// RUN: heddle-opt %s -kernels-expand-math | FileCheck %s

dataflow.kernel @tanh : (!dataflow.buffer<[tokens, 40], f32>) -> !dataflow.buffer<[tokens, 40], f32>
    computes #dataflow.rows<width = 40> {
// CHECK: math.tanh
^bb0(%x: f32):
  %0 = math.tanh %x : f32
  dataflow.yield %0
}

// CHECK-LABEL: module @"x86-64-v3"
module @"x86-64-v3" {
  // Without an instruction for it, 2^n comes from the exponent's bits, in two halves.
  // CHECK-LABEL: func.func @exp2
  // CHECK-NOT: math.exp2
  // CHECK: math.fma
  // CHECK: arith.shrsi
  // CHECK: arith.bitcast
  func.func @exp2(%x: vector<8xf32>) -> vector<8xf32> {
    %0 = math.exp2 %x : vector<8xf32>
    return %0 : vector<8xf32>
  }
}

// CHECK-LABEL: module @"x86-64-v4"
module @"x86-64-v4" {
  // CHECK-LABEL: func.func @exp2
  // CHECK: llvm.x86.avx512.mask.scalef.ps.512
  func.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.exp2 %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
  // CHECK-LABEL: func.func @exp
  // CHECK-NOT: math.exp
  // CHECK: return
  func.func @exp(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    return %0 : f32
  }
  // Both branches of erf are computed, one is selected.
  // CHECK-LABEL: func.func @erf
  // CHECK-NOT: math.erf
  // CHECK: math.copysign
  // CHECK: arith.select
  func.func @erf(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.erf %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
  // 1 + erf(x) is erfc(-x), one function: the one is not added any more.
  // CHECK-LABEL: func.func @one_plus_erf
  // CHECK-NOT: math.copysign
  // CHECK: %[[TAIL:.*]] = arith.subf
  // CHECK: return
  func.func @one_plus_erf(%x: vector<16xf32>) -> vector<16xf32> {
    %one = arith.constant dense<1.0> : vector<16xf32>
    %0 = math.erf %x : vector<16xf32>
    %1 = arith.addf %0, %one : vector<16xf32>
    return %1 : vector<16xf32>
  }
  // Radians of any size are reduced in f64; both polynomials are computed, one is selected.
  // CHECK-LABEL: func.func @sin
  // CHECK-NOT: math.sin
  // CHECK: arith.extf %{{.*}} : vector<16xf32> to vector<16xf64>
  // CHECK: arith.trunci %{{.*}} : vector<16xi64> to vector<16xi32>
  // CHECK: arith.xori
  func.func @sin(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.sin %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
  // CHECK-LABEL: func.func @cos
  // CHECK-NOT: math.cos
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  func.func @cos(%x: f32) -> f32 {
    %0 = math.cos %x : f32
    return %0 : f32
  }
  // Numbers below the normal ones are scaled first.
  // CHECK-LABEL: func.func @log(
  // CHECK-NOT: math.log
  // CHECK: arith.select
  // CHECK: math.fma
  func.func @log(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.log %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
  // CHECK-LABEL: func.func @log1p
  // CHECK-NOT: math.log1p
  // CHECK: arith.sitofp
  func.func @log1p(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.log1p %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
  // A second user needs erf itself.
  // CHECK-LABEL: func.func @erf_used_twice
  // CHECK: math.copysign
  func.func @erf_used_twice(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
    %one = arith.constant dense<1.0> : vector<16xf32>
    %0 = math.erf %x : vector<16xf32>
    %1 = arith.addf %0, %one : vector<16xf32>
    return %0, %1 : vector<16xf32>, vector<16xf32>
  }
}
