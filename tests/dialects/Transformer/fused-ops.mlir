// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

transformer.parameter @word.weight : tensor<30522x384xf32> from "word"
transformer.parameter @position.weight : tensor<512x384xf32> from "position"
transformer.parameter @norm.weight : tensor<384xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<384xf32> from "norm.bias"

transformer.parameter @distances : tensor<12x257xf32> from "distances"

transformer.parameter @inner.weight : tensor<2048x64xf32> from "inner.weight"
transformer.parameter @inner.bias : tensor<2048xf32> from "inner.bias"

// CHECK-LABEL: func.func @attention
func.func @attention(%qkv: tensor<?x1152xf32>, %q: tensor<?x384xf32>, %rows: !transformer.segments)
    -> tensor<?x384xf32> {
  // CHECK: transformer.columns %{{.*}} from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %k = transformer.columns %qkv from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
  // CHECK: transformer.columns %{{.*}} from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %v = transformer.columns %qkv from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// CHECK-LABEL: func.func @embed
func.func @embed(%ids: tensor<?xi32>, %rows: !transformer.segments)
    -> (tensor<?x384xf32>, tensor<?x384xf32>) {
  // CHECK: transformer.embed [@word.weight, @position.weight] ids(%{{.*}}) positions(%{{.*}}) {epsilon = 9.99999996E-13 : f32, norm_bias = @norm.bias, norm_weight = @norm.weight, position_offsets = array<i64: 0>} : tensor<?x384xf32>
  %x = transformer.embed [@word.weight, @position.weight] ids(%ids) positions(%rows) {norm_weight = @norm.weight, norm_bias = @norm.bias, epsilon = 9.99999996E-13 : f32, position_offsets = array<i64: 0>} : tensor<?x384xf32>
  // CHECK: transformer.embed [@word.weight] ids(%{{.*}}) : tensor<?x384xf32>
  %y = transformer.embed [@word.weight] ids(%ids) : tensor<?x384xf32>
  return %x, %y : tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @distances_of
func.func @distances_of(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // CHECK: transformer.attention {{.*}} {bias = @distances, heads = 12 : i64
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %a : tensor<?x384xf32>
}

// Every kind of step and of what it takes.
transformer.parameter @pair.weights : tensor<12x32xf32> from "pair.weights"
// CHECK-LABEL: func.func @pairs
func.func @pairs(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> (tensor<?x384xf32>, tensor<?x12x?xf32>) {
  // CHECK: transformer.attention {{.*}} pair_weights = @pair.weights, pairs = #transformer.score<tanh(s0)>
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {heads = 12 : i64, pair_weights = @pair.weights, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  // CHECK: transformer.attention_weights {{.*}} pair_weights = @pair.weights, pairs = #transformer.score<tanh(s0)>, raw
  %p = transformer.attention_weights %q, %q in(%rows, %rows) {heads = 12 : i64, pair_weights = @pair.weights, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %a, %p : tensor<?x384xf32>, tensor<?x12x?xf32>
}

// CHECK-LABEL: func.func @scores
func.func @scores(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> (tensor<?x384xf32>, tensor<?x12x?xf32>) {
  // CHECK: transformer.attention {{.*}} score = #transformer.score<multiply(s0, -2.000000e-02), tanh(s1), multiply(s2, s0), add(bias, s3)>
  %a = transformer.attention %q, %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<multiply(s0, -0.02), tanh(s1), multiply(s2, s0), add(bias, s3)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  // CHECK: transformer.attention_weights {{.*}} score = #transformer.score<gelu_new(s0)>
  %p = transformer.attention_weights %q, %q in(%rows, %rows) {heads = 12 : i64, scale = 1.0 : f32, score = #transformer.score<gelu_new(s0)>, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %a, %p : tensor<?x384xf32>, tensor<?x12x?xf32>
}

// CHECK-LABEL: func.func @scaled
func.func @scaled(%ids: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // CHECK: transformer.embed [@word.weight, @position.weight] ids(%{{.*}}) positions(%{{.*}}) {position_offsets = array<i64: 0>, scales = array<f32: 2.000000e+01>} : tensor<?x384xf32>
  %x = transformer.embed [@word.weight, @position.weight] ids(%ids) positions(%rows) {position_offsets = array<i64: 0>, scales = array<f32: 20.0>} : tensor<?x384xf32>
  return %x : tensor<?x384xf32>
}

// CHECK-LABEL: func.func @shared_weights
func.func @shared_weights(%q: tensor<?x384xf32>, %k: tensor<?x384xf32>, %v: tensor<?x384xf32>, %w: tensor<?x192xf32>,
                          %rows: !transformer.segments) -> (tensor<?x384xf32>, tensor<?x192xf32>) {
  // CHECK: %[[P:.*]] = transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  %p = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  // CHECK: transformer.attend %[[P]], %{{.*}} in(%{{.*}}, %{{.*}}) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %a = transformer.attend %p, %v in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  // CHECK: transformer.attend %[[P]], %{{.*}} in(%{{.*}}, %{{.*}}) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
  %b = transformer.attend %p, %w in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
  return %a, %b : tensor<?x384xf32>, tensor<?x192xf32>
}

// CHECK-LABEL: func.func @weights_by_distance
func.func @weights_by_distance(%q: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // CHECK: transformer.attention_weights {{.*}} {bias = @distances, heads = 12 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
  %p = transformer.attention_weights %q, %q in(%rows, %rows) {bias = @distances, heads = 12 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x12x?xf32>
  return %p : tensor<?x12x?xf32>
}

// CHECK-LABEL: func.func @grouped_linear
func.func @grouped_linear(%x: tensor<?x512xf32>) -> (tensor<?x2048xf32>, tensor<?x2048xf32>) {
  // CHECK: transformer.grouped_linear %{{.*}}, @inner.weight, @inner.bias {groups = 8 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  %y = transformer.grouped_linear %x, @inner.weight, @inner.bias {groups = 8 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  // CHECK: transformer.grouped_linear %{{.*}}, @inner.weight {groups = 8 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  %z = transformer.grouped_linear %x, @inner.weight {groups = 8 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  return %y, %z : tensor<?x2048xf32>, tensor<?x2048xf32>
}

// CHECK-LABEL: func.func @shared_heads
func.func @shared_heads(%q: tensor<?x384xf32>, %k: tensor<?x96xf32>, %v: tensor<?x64xf32>, %rows: !transformer.segments)
    -> (tensor<?x192xf32>, tensor<?x192xf32>) {
  // CHECK: transformer.attention {{.*}} {heads = 12 : i64, key_share = 4 : i64, scale = 1.000000e+00 : f32, value_share = 3 : i64, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x96xf32>, tensor<?x64xf32> -> tensor<?x192xf32>
  %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 12 : i64, key_share = 4 : i64, scale = 1.0 : f32, value_share = 3 : i64, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x96xf32>, tensor<?x64xf32> -> tensor<?x192xf32>
  // CHECK: transformer.attention_weights {{.*}} {heads = 12 : i64, key_share = 4 : i64, scale
  %p = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 12 : i64, key_share = 4 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x96xf32> -> tensor<?x12x?xf32>
  // CHECK: transformer.attend {{.*}} {value_share = 3 : i64, visibility
  %b = transformer.attend %p, %v in(%rows, %rows) {value_share = 3 : i64, visibility = #transformer.visibility<all>} : tensor<?x12x?xf32>, tensor<?x64xf32> -> tensor<?x192xf32>
  return %a, %b : tensor<?x192xf32>, tensor<?x192xf32>
}

// CHECK-LABEL: func.func @rotated
func.func @rotated(%q: tensor<?x32xf32>, %c: tensor<?x8xf32>, %s: tensor<?x8xf32>) -> tensor<?x32xf32> {
  // CHECK: transformer.rotate %{{.*}}, %{{.*}}, %{{.*}} {heads = 2 : i64} : tensor<?x32xf32>, tensor<?x8xf32>
  %r = transformer.rotate %q, %c, %s {heads = 2 : i64} : tensor<?x32xf32>, tensor<?x8xf32>
  return %r : tensor<?x32xf32>
}
