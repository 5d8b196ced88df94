// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int8 keep=a.*.self=bf16,b.0=f32,b.1=int8-weights,c.key=int4,e=bf16-weights" -dataflow-narrow-rows="precision=int8 keep=a.*.self=bf16,b.0=f32,b.1=int8-weights,c.key=int4,e=bf16-weights" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: not heddle-opt %s -dataflow-narrow-weights="keep=c.value=int4" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not heddle-opt %s -dataflow-narrow-weights="keep=norm=int4" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not heddle-opt %s -dataflow-narrow-weights="keep=a" 2>&1 | FileCheck %s --check-prefix=EQUALS
// RUN: not heddle-opt %s -dataflow-narrow-rows="keep=a=i8" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not heddle-opt %s -dataflow-narrow-weights="keep=a..b=int8" 2>&1 | FileCheck %s --check-prefix=EMPTY

// Weights whose names a pattern matches are stored, and multiplied, in the precision of the pattern,
// all others in that of the program. Runs of one kernel that differ get kernels of their own. A
// matrix made of several tensors has the finest of their precisions.

// CHECK: module attributes {transformer.precision = {kept = [
// CHECK-SAME: {bytes = 5760 : i64, layers = "a.*.self", precision = "bf16", tensors = 1 : i64}
// CHECK-SAME: {bytes = 11520 : i64, layers = "b.0", precision = "f32", tensors = 1 : i64}
// CHECK-SAME: {bytes = 3168 : i64, layers = "b.1", precision = "int8-weights", tensors = 1 : i64}
// CHECK-SAME: {bytes = 2016 : i64, layers = "c.key", precision = "int4", tensors = 1 : i64}
// CHECK-SAME: {bytes = 5760 : i64, layers = "e", precision = "bf16-weights", tensors = 1 : i64}
// CHECK-SAME: ], name = "int8"}}

// REPORT-DAG: what="stored in bf16, kept by a.*.self=bf16", where=a.0.self.query
// REPORT-DAG: what="stored in i8, one scale for each row", where=a.0.selfish.query
// REPORT-DAG: reason="stored in f32, kept by b.0=f32", where=b.0
// REPORT-DAG: what="stored in i8, one scale for every 64 of a row, kept by b.1=int8-weights", where=b.1
// REPORT-DAG: what="stored in i4, one scale and code of zero for every 32 of a row, kept by c.key=int4", where=c.key
// REPORT-DAG: what="stored in i8, one scale for each row, coarser by c.key=int4 only in part: the finest precision of its parts counts", where=c
// REPORT-DAG: what="stored in bf16, kept by e=bf16-weights", where=e.0
// PART: error: keep: "c.value=int4" keeps nothing: "c" is stored as one matrix, and the precision of other parts of it is finer: bf16-weights
// NOTHING: error: keep: "norm=int4" keeps nothing: no matrix of a product and no table that precisions differ in is made of what it matches
// EQUALS: error: keep is "a", expected LAYERS=PRECISION, for example attention.self=int8
// UNKNOWN: error: keep is "a=i8", whose precision is "i8", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, int8, int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536
// EMPTY: error: keep is "a..b=int8", where the pattern "a..b" has an empty part, expected names of layers, for example layer.4,layer.5

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 72], f32>
!w = !dataflow.buffer<[72, 40], f32>
!z = !dataflow.buffer<[tokens, 144], f32>
!v = !dataflow.buffer<[144, 40], f32>

transformer.parameter @a : tensor<72x40xf32> from "a.0.self.query" loc("a.0.self.query")
transformer.parameter @ish : tensor<72x40xf32> from "a.0.selfish.query" loc("a.0.selfish.query")
transformer.parameter @b0 : tensor<72x40xf32> from "b.0" loc("b.0")
transformer.parameter @b1 : tensor<72x40xf32> from "b.1" loc("b.1")
transformer.parameter @key : tensor<72x40xf32> from "c.key" loc("c.key")
transformer.parameter @value : tensor<72x40xf32> from "c.value" loc("c.value")
transformer.parameter @both : tensor<144x40xf32> = concat(@key, @value) loc("c")
transformer.parameter @e : tensor<72x40xf32> from "e.0" loc("e.0")
transformer.parameter @norm : tensor<72xf32> from "norm" loc("norm")

// CHECK: dataflow.kernel @product : ({{.*}}, !dataflow.buffer<[72, 40], bf16>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40>
// CHECK: dataflow.kernel @product_4 : ({{.*}}, !dataflow.buffer<[72, 40], bf16>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40, arithmetic = bf16>
// CHECK: dataflow.kernel @product_3 : ({{.*}}, !dataflow.buffer<[72, 40], !transformer.quantized<i4, 32, bf16>>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40, arithmetic = integers>
// CHECK: dataflow.kernel @product_2 : ({{.*}}, !dataflow.buffer<[72, 40], !transformer.quantized<i8, 64>>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40>
// CHECK: dataflow.kernel @product_1 : ({{.*}}, !dataflow.buffer<[72, 40], f32>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40>
// CHECK: dataflow.kernel @product_0 : ({{.*}}, !dataflow.buffer<[72, 40], !transformer.quantized<i8, row>>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40, arithmetic = integers>
dataflow.kernel @product : (!x, !w) -> !y computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: dataflow.kernel @wide : ({{.*}}, !dataflow.buffer<[144, 40], !transformer.quantized<i8, row>>) -> {{.*}} computes #dataflow.contract<n = 144, k = 40, arithmetic = integers>
dataflow.kernel @wide : (!x, !v) -> !z computes #dataflow.contract<n = 144, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.graph @encode
// CHECK: dataflow.dispatch @product_4(
// CHECK: dataflow.dispatch @product_0(
// CHECK: dataflow.dispatch @product_1(
// CHECK: dataflow.dispatch @product_2(
// CHECK: dataflow.dispatch @product_3(
// CHECK: dataflow.dispatch @wide(
// CHECK: dataflow.dispatch @product(
dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "0"}, !y {dataflow.name = "1"}, !y {dataflow.name = "2"}, !y {dataflow.name = "3"}, !y {dataflow.name = "4"}, !z {dataflow.name = "5"}, !y {dataflow.name = "6"}) attributes {max_length = 16 : i64} {
  %a = dataflow.parameter @a : !w
  %ish = dataflow.parameter @ish : !w
  %b0 = dataflow.parameter @b0 : !w
  %b1 = dataflow.parameter @b1 : !w
  %key = dataflow.parameter @key : !w
  %both = dataflow.parameter @both : !v
  %e = dataflow.parameter @e : !w
  %0 = dataflow.dispatch @product(%x, %a) : (!x, !w) -> !y
  %1 = dataflow.dispatch @product(%x, %ish) : (!x, !w) -> !y
  %2 = dataflow.dispatch @product(%x, %b0) : (!x, !w) -> !y
  %3 = dataflow.dispatch @product(%x, %b1) : (!x, !w) -> !y
  %4 = dataflow.dispatch @product(%x, %key) : (!x, !w) -> !y
  %5 = dataflow.dispatch @wide(%x, %both) : (!x, !v) -> !z
  %6 = dataflow.dispatch @product(%x, %e) : (!x, !w) -> !y
  dataflow.output %0, %1, %2, %3, %4, %5, %6 : !y, !y, !y, !y, !y, !z, !y
}
