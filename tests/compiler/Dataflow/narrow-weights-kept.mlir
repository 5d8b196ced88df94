// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int4" --remarks-filter=heddle 2>%t.4 | FileCheck %s --check-prefix=INT4
// RUN: FileCheck %s --check-prefix=REPORT4 < %t.4
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int8" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=INT8

// What files have as codes stays what it is: whole rows that passes have joined or cut as well, but
// nothing that was computed. All else is f32, and where a precision makes codes those of the file
// stay if they have as many bits in the same groups.

// REPORT-DAG: weight_bytes=5184, what="stored as the file has it: i4, one scale and code of zero for every 32 of a row", where=joined
// REPORT-DAG: what="stored as the file has it: i8, one scale for each row", where=table
// REPORT-DAG: weight_bytes=4992, what="stored as the file has it: i4, one scale and minimum for every 32 of a row", where=least
// REPORT-DAG: reason="stored in f32: made of codes by 'scale'", where=scaled
// REPORT-DAG: reason="stored in f32: rows of different codes are joined", where=mixed
// REPORT-DAG: reason="stored in f32: rows with more than one scale are looked up", where=fine
// REPORT4-DAG: what="stored as the file has it: i4, one scale and code of zero for every 32 of a row", where=joined
// REPORT4-DAG: what="stored in i4, one scale and code of zero for every 32 of a row", where=scaled
// REPORT4-DAG: reason="codes of the file are not kept: made of codes by 'scale'", where=scaled
// Of as many bits, but products of integers take no minimums.
// REPORT4-DAG: reason="codes of the file are not kept: the file has i4, one scale and minimum for every 32 of a row", where=least
// INT8: reason="codes of the file are not kept: the file has i4, one scale and code of zero for every 32 of a row", where=joined
// INT8: transformer.parameter @joined.i8 : tensor<24x64x!transformer.quantized<i8, row>> = {{ *}}convert(@joined)

!q4 = !transformer.quantized<i4, 32, f16>
!x = !dataflow.buffer<[tokens, 64], f32>
!y = !dataflow.buffer<[tokens, 24], f32>
!w = !dataflow.buffer<[24, 64], f32>
!t = !dataflow.buffer<[30, 64], f32>
!ids = !dataflow.buffer<[tokens], i32>

transformer.parameter @a.codes : tensor<12x64x!q4> from "a"
transformer.parameter @a : tensor<12x64xf32> = convert(@a.codes)
transformer.parameter @b.codes : tensor<24x64x!q4> from "b"
transformer.parameter @b : tensor<24x64xf32> = convert(@b.codes)
transformer.parameter @half : tensor<12x64xf32> = rows(@b, 12)
transformer.parameter @heads : tensor<3x4x64xf32> = reshape(@half)
transformer.parameter @half.again : tensor<12x64xf32> = reshape(@heads)
transformer.parameter @joined : tensor<24x64xf32> = concat(@a, @half.again) loc("joined")
transformer.parameter @scaled : tensor<24x64xf32> = scale(@b, 0.5) loc("scaled")
transformer.parameter @c.codes : tensor<12x64x!transformer.quantized<i4, 16, f16>> from "c"
transformer.parameter @c : tensor<12x64xf32> = convert(@c.codes)
transformer.parameter @mixed : tensor<24x64xf32> = concat(@a, @c) loc("mixed")
transformer.parameter @table.codes : tensor<30x64x!transformer.quantized<i8, row, full>> from "table" loc("table")
transformer.parameter @table : tensor<30x64xf32> = convert(@table.codes) loc("table")
transformer.parameter @fine.codes : tensor<30x64x!transformer.quantized<i8, 8>> from "fine" loc("fine")
transformer.parameter @fine : tensor<30x64xf32> = convert(@fine.codes) loc("fine")

transformer.parameter @least.codes : tensor<24x64x!transformer.quantized<i4, 32, minimums>> from "least" loc("least")
transformer.parameter @least : tensor<24x64xf32> = convert(@least.codes) loc("least")

// CHECK-DAG: transformer.parameter @half.codes : tensor<12x64x!transformer.quantized<i4, 32, f16>> = {{ *}}rows(@b.codes, 12)
// CHECK-DAG: transformer.parameter @joined.codes : tensor<24x64x!transformer.quantized<i4, 32, f16>> = {{ *}}concat(@a.codes, @half.again.codes)

// CHECK: dataflow.kernel @gather : ({{.*}}, !dataflow.buffer<[30, 64], !transformer.quantized<i8, row, full>>)
dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 64, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @gather_fine : ({{.*}}, !dataflow.buffer<[30, 64], f32>)
dataflow.kernel @gather_fine : (!ids, !t) -> !x computes #dataflow.gather<width = 64, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @of_joined : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, f16>>)
// INT4: dataflow.kernel @of_joined : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, f16>>)
dataflow.kernel @of_joined : (!x, !w) -> !y computes #dataflow.contract<n = 24, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: dataflow.kernel @of_scaled : ({{.*}}, !dataflow.buffer<[24, 64], f32>)
// INT4: dataflow.kernel @of_scaled : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, bf16>>)
dataflow.kernel @of_scaled : (!x, !w) -> !y computes #dataflow.contract<n = 24, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: dataflow.kernel @of_mixed : ({{.*}}, !dataflow.buffer<[24, 64], f32>)
dataflow.kernel @of_mixed : (!x, !w) -> !y computes #dataflow.contract<n = 24, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK: dataflow.kernel @of_least : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, minimums>>)
// INT4: dataflow.kernel @of_least : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, bf16>>)
dataflow.kernel @of_least : (!x, !w) -> !y computes #dataflow.contract<n = 24, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.graph @encode
// CHECK-DAG: dataflow.parameter @table.codes
// CHECK-DAG: dataflow.parameter @joined.codes
// CHECK-DAG: dataflow.parameter @scaled : !dataflow.buffer<[24, 64], f32>
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 30 : i64}) -> (!y {dataflow.name = "j"}, !y {dataflow.name = "s"}, !y {dataflow.name = "m"}, !y {dataflow.name = "l"}, !x {dataflow.name = "f"}) attributes {max_length = 16 : i64} {
  %t = dataflow.parameter @table : !t
  %f = dataflow.parameter @fine : !t
  %j = dataflow.parameter @joined : !w
  %s = dataflow.parameter @scaled : !w
  %m = dataflow.parameter @mixed : !w
  %l = dataflow.parameter @least : !w
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %u = dataflow.dispatch @gather_fine(%ids, %f) : (!ids, !t) -> !x
  %0 = dataflow.dispatch @of_joined(%x, %j) : (!x, !w) -> !y
  %1 = dataflow.dispatch @of_scaled(%x, %s) : (!x, !w) -> !y
  %2 = dataflow.dispatch @of_mixed(%x, %m) : (!x, !w) -> !y
  %3 = dataflow.dispatch @of_least(%x, %l) : (!x, !w) -> !y
  dataflow.output %0, %1, %2, %3, %u : !y, !y, !y, !y, !x
}
