// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-projections --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @layer.0.query.weight : tensor<24x24xf32> from "layer.0.query.weight"
transformer.parameter @layer.0.query.bias : tensor<24xf32> from "layer.0.query.bias"
transformer.parameter @layer.0.key.weight : tensor<24x24xf32> from "layer.0.key.weight"
transformer.parameter @layer.0.key.bias : tensor<24xf32> from "layer.0.key.bias"
transformer.parameter @layer.0.value.weight : tensor<12x24xf32> from "layer.0.value.weight"
transformer.parameter @layer.0.value.bias : tensor<12xf32> from "layer.0.value.bias"

// CHECK-DAG: @layer.0.query_key_value.weight : tensor<60x24xf32> ={{ *}}concat{{ *}}(@layer.0.query.weight, @layer.0.key.weight, @layer.0.value.weight)
// CHECK-DAG: @layer.0.query_key_value.bias : tensor<60xf32> ={{ *}}concat{{ *}}(@layer.0.query.bias, @layer.0.key.bias, @layer.0.value.bias)
// CHECK-DAG: @layer.0.key.weight.zeros : tensor<24xf32> ={{ *}}zeros
// CHECK-DAG: @[[MIXED:.*]] : tensor<60xf32> ={{ *}}concat{{ *}}(@layer.0.query.bias, @layer.0.key.weight.zeros, @layer.0.value.bias)
// CHECK-DAG: @layer.0.key_value.weight : tensor<36x24xf32> ={{ *}}concat{{ *}}(@layer.0.key.weight, @layer.0.value.weight)

// CHECK-LABEL: func.func @all_with_biases(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[L:.*]] = transformer.linear %[[X]], @layer.0.query_key_value.weight, @layer.0.query_key_value.bias : tensor<?x24xf32> -> tensor<?x60xf32>
// CHECK-NEXT: %[[Q:.*]] = transformer.columns %[[L]] from 0 : tensor<?x60xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[K:.*]] = transformer.columns %[[L]] from 24 : tensor<?x60xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V:.*]] = transformer.columns %[[L]] from 48 : tensor<?x60xf32> -> tensor<?x12xf32>
// CHECK-NEXT: transformer.attention %[[Q]], %[[K]], %[[V]]
func.func @all_with_biases(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x12xf32> {
  // expected-remark @below {{3 maps of the same rows, 24 to 60}}
  %q = transformer.linear %x, @layer.0.query.weight, @layer.0.query.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %k = transformer.linear %x, @layer.0.key.weight, @layer.0.key.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %v = transformer.linear %x, @layer.0.value.weight, @layer.0.value.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  return %a : tensor<?x12xf32>
}

// One without a bias: zeros stand for it. The weights are those of the function before.
// CHECK-LABEL: func.func @one_without_bias(
// CHECK-NEXT: transformer.linear %{{.*}}, @layer.0.query_key_value.weight, @[[MIXED]]
func.func @one_without_bias(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x12xf32> {
  // expected-remark @below {{3 maps of the same rows, 24 to 60}}
  %q = transformer.linear %x, @layer.0.query.weight, @layer.0.query.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %k = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %v = transformer.linear %x, @layer.0.value.weight, @layer.0.value.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  return %a : tensor<?x12xf32>
}

// Keys and values of another sequence, neither with a bias; the queries' rows are others.
// CHECK-LABEL: func.func @across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>, %[[M:[a-z0-9]+]]:
// CHECK-NEXT: transformer.linear %[[X]], @layer.0.query.weight :
// CHECK-NEXT: transformer.linear %[[M]], @layer.0.key_value.weight :
func.func @across(%x: tensor<?x24xf32>, %memory: tensor<?x24xf32>, %rows: !transformer.segments,
    %source: !transformer.segments) -> tensor<?x12xf32> {
  %q = transformer.linear %x, @layer.0.query.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  // expected-remark @below {{2 maps of the same rows, 24 to 36}}
  %k = transformer.linear %memory, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %v = transformer.linear %memory, @layer.0.value.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %a = transformer.attention %q, %k, %v in(%rows, %source) {heads = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  return %a : tensor<?x12xf32>
}

// Activations are epilogues of their own maps.
// CHECK-LABEL: func.func @activated(
// CHECK: transformer.linear
// CHECK: transformer.linear
// CHECK-NOT: transformer.columns
func.func @activated(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  // expected-remark @below {{not fused: its columns would have to be copied for transformer.activate}}
  %q = transformer.linear %x, @layer.0.query.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  // expected-remark @below {{not fused: its columns would have to be copied for func.return}}
  %k = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %a = transformer.activate relu %q : tensor<?x24xf32>
  return %a, %k : tensor<?x24xf32>, tensor<?x24xf32>
}

// One that could be is not enough.
// CHECK-LABEL: func.func @alone(
// CHECK-NOT: transformer.columns
// CHECK: return
func.func @alone(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  // expected-remark @below {{not fused: no other map of these rows can be}}
  %q = transformer.linear %x, @layer.0.query.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  // expected-remark @below {{not fused: its columns would have to be copied for func.return}}
  %k = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {heads = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
  return %a, %k : tensor<?x24xf32>, tensor<?x24xf32>
}

// Appending reads columns in place too. Of more than four names the first and the last remain.
// CHECK-LABEL: func.func @caches(
// CHECK: %[[L:.*]] = transformer.linear %{{.*}}, @layer.0.key_to_query.weight : tensor<?x24xf32> -> tensor<?x120xf32>
// CHECK: transformer.columns %[[L]] from 96
// CHECK: transformer.append
func.func @caches(%x: tensor<?x24xf32>, %rows: !transformer.segments, %a0: !transformer.cache<24>, %b0: !transformer.cache<24>, %c0: !transformer.cache<24>, %d0: !transformer.cache<24>, %e0: !transformer.cache<24>) -> (!transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>) {
  // expected-remark @below {{5 maps of the same rows, 24 to 120}}
  %a = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %b = transformer.linear %x, @layer.0.query.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %c = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %d = transformer.linear %x, @layer.0.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %e = transformer.linear %x, @layer.0.query.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %a1 = transformer.append %a0, %a in(%rows) : !transformer.cache<24>
  %b1 = transformer.append %b0, %b in(%rows) : !transformer.cache<24>
  %c1 = transformer.append %c0, %c in(%rows) : !transformer.cache<24>
  %d1 = transformer.append %d0, %d in(%rows) : !transformer.cache<24>
  %e1 = transformer.append %e0, %e in(%rows) : !transformer.cache<24>
  return %a1, %b1, %c1, %d1, %e1 : !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>
}
