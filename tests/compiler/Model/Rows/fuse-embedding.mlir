// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-embedding --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @word : tensor<32x24xf32> from "word"
transformer.parameter @segment : tensor<2x24xf32> from "segment"
transformer.parameter @position : tensor<64x24xf32> from "position"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"

// As BERT writes it.
// CHECK-LABEL: func.func @bert(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<?xi32>, %[[T:[a-z0-9]+]]: tensor<?xi32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[E:.*]] = transformer.embed [@word, @segment, @position] ids(%[[I]], %[[T]]) positions(%[[R]]) {epsilon = {{.*}}, norm_bias = @norm.bias, norm_weight = @norm.weight, position_offsets = array<i64: 0>} : tensor<?x24xf32>
// CHECK-NEXT: return %[[E]]
func.func @bert(%ids: tensor<?xi32>, %types: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  // expected-remark @below {{3 tables of 24, layer norm}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  %i = transformer.positions %rows
  %p = transformer.gather @position[%i] : tensor<?x24xf32>
  %a = transformer.add %w, %s : tensor<?x24xf32>, tensor<?x24xf32>
  %b = transformer.add %a, %p : tensor<?x24xf32>, tensor<?x24xf32>
  %n = transformer.layer_norm %b, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %n : tensor<?x24xf32>
}

// Another nesting, positions first and from 2, no norm.
// CHECK-LABEL: func.func @nested(
// CHECK: transformer.embed [@word, @segment, @position] ids(%{{.*}}, %{{.*}}) positions(%{{.*}}) {position_offsets = array<i64: 2>}
func.func @nested(%ids: tensor<?xi32>, %types: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %i = transformer.positions %rows {offset = 2 : i64}
  // expected-remark @below {{3 tables of 24}}
  %p = transformer.gather @position[%i] : tensor<?x24xf32>
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  %a = transformer.add %w, %s : tensor<?x24xf32>, tensor<?x24xf32>
  %b = transformer.add %p, %a : tensor<?x24xf32>, tensor<?x24xf32>
  return %b : tensor<?x24xf32>
}

// One table and its norm.
// CHECK-LABEL: func.func @one_table(
// CHECK: transformer.embed [@word] ids(%{{.*}}) {epsilon
func.func @one_table(%ids: tensor<?xi32>) -> tensor<?x24xf32> {
  // expected-remark @below {{1 tables of 24, layer norm}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %n = transformer.layer_norm %w, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %n : tensor<?x24xf32>
}

