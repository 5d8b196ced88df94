// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=bf16" --remarks-filter=heddle 2>%t | FileCheck %s --check-prefix=BF16
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=tf32x3" -dataflow-merge-kernels | FileCheck %s --check-prefix=TF32X3
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=int8" | FileCheck %s --check-prefix=INT8

// Attention has no weights: its note is that of the program's precision. Where rows are quantised it
// stays exact.

// REPORT: what="attention on GPUs: factors rounded to bf16, softmax and sums in f32", where=layer.attention

!x = !dataflow.buffer<[tokens, 48], f32>

// BF16: dataflow.kernel @self : {{.*}} visibility = <all>> attributes {dataflow.float_products = "bf16"} {
// TF32X3: dataflow.kernel @attention_3x16_tf32x3 : {{.*}} attributes {dataflow.float_products = "tf32x3"} {
// INT8: dataflow.kernel @self : {{.*}} visibility = <all>> {
dataflow.kernel @self : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("layer.attention")

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @self(%x, %x, %x) : (!x, !x, !x) -> !x
  dataflow.output %0 : !x
}
