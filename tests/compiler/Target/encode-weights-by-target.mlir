// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4" | FileCheck %s
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4:16" | FileCheck %s --check-prefix=SAME
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v3:16,x86-64-v4" | FileCheck %s --check-prefix=KERNELS
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4" 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4,x86-64-v3:16" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:20" 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4:144" 2>&1 | FileCheck %s --check-prefix=WIDEST
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4:wide" 2>&1 | FileCheck %s --check-prefix=WORD

// Targets that store matrices in different ways have an encoding each; those that agree share one.

// FEWER: 'dataflow.dispatch' op reads weights that are not stored as target 'x86-64-v4' reads them, expected panels of 48 columns
// ORDER: 'dataflow.dispatch' op reads weights that are not stored as target 'x86-64-v4' reads them, expected panels of 48 columns
// WIDTH: target "x86-64-v3" has panels of "20" columns, expected a multiple of 8 up to 128
// WIDEST: target "x86-64-v4" has panels of "144" columns, expected a multiple of 16 up to 128
// WORD: target "x86-64-v4" has panels of "wide" columns, expected a multiple of 16 up to 128

// CHECK: transformer.parameter @w.packed16 : tensor<5x40x16xf32> = pack(@w, 16)
// CHECK: transformer.parameter @w.packed48 : tensor<2x40x48xf32> = pack(@w, 48)
// CHECK: dataflow.parameter @w as [@w.packed16, @w.packed48] : !dataflow.buffer<[80, 40], f32>
// CHECK-NOT: dataflow.parameter
// SAME: transformer.parameter @w.packed16 : tensor<5x40x16xf32> = pack(@w, 16)
// SAME-NOT: pack(
// SAME: dataflow.parameter @w as @w.packed16 :

// A module says how its kernels cut columns where that is not what the target does by itself.
// KERNELS: module @"x86-64-v3" attributes {dataflow.panel_columns = 16 : i64} {
// KERNELS: module @"x86-64-v4" {

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 80], f32>
transformer.parameter @w : tensor<80x40xf32> from "w"
dataflow.kernel @contract : (!x, !dataflow.buffer<[80, 40], f32>) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.graph @one(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) {
  %w = dataflow.parameter @w : !dataflow.buffer<[80, 40], f32>
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !dataflow.buffer<[80, 40], f32>) -> !y
  dataflow.output %0 : !y
}
