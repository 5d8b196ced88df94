// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// Matrices of products and tables are stored in bf16; biases and norms stay as they are.

// REPORT-DAG: weight_bytes=5760, what="stored in bf16", where=w
// REPORT-DAG: weight_bytes=2400, what="stored in bf16", where=table
// REPORT-NOT: bias

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 72], f32>
!ids = !dataflow.buffer<[tokens], i32>

// CHECK-DAG: transformer.parameter @w.bf16 : tensor<72x40xbf16> = {{ *}}convert(@w)
// CHECK-DAG: transformer.parameter @table.bf16 : tensor<30x40xbf16> = {{ *}}convert(@table)
transformer.parameter @w : tensor<72x40xf32> from "w" loc("w")
transformer.parameter @table : tensor<30x40xf32> from "table" loc("table")
transformer.parameter @bias : tensor<72xf32> from "bias" loc("bias")

// CHECK: dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 40], bf16>) -> !dataflow.buffer<[tokens, 40], f32>
dataflow.kernel @gather : (!ids, !dataflow.buffer<[30, 40], f32>) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], bf16>, !dataflow.buffer<[72], f32>) -> !dataflow.buffer<[tokens, 72], f32>
dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], f32>, !dataflow.buffer<[72], f32>) -> !y computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32, %b: f32):
  %0 = arith.addf %sum, %b : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.graph @encode
// CHECK-DAG: %[[TABLE:.*]] = dataflow.parameter @table.bf16 : !dataflow.buffer<[30, 40], bf16>
// CHECK-DAG: %[[W:.*]] = dataflow.parameter @w.bf16 : !dataflow.buffer<[72, 40], bf16>
// CHECK-DAG: %[[B:.*]] = dataflow.parameter @bias : !dataflow.buffer<[72], f32>
// CHECK: dataflow.dispatch @gather(%{{.*}}, %[[TABLE]])
// CHECK: dataflow.dispatch @contract(%{{.*}}, %[[W]], %[[B]])
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 30 : i64}) -> (!y {dataflow.name = "y"}) {
  %t = dataflow.parameter @table : !dataflow.buffer<[30, 40], f32>
  %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
  %b = dataflow.parameter @bias : !dataflow.buffer<[72], f32>
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !dataflow.buffer<[30, 40], f32>) -> !x
  %y = dataflow.dispatch @contract(%x, %w, %b) : (!x, !dataflow.buffer<[72, 40], f32>, !dataflow.buffer<[72], f32>) -> !y
  dataflow.output %y : !y
}
