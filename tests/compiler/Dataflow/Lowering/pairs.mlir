// SPDX-License-Identifier: Apache-2.0
// The maths of pairs is the second region of an attention; no buffer has an element for each of them.
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s --implicit-check-not="longest, 20"
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels | FileCheck %s --check-prefix=NAMES

transformer.parameter @v : tensor<1x20xf32> from "v"
transformer.parameter @w : tensor<1x20xf32> from "w"
transformer.parameter @near : tensor<1x9xf32> from "near"

// CHECK: dataflow.kernel @attention : (!dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[1, 9], f32>, !dataflow.buffer<[1, 20], f32>) -> !dataflow.buffer<[tokens, 20], f32> computes #dataflow.attention<heads = 1, keySize = 20, valueSize = 20, scale = 1.000000e+00 : f32, visibility = <all>, biasDistance = 4, pairs = true>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT:   dataflow.yield %[[S]]
// CHECK-NEXT: } pairs {
// CHECK-NEXT: ^bb0(%[[Q:.*]]: f32, %[[K:.*]]: f32):
// CHECK-NEXT:   %[[A:.*]] = arith.addf %[[Q]], %[[K]] fastmath<contract> : f32
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[A]] : f32
// CHECK-NEXT:   dataflow.yield %[[T]]
// NAMES: dataflow.kernel @attention_1x20_pairs_bias_add_tanh :
// NAMES: dataflow.kernel @attention_weights_1x20_pairs_raw_add_abs_tanh :
// Kernels that differ in the maths of pairs alone are two, those that differ in weights are one.
// NAMES: dataflow.kernel @attention_weights_1x20_pairs_raw_add_tanh :
// NAMES-NOT: dataflow.kernel
// CHECK: dataflow.dispatch @attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[NEAR:.*]], %[[V:.*]]) :
func.func @scores(%q: tensor<?x20xf32> {transformer.name = "q"}, %k: tensor<?x20xf32> {transformer.name = "k"}, %rows: !transformer.segments)
    -> (tensor<?x20xf32> {transformer.name = "y"}, tensor<?x1x?xf32> {transformer.name = "s"}, tensor<?x1x?xf32> {transformer.name = "t"}, tensor<?x1x?xf32> {transformer.name = "u"}) {
  %y = transformer.attention %q, %k, %k in(%rows, %rows) {bias = @near, heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x20xf32>
  %s = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<abs(s0), tanh(s1)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  %t = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  %u = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @w, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  return %y, %s, %t, %u : tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x1x?xf32>, tensor<?x1x?xf32>
}
