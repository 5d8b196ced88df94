// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int4" -dataflow-narrow-rows="precision=int4" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: not heddle-opt %s -dataflow-narrow-weights="precision=int4-g12" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int4-g40" | FileCheck %s --check-prefix=ROW

// Matrices of products have codes of 4 bits with a scale and a zero for every group, and their rows
// are quantised by the same. Tables, multiplied with or not, have 8 bits and a scale a row, those by
// position are bf16, and those of fewer than 16 rows stay as they are.

// REPORT-DAG: weight_bytes=9504, what="stored in i4, one scale and code of zero for every 32 of a row", where=w
// REPORT-DAG: weight_bytes=3480, what="stored in i8, one scale for each row", where=table
// REPORT-DAG: what="rows quantised by 32 elements, products of integers"
// REPORT-DAG: what="rows quantised whole, products of integers"
// GROUP: error: precision is "int4-g12", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, int8, int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean "int8-g128"?
// ROW: transformer.parameter @w.i4 : tensor<72x40x!transformer.quantized<i4, 40, bf16>>

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 72], f32>
!z = !dataflow.buffer<[tokens, 30], f32>
!ids = !dataflow.buffer<[tokens], i32>
!t = !dataflow.buffer<[30, 40], f32>

// CHECK-DAG: transformer.parameter @w.i4 : tensor<72x40x!transformer.quantized<i4, 32, bf16>> = {{ *}}convert(@w)
// CHECK-DAG: transformer.parameter @table.i8 : tensor<30x40x!transformer.quantized<i8, row>> = {{ *}}convert(@table)
transformer.parameter @w : tensor<72x40xf32> from "w" loc("w")
transformer.parameter @table : tensor<30x40xf32> from "table" loc("table")

// CHECK-DAG: transformer.parameter @types : tensor<15x40xf32>
transformer.parameter @types : tensor<15x40xf32> from "types" loc("types")

// CHECK-DAG: transformer.parameter @places.bf16 : tensor<16x40xbf16> = {{ *}}convert(@places)
transformer.parameter @places : tensor<16x40xf32> from "places" loc("places")

// CHECK: dataflow.kernel @gather_places : (!dataflow.buffer<[16, 40], bf16>)
dataflow.kernel @gather_places : (!dataflow.buffer<[16, 40], f32>) -> !x computes #dataflow.gather<width = 40, lookups = 0, positions = [0]> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @gather_types : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[15, 40], f32>)
dataflow.kernel @gather_types : (!ids, !dataflow.buffer<[15, 40], f32>) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 40], !transformer.quantized<i8, row>>)
dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], !transformer.quantized<i4, 32, bf16>>) -> !dataflow.buffer<[tokens, 72], f32> computes #dataflow.contract<n = 72, k = 40, arithmetic = integers>
dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], f32>) -> !y computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: dataflow.kernel @words : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[30, 40], !transformer.quantized<i8, row>>)
dataflow.kernel @words : (!x, !t) -> !z computes #dataflow.contract<n = 30, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.graph @encode
// CHECK-DAG: %[[TABLE:.*]] = dataflow.parameter @table.i8
// CHECK-DAG: %[[W:.*]] = dataflow.parameter @w.i4
// CHECK: dataflow.dispatch @gather(%{{.*}}, %[[TABLE]])
// CHECK: dataflow.dispatch @contract(%{{.*}}, %[[W]])
// CHECK: dataflow.dispatch @words(%{{.*}}, %[[TABLE]])
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 15 : i64}) -> (!y {dataflow.name = "y"}, !z {dataflow.name = "z"}, !x {dataflow.name = "p"}, !x {dataflow.name = "t"}) attributes {max_length = 16 : i64} {
  %t = dataflow.parameter @table : !t
  %p = dataflow.parameter @places : !dataflow.buffer<[16, 40], f32>
  %s = dataflow.parameter @types : !dataflow.buffer<[15, 40], f32>
  %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %at = dataflow.dispatch @gather_places(%p) : (!dataflow.buffer<[16, 40], f32>) -> !x
  %of = dataflow.dispatch @gather_types(%ids, %s) : (!ids, !dataflow.buffer<[15, 40], f32>) -> !x
  %y = dataflow.dispatch @contract(%x, %w) : (!x, !dataflow.buffer<[72, 40], f32>) -> !y
  %z = dataflow.dispatch @words(%x, %t) : (!x, !t) -> !z
  dataflow.output %y, %z, %at, %of : !y, !z, !x, !x
}
