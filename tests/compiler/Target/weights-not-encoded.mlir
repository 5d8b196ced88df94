// SPDX-License-Identifier: Apache-2.0
// RUN: not heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v4" 2>&1 | FileCheck %s
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4" -convert-dataflow-to-kernels="targets=x86-64-v4" | FileCheck %s --check-prefix=ENCODED

// Kernels read panels whatever the text says: weights that do not lie so are refused.

// CHECK: 'dataflow.dispatch' op reads weights that are not stored as target 'x86-64-v4' reads them, expected panels of 48 columns, as the pass dataflow-encode-weights stores them for the same targets
// ENCODED: func.func @"contract.x86-64-v4"

!x = !dataflow.buffer<[tokens, 40], f32>
transformer.parameter @w : tensor<40x40xf32> from "w"
dataflow.kernel @contract : (!x, !dataflow.buffer<[40, 40], f32>) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @w : !dataflow.buffer<[40, 40], f32>
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !dataflow.buffer<[40, 40], f32>) -> !x
  dataflow.output %0 : !x
}
