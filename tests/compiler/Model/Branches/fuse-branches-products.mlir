// SPDX-License-Identifier: Apache-2.0
// Products of weights with nothing between them, and of the same rows.
// RUN: heddle-opt %s -transformer-fuse-branches --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @b.0.output.weight : tensor<24x8xf32> from "b.0.output.weight"
transformer.parameter @b.0.output.bias : tensor<24xf32> from "b.0.output.bias"
transformer.parameter @b.0.inner.weight : tensor<12x24xf32> from "b.0.inner.weight"
transformer.parameter @b.0.inner.bias : tensor<12xf32> from "b.0.inner.bias"
transformer.parameter @b.0.outer.weight : tensor<24x12xf32> from "b.0.outer.weight"
transformer.parameter @b.1.output.weight : tensor<24x8xf32> from "b.1.output.weight"
transformer.parameter @b.1.output.bias : tensor<24xf32> from "b.1.output.bias"
transformer.parameter @b.1.kappa : tensor<1xf32> from "b.1.kappa"
transformer.parameter @full.weight : tensor<24x24xf32> from "full.weight"
transformer.parameter @full.bias : tensor<24xf32> from "full.bias"
transformer.parameter @down.weight : tensor<4x24xf32> from "down.weight"
transformer.parameter @up.weight : tensor<24x4xf32> from "up.weight"
transformer.parameter @down2.weight : tensor<4x24xf32> from "down2.weight"
transformer.parameter @up2.weight : tensor<24x4xf32> from "up2.weight"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"
transformer.parameter @kappa : tensor<1xf32> from "kappa"

// CHECK: transformer.parameter @b.0.output_inner.weight : tensor<12x8xf32> = product(@b.0.inner.weight, @b.0.output.weight)
// CHECK: transformer.parameter @b.0.output_inner.bias : tensor<12xf32> = product(@b.0.inner.weight, @b.0.output.bias)
// CHECK: transformer.parameter @b.0.inner_output_inner.bias : tensor<12xf32> = sum(@b.0.inner.bias, @b.0.output_inner.bias)
// CHECK: transformer.parameter @b.0.output_inner_outer.weight : tensor<24x8xf32> = product(@b.0.outer.weight, @b.0.output_inner.weight)
// CHECK: transformer.parameter @b.0.output_inner_outer.scaled.weight : tensor<24x8xf32> = scale(@b.0.output_inner_outer.weight, 3.000000e+00)
// CHECK: transformer.parameter @b.0.inner.scaled.bias : tensor<12xf32> = scale(@b.0.inner.bias, 1.500000e+00)
// CHECK: transformer.parameter @b.0.output_inner.scaled.bias : tensor<12xf32> = scale(@b.0.output_inner.bias, 3.000000e+00)
// CHECK: transformer.parameter @b.0.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.0.inner.scaled.bias, @b.0.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0.inner_output_inner.scaled_outer.bias : tensor<24xf32> = product(@b.0.outer.weight, @b.0.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @full_b.0.inner.weight : tensor<12x24xf32> = product(@b.0.inner.weight, @full.weight)
// CHECK: transformer.parameter @full_b.0.inner.scaled.weight : tensor<12x24xf32> = scale(@full_b.0.inner.weight, 2.000000e+00)
// CHECK: transformer.parameter @full_b.0.inner.bias : tensor<12xf32> = product(@b.0.inner.weight, @full.bias)
// CHECK: transformer.parameter @full_b.0.inner.scaled.bias : tensor<12xf32> = scale(@full_b.0.inner.bias, 2.000000e+00)
// CHECK: transformer.parameter @b.0.inner_full_b.0.inner.scaled.bias : tensor<12xf32> = sum(@b.0.inner.bias, @full_b.0.inner.scaled.bias)
// CHECK: transformer.parameter @full_down.weight : tensor<4x24xf32> = product(@down.weight, @full.weight)
// CHECK: transformer.parameter @full_down.bias : tensor<4xf32> = product(@down.weight, @full.bias)
// CHECK: transformer.parameter @full_down_up.bias : tensor<24xf32> = product(@up.weight, @full_down.bias)
// CHECK: transformer.parameter @down_up.weight : tensor<24x24xf32> = product(@up.weight, @down.weight)
// CHECK: transformer.parameter @down_up.scaled.weight : tensor<24x24xf32> = scale(@down_up.weight, 2.500000e-01)
// CHECK: transformer.parameter @full_down_up.scaled.weight : tensor<24x24xf32> = sum(@full.weight, @down_up.scaled.weight)
// CHECK: transformer.parameter @down2_up2.weight : tensor<24x24xf32> = product(@up2.weight, @down2.weight)
// CHECK: transformer.parameter @down_up_down2_up2_full.weight : tensor<24x24xf32> = sum(@down_up.weight, @down2_up2.weight, @full.weight)
// CHECK: transformer.parameter @down_down2.weight : tensor<8x24xf32> = concat(@down.weight, @down2.weight)
// CHECK: transformer.parameter @up2.scaled.weight : tensor<24x4xf32> = scale(@up2.weight, 2.000000e+00)
// CHECK: transformer.parameter @up_up2.scaled.weight : tensor<24x8xf32> = concat_columns(@up.weight, @up2.scaled.weight)
// CHECK: transformer.parameter @b.1.output.scaled.weight : tensor<24x8xf32> = scale(@b.1.output.weight, @b.1.kappa)
// CHECK: transformer.parameter @b.0.output_1.output.scaled.weight : tensor<24x16xf32> = concat_columns(@b.0.output.weight, @b.1.output.scaled.weight)