// The sum is needed without its norm: both stay, the look-ups are one.
// CHECK-LABEL: func.func @sum_used_twice(
// CHECK: %[[E:.*]] = transformer.embed [@word, @segment] ids(%{{.*}}, %{{.*}}) : tensor<?x24xf32>
// CHECK: transformer.layer_norm %[[E]]
func.func @sum_used_twice(%ids: tensor<?xi32>, %types: tensor<?xi32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  // expected-remark @below {{2 tables of 24}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  %a = transformer.add %w, %s : tensor<?x24xf32>, tensor<?x24xf32>
  %n = transformer.layer_norm %a, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %a, %n : tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @look_up_used_twice(
// CHECK-NOT: transformer.embed
func.func @look_up_used_twice(%ids: tensor<?xi32>, %types: tensor<?xi32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  // expected-remark @below {{not fused: a look-up has a second user (func.return)}}
  %a = transformer.add %w, %s : tensor<?x24xf32>, tensor<?x24xf32>
  return %a, %w : tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @zeroed(
// CHECK-NOT: transformer.embed
func.func @zeroed(%ids: tensor<?xi32>, %types: tensor<?xi32>) -> tensor<?x24xf32> {
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %z = transformer.scale %w, 0.0 : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  // expected-remark @below {{not fused: a summand is not a table look-up (transformer.scale)}}
  %a = transformer.add %z, %s : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}

// CHECK-LABEL: func.func @argument(
// CHECK-NOT: transformer.embed
func.func @argument(%ids: tensor<?xi32>, %x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  // expected-remark @below {{not fused: a summand is an argument of the function}}
  %a = transformer.add %w, %x : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}

// As "Attention is all you need" writes it.
// CHECK-LABEL: func.func @scaled(
// CHECK: transformer.embed [@word, @position] ids(%{{.*}}) positions(%{{.*}}) {position_offsets = array<i64: 0>, scales = array<f32: 5.000000e+00>}
func.func @scaled(%ids: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  // expected-remark @below {{2 tables of 24}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %z = transformer.scale %w, 5.0 : tensor<?x24xf32>
  %i = transformer.positions %rows
  %p = transformer.gather @position[%i] : tensor<?x24xf32>
  %a = transformer.add %z, %p : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}

// A factor on one of two tables, before a norm.
// CHECK-LABEL: func.func @scaled_norm(
// CHECK: transformer.embed [@word, @segment] ids(%{{.*}}, %{{.*}}) {{.*}}scales = array<f32: 1.000000e+00, 2.000000e+00>}
func.func @scaled_norm(%ids: tensor<?xi32>, %types: tensor<?xi32>) -> tensor<?x24xf32> {
  // expected-remark @below {{2 tables of 24, layer norm}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %s = transformer.gather @segment[%types] : tensor<?x24xf32>
  %z = transformer.scale %s, 2.0 : tensor<?x24xf32>
  %a = transformer.add %w, %z : tensor<?x24xf32>, tensor<?x24xf32>
  %n = transformer.layer_norm %a, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %n : tensor<?x24xf32>
}

// Look-ups by position have no factors: what is scaled is added as it is.
// CHECK-LABEL: func.func @scaled_positions(
// CHECK: %[[S:.*]] = transformer.scale
// CHECK: %[[E:.*]] = transformer.embed [@word, @segment] ids(
// CHECK: transformer.add %[[E]], %[[S]]
func.func @scaled_positions(%ids: tensor<?xi32>, %types: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  // expected-remark @below {{2 tables of 24}}
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %t = transformer.gather @segment[%types] : tensor<?x24xf32>
  %i = transformer.positions %rows
  %p = transformer.gather @position[%i] : tensor<?x24xf32>
  %z = transformer.scale %p, 2.0 : tensor<?x24xf32>
  %a = transformer.add %w, %t : tensor<?x24xf32>, tensor<?x24xf32>
  %b = transformer.add %a, %z : tensor<?x24xf32>, tensor<?x24xf32>
  return %b : tensor<?x24xf32>
}

// CHECK-LABEL: func.func @scaled_positions_alone(
// CHECK-NOT: transformer.embed
// CHECK: return
func.func @scaled_positions_alone(%ids: tensor<?xi32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %w = transformer.gather @word[%ids] : tensor<?x24xf32>
  %i = transformer.positions %rows
  %p = transformer.gather @position[%i] : tensor<?x24xf32>
  %z = transformer.scale %p, 2.0 : tensor<?x24xf32>
  // expected-remark @below {{not fused: a look-up by position has a factor}}
  %a = transformer.add %w, %z : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}

// Positions of one operation or of several that give the same rows.
// CHECK-LABEL: func.func @positions_of_equal_blocks(
// CHECK: transformer.embed [@position, @word] positions(
func.func @positions_of_equal_blocks(%rows: !transformer.segments) -> tensor<?x24xf32> {
  %b0 = transformer.blocks %rows, 2
  %b1 = transformer.blocks %rows, 2
  %i0 = transformer.positions %b0
  %i1 = transformer.positions %b1
  // expected-remark @below {{2 tables of 24}}
  %p = transformer.gather @position[%i0] : tensor<?x24xf32>
  %w = transformer.gather @word[%i1] : tensor<?x24xf32>
  %a = transformer.add %p, %w : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}

// One operation numbers the rows of one segmentation.
// CHECK-LABEL: func.func @positions_of_other_rows(
// CHECK-NOT: transformer.embed
// CHECK: return
func.func @positions_of_other_rows(%rows: !transformer.segments, %others: !transformer.segments) -> tensor<?x24xf32> {
  %i0 = transformer.positions %rows
  %i1 = transformer.positions %others
  %p = transformer.gather @position[%i0] : tensor<?x24xf32>
  %w = transformer.gather @word[%i1] : tensor<?x24xf32>
  // expected-remark @below {{not fused: its look-ups are by positions of different rows}}
  %a = transformer.add %p, %w : tensor<?x24xf32>, tensor<?x24xf32>
  return %a : tensor<?x24xf32>
}
