// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int8-weights" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: not heddle-opt %s -dataflow-narrow-weights="precision=int2" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int8" | FileCheck %s --check-prefix=ROW

// Matrices of products have a scale for every 64 elements of a row, tables one for each row. So
// has a table that is multiplied with, and what the same kernel reads elsewhere. Tables by position
// are bf16, and those of fewer than 16 rows stay as they are.

// REPORT-DAG: weight_bytes=8352, what="stored in i8, one scale for every 64 of a row", where=w
// REPORT-DAG: weight_bytes=3480, what="stored in i8, one scale for each row", where=table
// REPORT-DAG: weight_bytes=3480, what="stored in i8, one scale for each row", where=other
// UNKNOWN: error: precision is "int2", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, int8, int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean "int8"?
// ROW: transformer.parameter @w.i8 : tensor<72x40x!transformer.quantized<i8, row>>

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 72], f32>
!z = !dataflow.buffer<[tokens, 30], f32>
!ids = !dataflow.buffer<[tokens], i32>
!t = !dataflow.buffer<[30, 40], f32>

// CHECK-DAG: transformer.parameter @w.i8 : tensor<72x40x!transformer.quantized<i8, 64>> = {{ *}}convert(@w)
// CHECK-DAG: transformer.parameter @table.i8 : tensor<30x40x!transformer.quantized<i8, row>> = {{ *}}convert(@table.bf16)
// CHECK-DAG: transformer.parameter @other.i8 : tensor<30x40x!transformer.quantized<i8, row>> = {{ *}}convert(@other)
transformer.parameter @w : tensor<72x40xf32> from "w" loc("w")
transformer.parameter @table.bf16 : tensor<30x40xbf16> from "table" loc("table")
transformer.parameter @table : tensor<30x40xf32> = convert(@table.bf16) loc("table")
transformer.parameter @other : tensor<30x40xf32> from "other" loc("other")

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
// CHECK: dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 40], !transformer.quantized<i8, row>>) -> !dataflow.buffer<[tokens, 40], f32>
dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], !transformer.quantized<i8, 64>>) -> !dataflow.buffer<[tokens, 72], f32>
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
// CHECK-DAG: %[[W:.*]] = dataflow.parameter @w.i8
// CHECK-DAG: %[[OTHER:.*]] = dataflow.parameter @other.i8
// CHECK: dataflow.dispatch @gather(%{{.*}}, %[[TABLE]])
// CHECK: dataflow.dispatch @contract(%{{.*}}, %[[W]])
// CHECK: dataflow.dispatch @words(%{{.*}}, %[[TABLE]])
// CHECK: dataflow.dispatch @words(%{{.*}}, %[[OTHER]])
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 30 : i64}, %kinds: !ids {dataflow.name = "kinds", dataflow.limit = 15 : i64}) -> (!y {dataflow.name = "y"}, !z {dataflow.name = "z"}, !z {dataflow.name = "other"}, !x {dataflow.name = "types"}, !x {dataflow.name = "places"}) attributes {max_length = 16 : i64} {
  %t = dataflow.parameter @table : !t
  %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
  %o = dataflow.parameter @other : !t
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %y = dataflow.dispatch @contract(%x, %w) : (!x, !dataflow.buffer<[72, 40], f32>) -> !y
  %z = dataflow.dispatch @words(%x, %t) : (!x, !t) -> !z
  %v = dataflow.dispatch @words(%x, %o) : (!x, !t) -> !z
  %k = dataflow.parameter @types : !dataflow.buffer<[15, 40], f32>
  %u = dataflow.dispatch @gather_types(%kinds, %k) : (!ids, !dataflow.buffer<[15, 40], f32>) -> !x
  %p = dataflow.parameter @places : !dataflow.buffer<[16, 40], f32>
  %q = dataflow.dispatch @gather_places(%p) : (!dataflow.buffer<[16, 40], f32>) -> !x
  dataflow.output %y, %z, %v, %u, %q : !y, !z, !z, !x, !x
}