// Two products with nothing between them.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0.output_inner.weight, @b.0.inner_output_inner.bias : tensor<?x8xf32> -> tensor<?x12xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x12xf32>
func.func @chain(%a: tensor<?x8xf32>) -> tensor<?x12xf32> {
  // expected-remark @below {{2 maps as 8 to 12}}
  %0 = transformer.linear %a, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %1 = transformer.linear %0, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  return %1 : tensor<?x12xf32>
}

// Three, scaled between them.
// CHECK-LABEL: func.func @chain_of_three(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0.output_inner_outer.scaled.weight, @b.0.inner_output_inner.scaled_outer.bias : tensor<?x8xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @chain_of_three(%a: tensor<?x8xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{3 maps as 8 to 24}}
  %0 = transformer.linear %a, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %1 = transformer.scale %0, 2.000000e+00 : tensor<?x24xf32>
  %2 = transformer.linear %1, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.scale %2, 5.000000e-01 : tensor<?x12xf32>
  %4 = transformer.linear %3, @b.0.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.scale %4, 3.000000e+00 : tensor<?x24xf32>
  return %5 : tensor<?x24xf32>
}

// Two products of a sum: one of the sum, not one of each of what is added.
// CHECK-LABEL: func.func @chain_of_a_sum(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.add %[[ARG0]], %[[ARG1]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @full_b.0.inner.scaled.weight, @b.0.inner_full_b.0.inner.scaled.bias : tensor<?x24xf32> -> tensor<?x12xf32>
// CHECK-NEXT: return %[[V1]] : tensor<?x12xf32>
func.func @chain_of_a_sum(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> tensor<?x12xf32> {
  // expected-remark @below {{2 maps as 24 to 12}}
  %0 = transformer.add %x, %y : tensor<?x24xf32>, tensor<?x24xf32>
  %1 = transformer.linear %0, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %2 = transformer.scale %1, 2.000000e+00 : tensor<?x24xf32>
  %3 = transformer.linear %2, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  return %3 : tensor<?x12xf32>
}

// Three of which two are better composed.
// CHECK-LABEL: func.func @chain_in_two(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @full_down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @up.weight, @full_down_up.bias : tensor<?x4xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V1]] : tensor<?x24xf32>
func.func @chain_in_two(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{3 maps as 24 to 4, 4 to 24}}
  %0 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %1 = transformer.linear %0, @down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %2 = transformer.linear %1, @up.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  return %2 : tensor<?x24xf32>
}

// A product and one of low rank beside it.
// CHECK-LABEL: func.func @low_rank(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @full_down_up.scaled.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @low_rank(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %1 = transformer.linear %0, @up.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  %2 = transformer.scale %1, 2.500000e-01 : tensor<?x24xf32>
  // expected-remark @below {{3 maps as 24 to 24}}
  %3 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %4 = transformer.add %3, %2 : tensor<?x24xf32>, tensor<?x24xf32>
  return %4 : tensor<?x24xf32>
}

