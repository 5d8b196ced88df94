// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-rows --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-narrow-rows -dataflow-encode-weights="targets=x86-64-v3,x86-64-v4-vnni,x86-64-v4-bf16" | FileCheck %s --check-prefix=ENCODED

// Products with quantised weights multiply integers where sums have 32 bits and scales go with
// four codes at a time, and those with weights in bf16 multiply bf16; what has no kernel for them
// stays as it is, and so does all that reads f32.

// REPORT-DAG: what="rows quantised whole, products of integers", where=whole
// REPORT-DAG: what="rows quantised by 8 elements, products of integers", where=grouped
// REPORT-DAG: what="rows rounded to bf16, products of bf16", where=bf16
// REPORT-DAG: reason="computed in f32: a product with chosen weights has no kernel for bf16", where=chosen_bf16
// REPORT-DAG: reason="computed in f32: 6 elements share a scale, expected a multiple of 4 or the whole row, at most 65536", where=odd
// REPORT-DAG: reason="computed in f32: groups have a minimum, expected a code of zero or none", where=least
// REPORT-DAG: reason="computed in f32: 65537 elements share a scale, expected a multiple of 4 or the whole row, at most 65536", where=long
// REPORT-DAG: reason="computed in f32: a product with chosen weights has no kernel for integers", where=chosen

!x = !dataflow.buffer<[tokens, 42], f32>
!odd = !dataflow.buffer<[tokens, 41], f32>
!y = !dataflow.buffer<[tokens, 50], f32>
!ids = !dataflow.buffer<[tokens], i32>

// Targets with and without a dot product read the same codes.
// ENCODED: transformer.parameter @w.packed48by4 : tensor<2x2496xi8> = {{ *}}pack(@w, 48, 1, 4)
// ENCODED: transformer.parameter @g.packed48by4 : tensor<2x4416xi8> = {{ *}}pack(@g, 48, 1, 4)
// ENCODED: transformer.parameter @h.packed48by2 : tensor<2x21x48x2xbf16> = {{ *}}pack(@h, 48, 1, 2)
// ENCODED: dataflow.parameter @w as @w.packed48by4
transformer.parameter @a : tensor<50x42xf32> from "a"
transformer.parameter @w : tensor<50x42x!transformer.quantized<i8, row>> = convert(@a)
transformer.parameter @g : tensor<50x42x!transformer.quantized<i8, 8>> = convert(@a)
transformer.parameter @b : tensor<50x41xf32> from "b"
transformer.parameter @h : tensor<50x41xbf16> = convert(@b)

// CHECK: @whole {{.*}} computes #dataflow.contract<n = 50, k = 42, arithmetic = integers>
dataflow.kernel @whole : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i8, row>>) -> !y computes #dataflow.contract<n = 50, k = 42> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("whole")
// CHECK: @grouped {{.*}} computes #dataflow.contract<n = 50, k = 42, arithmetic = integers>
dataflow.kernel @grouped : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i8, 8>>) -> !y computes #dataflow.contract<n = 50, k = 42> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("grouped")
// CHECK: @odd {{.*}} computes #dataflow.contract<n = 50, k = 42>
dataflow.kernel @odd : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i8, 6>>) -> !y computes #dataflow.contract<n = 50, k = 42> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("odd")
// CHECK: @long {{.*}} computes #dataflow.contract<n = 50, k = 65537>
dataflow.kernel @long : (!dataflow.buffer<[tokens, 65537], f32>, !dataflow.buffer<[50, 65537], !transformer.quantized<i8, row>>) -> !y computes #dataflow.contract<n = 50, k = 65537> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("long")
// CHECK: @least {{.*}} computes #dataflow.contract<n = 50, k = 42>
dataflow.kernel @least : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i4, 8, f16, minimums>>) -> !y computes #dataflow.contract<n = 50, k = 42> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("least")
// CHECK: @wide {{.*}} computes #dataflow.contract<n = 50, k = 42>
dataflow.kernel @wide : (!x, !dataflow.buffer<[50, 42], f32>) -> !y computes #dataflow.contract<n = 50, k = 42> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("wide")
// CHECK: @bf16 {{.*}} computes #dataflow.contract<n = 50, k = 41, arithmetic = bf16>
dataflow.kernel @bf16 : (!odd, !dataflow.buffer<[50, 41], bf16>) -> !y computes #dataflow.contract<n = 50, k = 41> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("bf16")
// CHECK: @chosen_bf16 {{.*}} computes #dataflow.contract_chosen<n = 50, k = 42, groups = 2>
dataflow.kernel @chosen_bf16 : (!x, !dataflow.buffer<[100, 42], bf16>, !ids, !ids) -> !y computes #dataflow.contract_chosen<n = 50, k = 42, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("chosen_bf16")
// CHECK: @chosen {{.*}} computes #dataflow.contract_chosen<n = 50, k = 42, groups = 2>
dataflow.kernel @chosen : (!x, !dataflow.buffer<[100, 42], !transformer.quantized<i8, row>>, !ids, !ids) -> !y computes #dataflow.contract_chosen<n = 50, k = 42, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("chosen")

dataflow.graph @encode(%x: !x {dataflow.name = "x"}, %odd: !odd {dataflow.name = "odd"}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}, !y {dataflow.name = "h"}) {
  %w = dataflow.parameter @w : !dataflow.buffer<[50, 42], !transformer.quantized<i8, row>>
  %g = dataflow.parameter @g : !dataflow.buffer<[50, 42], !transformer.quantized<i8, 8>>
  %h = dataflow.parameter @h : !dataflow.buffer<[50, 41], bf16>
  %0 = dataflow.dispatch @whole(%x, %w) : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i8, row>>) -> !y
  %1 = dataflow.dispatch @grouped(%x, %g) : (!x, !dataflow.buffer<[50, 42], !transformer.quantized<i8, 8>>) -> !y
  %2 = dataflow.dispatch @bf16(%odd, %h) : (!odd, !dataflow.buffer<[50, 41], bf16>) -> !y
  dataflow.output %0, %1, %2 : !y, !y, !y
}
