// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=bf16" -dataflow-merge-kernels --remarks-filter=heddle 2>%t | FileCheck %s --check-prefix=BF16
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=tf32x3" -dataflow-merge-kernels --remarks-filter=heddle 2>%t | FileCheck %s --check-prefix=TF32X3
// RUN: FileCheck %s --check-prefix=REPORT32 < %t
// RUN: heddle-opt %s -dataflow-narrow-rows="precision=int8" | FileCheck %s --check-prefix=INT8

// Attention has no weights: it follows the precision of the program. With bf16 it computes so where
// keys are rows, and with tf32 it has a note. Where rows are quantised it stays exact.

// REPORT-DAG: what="attention: factors rounded to bf16, softmax and sums in f32", where=layer.attention
// REPORT-DAG: what="attention over a cache on GPUs: factors rounded to bf16, softmax and sums in f32; f32 on processors", where=layer.cached
// REPORT-DAG: reason="computed in f32: heads have 144 elements, expected at most 128", where=layer.large
// REPORT-DAG: reason="computed in f32: scores are sums over pairs of elements, expected products", where=layer.pairs
// REPORT-DAG: reason="computed in f32: its weights are stored, expected an attention in one kernel", where=layer.weights
// REPORT-DAG: reason="computed in f32: its weights are stored, expected an attention in one kernel", where=layer.attend
// REPORT32-DAG: what="attention on GPUs: {{.*}}, softmax and sums in f32", where=layer.large
// REPORT32-DAG: reason="computed in f32: scores are sums over pairs of elements, expected products", where=layer.pairs
// REPORT32-DAG: reason="computed in f32: its weights are stored, expected an attention in one kernel", where=layer.weights
// REPORT32-DAG: reason="computed in f32: its weights are stored, expected an attention in one kernel", where=layer.attend

!x = !dataflow.buffer<[tokens, 48], f32>
!l = !dataflow.buffer<[tokens, 144], f32>
!w = !dataflow.buffer<[tokens, 3, longest], f32>
!pairs = !dataflow.buffer<[3, 16], f32>
!keys = !dataflow.cache<[48], f32, keys>
!values = !dataflow.cache<[48], f32, rows>

transformer.parameter @p : tensor<3x16xf32> from "p"

// BF16: dataflow.kernel @attention_3x16_bf16 : {{.*}} visibility = <all>, arithmetic = bf16> {
// TF32X3: dataflow.kernel @attention_3x16_tf32x3 : {{.*}} attributes {dataflow.float_products = "tf32x3"} {
// INT8: dataflow.kernel @self : {{.*}} visibility = <all>> {
dataflow.kernel @self : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("layer.attention")

// BF16: dataflow.kernel @attention_3x16_cached : {{.*}} visibility = <all>> attributes {dataflow.float_products = "bf16"} {
dataflow.kernel @cached : (!x, !keys, !values) -> !x
    computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("layer.cached")

// BF16: dataflow.kernel @attention_1x144 : {{.*}} visibility = <all>> {
dataflow.kernel @large : (!l, !l, !l) -> !l
    computes #dataflow.attention<heads = 1, keySize = 144, valueSize = 144, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("layer.large")

// BF16: dataflow.kernel @attention_3x16_pairs{{.*}} pairs = true> {
// TF32X3: dataflow.kernel @attention_3x16_pairs{{.*}} pairs = true> {
dataflow.kernel @pairs : (!x, !x, !x, !pairs) -> !x
    computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%score: f32):
  dataflow.yield %score
} pairs {
^bb0(%q: f32, %k: f32):
  %sum = arith.addf %q, %k : f32
  dataflow.yield %sum
} loc("layer.pairs")

dataflow.kernel @weights : (!x, !x) -> !w
    computes #dataflow.attention_weights<heads = 3, keySize = 16, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("layer.weights")

dataflow.kernel @attend : (!w, !x) -> !x
    computes #dataflow.attend<heads = 3, valueSize = 16, visibility = <all>> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("layer.attend")

dataflow.graph @encode(%x: !x {dataflow.name = "x"}, %l: !l {dataflow.name = "l"}, %k: !keys {dataflow.name = "k"}, %v: !values {dataflow.name = "v"})
    -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}, !l {dataflow.name = "c"}, !x {dataflow.name = "d"}, !x {dataflow.name = "e"}) {
  %p = dataflow.parameter @p : !pairs
  %0 = dataflow.dispatch @self(%x, %x, %x) : (!x, !x, !x) -> !x
  %1 = dataflow.dispatch @cached(%x, %k, %v) : (!x, !keys, !values) -> !x
  %2 = dataflow.dispatch @large(%l, %l, %l) : (!l, !l, !l) -> !l
  %3 = dataflow.dispatch @pairs(%x, %x, %x, %p) : (!x, !x, !x, !pairs) -> !x
  %4 = dataflow.dispatch @weights(%x, %x) : (!x, !x) -> !w
  %5 = dataflow.dispatch @attend(%4, %x) : (!w, !x) -> !x
  dataflow.output %0, %1, %2, %3, %5 : !x, !x, !l, !x, !x
}