// The same on top of another product.
// CHECK-LABEL: func.func @low_rank_of_the_head(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @down_up_down2_up2_full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @low_rank_of_the_head(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{5 maps as 24 to 24}}
  %0 = transformer.linear %x, @down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %1 = transformer.linear %0, @up.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %x, @down2.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %3 = transformer.linear %2, @up2.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  %4 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %5 = transformer.add %3, %4 : tensor<?x24xf32>, tensor<?x24xf32>
  %6 = transformer.add %1, %5 : tensor<?x24xf32>, tensor<?x24xf32>
  return %6 : tensor<?x24xf32>
}

// Parallel adapters of low rank: each product once, side by side.
// CHECK-LABEL: func.func @adapters(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @down_down2.weight : tensor<?x24xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @up_up2.scaled.weight : tensor<?x8xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.add %[[V1]], %[[ARG0]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @adapters(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{4 maps as 24 to 8, 8 to 24}}
  %0 = transformer.linear %x, @down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %1 = transformer.linear %0, @up.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %x, @down2.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %3 = transformer.linear %2, @up2.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  %4 = transformer.scale %3, 2.000000e+00 : tensor<?x24xf32>
  %5 = transformer.add %1, %4 : tensor<?x24xf32>, tensor<?x24xf32>
  %6 = transformer.add %5, %x : tensor<?x24xf32>, tensor<?x24xf32>
  return %6 : tensor<?x24xf32>
}

// The sum over heads of head_i W_i^O is the product of all heads.
// CHECK-LABEL: func.func @output_of_heads(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0.output_1.output.scaled.weight, @b.0.output_1.output.scaled.bias : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @output_of_heads(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 16 to 24}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %3 = transformer.linear %2, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %4 = transformer.weight @b.1.kappa : tensor<1xf32>
  %5 = transformer.multiply %3, %4 : tensor<?x24xf32>, tensor<1xf32>
  %6 = transformer.add %1, %5 : tensor<?x24xf32>, tensor<?x24xf32>
  return %6 : tensor<?x24xf32>
}

// The same product of the same rows twice.
// CHECK-LABEL: func.func @twice_the_same(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @full.weight_scaled.weight, @full.bias_scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @twice_the_same(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{2 maps as 24 to 24}}
  %0 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %1 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %2 = transformer.scale %1, 5.000000e-01 : tensor<?x24xf32>
  %3 = transformer.add %0, %2 : tensor<?x24xf32>, tensor<?x24xf32>
  return %3 : tensor<?x24xf32>
}

// Two products of the same rows.
// CHECK-LABEL: func.func @sum_of_weights(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.layer_norm %[[ARG1]], @norm.weight, @norm.bias {epsilon = 9.99999997E-7 : f32} : tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @full.weight : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[ARG0]], @full.scaled.weight_0_weight, @full.bias_bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.add %[[V1]], %[[V2]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V3]] : tensor<?x24xf32>
func.func @sum_of_weights(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.layer_norm %y, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  // expected-remark @below {{not one product: transformer.layer_norm stands between}}
  // expected-remark @below {{3 maps as 24 to 24, 24 to 24}}
  %1 = transformer.linear %0, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %x, @full.weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %3 = transformer.weight @kappa : tensor<1xf32>
  %4 = transformer.multiply %2, %3 : tensor<?x24xf32>, tensor<1xf32>
  %5 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %6 = transformer.add %4, %5 : tensor<?x24xf32>, tensor<?x24xf32>
  %7 = transformer.add %1, %6 : tensor<?x24xf32>, tensor<?x24xf32>
  return %7 : tensor<?x24xf32>
}

// A weight that scales one product.
// CHECK-LABEL: func.func @scaled_product(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @full.scaled.weight_0, @full.scaled.bias_1 : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V0]] : tensor<?x24xf32>
func.func @scaled_product(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{1 map as 24 to 24}}
  %0 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %1 = transformer.weight @kappa : tensor<1xf32>
  %2 = transformer.multiply %0, %1 : tensor<?x24xf32>, tensor<1xf32>
  return %2 : tensor<?x24xf32>
}
