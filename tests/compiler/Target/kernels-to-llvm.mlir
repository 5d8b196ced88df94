// SPDX-License-Identifier: Apache-2.0
// Every function of a target's module says its processor and vector width; tiles stay functions.
// RUN: heddle-opt %s -convert-kernels-to-llvm | FileCheck %s

// CHECK-LABEL: module @"x86-64-v4"
module @"x86-64-v4" {
  // CHECK: llvm.func internal @tile(%{{.*}}: !llvm.ptr)
  // CHECK-SAME: "prefer-vector-width", "512"
  // CHECK-SAME: "min-legal-vector-width", "512"
  // CHECK-SAME: "no-builtins"
  // CHECK-SAME: "noinline"
  // CHECK-SAME: target_cpu = "x86-64-v4"
  func.func private @tile(%a: !llvm.ptr) {
    return
  }
  // CHECK: llvm.func @kernel
  // CHECK-NOT: noinline
  // CHECK: llvm.intr.fma
  // CHECK: llvm.cond_br
  // CHECK: llvm.call @tile
  func.func @kernel(%a: !llvm.ptr, %n: i64, %x: vector<16xf32>) -> vector<16xf32> {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %y = math.fma %x, %x, %x : vector<16xf32>
    scf.for %i = %zero to %n step %one : i64 {
      func.call @tile(%a) : (!llvm.ptr) -> ()
    }
    return %y : vector<16xf32>
  }
}

// A module that is not a target's is left as it is.
// CHECK-LABEL: module @other
module @other {
  // CHECK: func.func @kernel
  func.func @kernel() {
    return
  }
}
