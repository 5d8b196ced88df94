// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=tf32 keep=b=f32,c=tf32x3,d=bf16" -dataflow-narrow-rows="precision=tf32 keep=b=f32,c=tf32x3,d=bf16" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=tf32 keep=b=f32,c=tf32x3,d=bf16" -dataflow-narrow-rows="precision=tf32 keep=b=f32,c=tf32x3,d=bf16" -dataflow-merge-kernels | FileCheck %s --check-prefix=NAMES

// Products with weights in f32 get a note of what GPUs may multiply instead, each run that of its
// weights; what they compute stays. What is stored in fewer bits has the arithmetic of that, and
// what has no kernel for tf32 none.

// REPORT-DAG: what="factors rounded to tf32 on GPUs, sums in f32"
// REPORT-DAG: what="each product of three of tf32 on GPUs, sums in f32"
// REPORT-DAG: what="rows rounded to bf16, products of bf16"
// REPORT-DAG: reason="computed in f32: a product with chosen weights has no kernel for tf32", where=chosen

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 72], f32>
!w = !dataflow.buffer<[72, 40], f32>
!h = !dataflow.buffer<[144, 20], f32>
!z = !dataflow.buffer<[tokens, 144], f32>
!v = !dataflow.buffer<[144, 40], f32>
!ids = !dataflow.buffer<[tokens], i32>

transformer.parameter @a : tensor<72x40xf32> from "a"
transformer.parameter @b : tensor<72x40xf32> from "b"
transformer.parameter @c : tensor<72x40xf32> from "c"
transformer.parameter @d : tensor<72x40xf32> from "d"
transformer.parameter @g : tensor<144x20xf32> from "g"
transformer.parameter @v : tensor<144x40xf32> from "v"

// CHECK-DAG: dataflow.kernel @product : ({{.*}}, !dataflow.buffer<[72, 40], f32>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40> {
// CHECK-DAG: @product_{{[0-9]}} : ({{.*}}, !dataflow.buffer<[72, 40], f32>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40> attributes {dataflow.float_products = "tf32"} {
// CHECK-DAG: @product_{{[0-9]}} : ({{.*}}, !dataflow.buffer<[72, 40], f32>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40> attributes {dataflow.float_products = "tf32x3"} {
// CHECK-DAG: @product_{{[0-9]}} : ({{.*}}, !dataflow.buffer<[72, 40], bf16>) -> {{.*}} computes #dataflow.contract<n = 72, k = 40, arithmetic = bf16> {
// CHECK-DAG: @groups : {{.*}} computes #dataflow.contract<n = 72, k = 20, groups = 2> attributes {dataflow.float_products = "tf32"} {
// CHECK-DAG: @chosen : {{.*}} computes #dataflow.contract_chosen<n = 72, k = 40, groups = 2> {
// NAMES-DAG: dataflow.kernel @contract_72x40 : {{.*}}n = 72, k = 40> {
// NAMES-DAG: dataflow.kernel @contract_72x40_tf32 : {{.*}} attributes {dataflow.float_products = "tf32"}
// NAMES-DAG: dataflow.kernel @contract_72x40_tf32x3 : {{.*}} attributes {dataflow.float_products = "tf32x3"}
// NAMES-DAG: dataflow.kernel @contract_72x40_bf16 : {{.*}}arithmetic = bf16> {
dataflow.kernel @product : (!x, !w) -> !y computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @groups : (!x, !h) -> !z computes #dataflow.contract<n = 72, k = 20, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("groups")
dataflow.kernel @chosen : (!x, !v, !ids, !ids) -> !y computes #dataflow.contract_chosen<n = 72, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("chosen")

dataflow.graph @encode(%x: !x {dataflow.name = "x"}, %ids: !ids {dataflow.name = "ids", dataflow.limit = 2 : i64}) -> (!y {dataflow.name = "a"}, !y {dataflow.name = "b"}, !y {dataflow.name = "c"}, !y {dataflow.name = "d"}, !z {dataflow.name = "g"}, !y {dataflow.name = "v"}) {
  %a = dataflow.parameter @a : !w
  %b = dataflow.parameter @b : !w
  %c = dataflow.parameter @c : !w
  %d = dataflow.parameter @d : !w
  %g = dataflow.parameter @g : !h
  %v = dataflow.parameter @v : !v
  %0 = dataflow.dispatch @product(%x, %a) : (!x, !w) -> !y
  %1 = dataflow.dispatch @product(%x, %b) : (!x, !w) -> !y
  %2 = dataflow.dispatch @product(%x, %c) : (!x, !w) -> !y
  %3 = dataflow.dispatch @product(%x, %d) : (!x, !w) -> !y
  %4 = dataflow.dispatch @groups(%x, %g) : (!x, !h) -> !z
  %5 = dataflow.dispatch @chosen(%x, %v, %ids, %ids) : (!x, !v, !ids, !ids) -> !y
  dataflow.output %0, %1, %2, %3, %4, %5 : !y, !y, !y, !y, !z, !y
}
