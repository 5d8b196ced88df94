// SPDX-License-Identifier: Apache-2.0
// Attention in two halves: weights [tokens, heads, longest], and a sum for each of the values.
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s --check-prefix=PLANNED

transformer.parameter @near : tensor<12x33xf32> from "near"
// A table of one column changes no weights.
transformer.parameter @same : tensor<12x1xf32> from "same"

// CHECK: dataflow.kernel @attention_weights : (!dataflow.buffer<[tokens, 384] in 1152, f32>, !dataflow.buffer<[tokens, 384] in 1152, f32>, !dataflow.buffer<[12, 33], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32> computes #dataflow.attention_weights<heads = 12, keySize = 32, scale = 1.250000e-01 : f32, visibility = <causal>, biasDistance = 16>
// CHECK: dataflow.kernel @attend : (!dataflow.buffer<[tokens, 12, longest], f32>, !dataflow.buffer<[tokens, 384] in 1152, f32>) -> !dataflow.buffer<[tokens, 384], f32> computes #dataflow.attend<heads = 12, valueSize = 32, visibility = <causal>>
// CHECK: dataflow.kernel @attend_0 : {{.*}} computes #dataflow.attend<heads = 12, valueSize = 16, visibility = <causal>>
// CHECK: dataflow.kernel @attention_weights_1 : {{.*}} visibility = <all>>
// CHECK-LABEL: dataflow.graph @rows(
// CHECK: %[[P:.*]] = dataflow.dispatch @attention_weights(
// CHECK: dataflow.dispatch @attend(%[[P]], %{{.*}})
// CHECK: dataflow.dispatch @attend_0(%[[P]], %{{.*}})
// PLANNED-LABEL: dataflow.graph @rows(
// PLANNED: dataflow.dispatch @attention_weights_12x32_bias_causal(
// PLANNED: dataflow.dispatch @attend_12x32_causal(
// PLANNED: dataflow.dispatch @attend_12x16_causal(
// PLANNED: dataflow.dispatch @attention_weights_12x32(
func.func @rows(%x: tensor<?x1152xf32> {transformer.name = "x"}, %w: tensor<?x192xf32> {transformer.name = "w"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "a"}, tensor<?x192xf32> {transformer.name = "b"}, tensor<?x12x?xf32> {transformer.name = "c"}) {
  %q = transformer.columns %x from 0 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %k = transformer.columns %x from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %v = transformer.columns %x from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %p = transformer.attention_weights %q, %k in(%rows, %rows) {bias = @near, heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  %a = transformer.attend %p, %v in(%rows, %rows) {visibility = #transformer.visibility<causal>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %b = transformer.attend %p, %w in(%rows, %rows) {visibility = #transformer.visibility<causal>} : tensor<?x12x?xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
  %c = transformer.attention_weights %q, %k in(%rows, %rows) {bias = @same, heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %a, %b, %c : tensor<?x384xf32>, tensor<?x192xf32>, tensor<?x12x?xf32>
}

// Over caches the roles of keys and values are those of attention.
// CHECK-LABEL: dataflow.graph @step(
// CHECK-SAME: !dataflow.cache<[384], f32, keys> {dataflow.name = "key"}, %{{[a-z0-9]*}}: !dataflow.cache<[384], f32, rows> {dataflow.name = "value"}
// CHECK: %[[K:.*]] = dataflow.dispatch @append
// CHECK: %[[V:.*]] = dataflow.dispatch @append
// CHECK: %[[P:.*]] = dataflow.dispatch @attention_weights_{{[0-9]+}}(%{{.*}}, %[[K]])
// CHECK: dataflow.dispatch @attend_{{[0-9]+}}(%[[P]], %[[V]])
// PLANNED-LABEL: dataflow.graph @step(
// PLANNED: dataflow.dispatch @attention_weights_12x32_causal_cached(
// PLANNED: dataflow.dispatch @attend_12x32_causal_cached(
func.func @step(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments, %k0: !transformer.cache<384> {transformer.name = "key"}, %v0: !transformer.cache<384> {transformer.name = "value"}) -> (tensor<?x384xf32> {transformer.name = "y"}, !transformer.cache<384> {transformer.name = "key"}, !transformer.cache<384> {transformer.name = "value"}) {
  %k1 = transformer.append %k0, %x in(%rows) : !transformer.cache<384>
  %v1 = transformer.append %v0, %x in(%rows) : !transformer.cache<384>
  %seen = transformer.history %rows
  %k = transformer.cached %k1 in(%seen) : !transformer.cache<384> -> tensor<?x384xf32>
  %v = transformer.cached %v1 in(%seen) : !transformer.cache<384> -> tensor<?x384xf32>
  %p = transformer.attention_weights %x, %k in(%rows, %seen) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  %y = transformer.attend %p, %v in(%rows, %seen) {visibility = #transformer.visibility<causal>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %y, %k1, %v1 : tensor<?x384xf32>, !transformer.cache<384>, !transformer.cache<384>
}

// A mask of a finite number goes into the kernel, under a name of its own.
// CHECK-DAG: dataflow.kernel @attention_weights_{{[0-9]+}} {{.*}} computes #dataflow.attention_weights<heads = 12, keySize = 32, scale = 1.250000e-01 : f32, visibility = <causal>, hidden = <added -1.000000e+04 : f32>> {
// CHECK-DAG: dataflow.kernel @attention : {{.*}} computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.250000e-01 : f32, visibility = <causal>, hidden = <score -2.000000e+04 : f32>> {
// CHECK-LABEL: dataflow.graph @masked(
// PLANNED-LABEL: dataflow.graph @masked(
// PLANNED: dataflow.dispatch @attention_weights_12x32_masked(
// PLANNED: dataflow.dispatch @attention_12x32_masked(
func.func @masked(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x12x?xf32> {transformer.name = "p"}, tensor<?x384xf32> {transformer.name = "y"}) {
  %p = transformer.attention_weights %x, %x in(%rows, %rows) {heads = 12 : i64, hidden = #transformer.hidden<added -1.000000e+04 : f32>, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  %y = transformer.attention %x, %x, %x in(%rows, %rows) {heads = 12 : i64, hidden = #transformer.hidden<score -2.000000e+04 : f32>, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %p, %y : tensor<?x12x?xf32>, tensor<?x384xf32>
}
