// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

// What ports say about their tensors in files is kept.
// CHECK-LABEL: dataflow.graph @run(
// CHECK-SAME: %{{.*}}: !dataflow.buffer<[tokens, 8], f32> {dataflow.axes = array<i64: -1, 2, -2, 4>, dataflow.name = "x", dataflow.rows = 3 : i64}
// CHECK-SAME: -> (!dataflow.buffer<[tokens, 8], f32> {dataflow.after = "past", dataflow.axes = array<i64: -1, -2, 8>, dataflow.name = "y"})
func.func @run(%x: tensor<?x8xf32> {transformer.name = "x", transformer.axes = array<i64: -1, 2, -2, 4>, transformer.rows = 3 : i64}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y", transformer.axes = array<i64: -1, -2, 8>, transformer.after = "past"}) {
  %y = transformer.activate tanh %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
