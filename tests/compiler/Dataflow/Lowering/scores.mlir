// SPDX-License-Identifier: Apache-2.0
// The maths of scores is the region of an attention; kernels are named after it.
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels | FileCheck %s --check-prefix=NAMES

transformer.parameter @distances : tensor<12x9xf32> from "distances"

// CHECK: dataflow.kernel @attention : {{.*}} computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.250000e-01 : f32, visibility = <all>>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[S]] : f32
// CHECK-NEXT:   %[[C:.*]] = arith.constant 5.000000e+01 : f32
// CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[T]], %[[C]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[Y]]
// NAMES: dataflow.kernel @attention_12x32_tanh_scale :
// CHECK: dataflow.kernel @attention_weights : {{.*}} computes #dataflow.attention_weights<{{.*}}, biasDistance = 4>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:   %[[A:.*]] = arith.addf %[[S]], %[[B]] fastmath<contract> : f32
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[A]] : f32
// CHECK-NEXT:   dataflow.yield %[[T]]
// NAMES: dataflow.kernel @attention_weights_12x32_bias_add_tanh :
// The bias is added to what the region yields.
// CHECK: dataflow.kernel @attention_0 : {{.*}}, biasDistance = 4>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT:   %[[T:.*]] = math.absf %[[S]] : f32
// CHECK-NEXT:   dataflow.yield %[[T]]
// NAMES: dataflow.kernel @attention_12x32_bias_abs :
func.func @scores(%q: tensor<?x384xf32> {transformer.name = "q"}, %rows: !transformer.segments)
    -> (tensor<?x384xf32> {transformer.name = "y"}, tensor<?x384xf32> {transformer.name = "z"}, tensor<?x384xf32> {transformer.name = "w"}) {
  %y = transformer.attention %q, %q, %q in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, score = #transformer.score<tanh(s0), multiply(s1, 50.0)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %p = transformer.attention_weights %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<add(s0, bias), tanh(s1)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  %z = transformer.attend %p, %q in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %w = transformer.attention %q, %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<abs(s0)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %y, %z, %w : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32>
}
