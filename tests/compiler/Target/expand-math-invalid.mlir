// SPDX-License-Identifier: Apache-2.0
// Kernels may have any maths; a target says which of it it has no code for.
// RUN: heddle-opt %s -kernels-expand-math -split-input-file -verify-diagnostics

module @"x86-64-v4" {
  func.func @cbrt(%x: vector<16xf32>) -> vector<16xf32> {
    // expected-error@+1 {{'math.cbrt' op has no code for target 'x86-64-v4', expected maths that it has instructions or arithmetic for}}
    %0 = math.cbrt %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
}

// -----

module @"x86-64-v3" {
  func.func @remainder(%x: f32, %y: f32) -> f32 {
    // expected-error@+1 {{'arith.remf' op has no code for target 'x86-64-v3', expected maths that it has instructions or arithmetic for}}
    %0 = arith.remf %x, %y : f32
    return %0 : f32
  }
}

// -----

// A specification, which another target may have code for.
dataflow.kernel @cbrt : (!dataflow.buffer<[tokens, 40], f32>) -> !dataflow.buffer<[tokens, 40], f32>
    computes #dataflow.rows<width = 40> {
^bb0(%x: f32):
  %0 = math.cbrt %x : f32
  dataflow.yield %0
}
