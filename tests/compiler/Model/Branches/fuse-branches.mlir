// SPDX-License-Identifier: Apache-2.0
// Branches of the heads of one value: a map of groups of columns, then one product.
// RUN: heddle-opt %s -transformer-fuse-branches --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @b.0.output.weight : tensor<24x8xf32> from "b.0.output.weight"
transformer.parameter @b.0.output.bias : tensor<24xf32> from "b.0.output.bias"
transformer.parameter @b.0.inner.weight : tensor<12x24xf32> from "b.0.inner.weight"
transformer.parameter @b.0.inner.bias : tensor<12xf32> from "b.0.inner.bias"
transformer.parameter @b.0.outer.weight : tensor<24x12xf32> from "b.0.outer.weight"
transformer.parameter @b.0.outer.bias : tensor<24xf32> from "b.0.outer.bias"
transformer.parameter @b.0.kappa : tensor<1xf32> from "b.0.kappa"
transformer.parameter @b.0.alpha : tensor<1xf32> from "b.0.alpha"
transformer.parameter @b.1.output.weight : tensor<24x8xf32> from "b.1.output.weight"
transformer.parameter @b.1.output.bias : tensor<24xf32> from "b.1.output.bias"
transformer.parameter @b.1.inner.weight : tensor<12x24xf32> from "b.1.inner.weight"
transformer.parameter @b.1.inner.bias : tensor<12xf32> from "b.1.inner.bias"
transformer.parameter @b.1.outer.weight : tensor<24x12xf32> from "b.1.outer.weight"
transformer.parameter @b.1.outer.bias : tensor<24xf32> from "b.1.outer.bias"
transformer.parameter @b.1.kappa : tensor<1xf32> from "b.1.kappa"
transformer.parameter @b.1.alpha : tensor<1xf32> from "b.1.alpha"
transformer.parameter @b.2.output.weight : tensor<24x8xf32> from "b.2.output.weight"
transformer.parameter @b.2.output.bias : tensor<24xf32> from "b.2.output.bias"
transformer.parameter @b.2.inner.weight : tensor<12x24xf32> from "b.2.inner.weight"
transformer.parameter @b.2.inner.bias : tensor<12xf32> from "b.2.inner.bias"
transformer.parameter @b.2.outer.weight : tensor<24x12xf32> from "b.2.outer.weight"
transformer.parameter @b.2.outer.bias : tensor<24xf32> from "b.2.outer.bias"
transformer.parameter @b.2.kappa : tensor<1xf32> from "b.2.kappa"
transformer.parameter @b.2.alpha : tensor<1xf32> from "b.2.alpha"

// CHECK: transformer.parameter @b.0.output_inner.weight : tensor<12x8xf32> = product(@b.0.inner.weight, @b.0.output.weight)
// CHECK: transformer.parameter @b.0.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.0.output_inner.weight, @b.0.kappa)
// CHECK: transformer.parameter @b.0.output_inner.bias : tensor<12xf32> = product(@b.0.inner.weight, @b.0.output.bias)
// CHECK: transformer.parameter @b.0.output_inner.scaled.bias : tensor<12xf32> = scale(@b.0.output_inner.bias, @b.0.kappa)
// CHECK: transformer.parameter @b.0.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.0.inner.bias, @b.0.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.1.output_inner.weight : tensor<12x8xf32> = product(@b.1.inner.weight, @b.1.output.weight)
// CHECK: transformer.parameter @b.1.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.1.output_inner.weight, @b.1.kappa)
// CHECK: transformer.parameter @b.1.output_inner.bias : tensor<12xf32> = product(@b.1.inner.weight, @b.1.output.bias)
// CHECK: transformer.parameter @b.1.output_inner.scaled.bias : tensor<12xf32> = scale(@b.1.output_inner.bias, @b.1.kappa)
// CHECK: transformer.parameter @b.1.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.1.inner.bias, @b.1.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0_1.output_inner.scaled.weight : tensor<24x8xf32> = concat(@b.0.output_inner.scaled.weight, @b.1.output_inner.scaled.weight)
// CHECK: transformer.parameter @b.0_1.inner_output_inner.scaled.bias : tensor<24xf32> = concat(@b.0.inner_output_inner.scaled.bias, @b.1.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0.outer.scaled.weight : tensor<24x12xf32> = scale(@b.0.outer.weight, @b.0.alpha)
// CHECK: transformer.parameter @b.1.outer.scaled.weight : tensor<24x12xf32> = scale(@b.1.outer.weight, @b.1.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.weight : tensor<24x24xf32> = concat_columns(@b.0.outer.scaled.weight, @b.1.outer.scaled.weight)
// CHECK: transformer.parameter @b.0.outer.scaled.bias : tensor<24xf32> = scale(@b.0.outer.bias, @b.0.alpha)
// CHECK: transformer.parameter @b.1.outer.scaled.bias : tensor<24xf32> = scale(@b.1.outer.bias, @b.1.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.bias : tensor<24xf32> = sum(@b.0.outer.scaled.bias, @b.1.outer.scaled.bias)
// CHECK: transformer.parameter @b.0.inner_output_inner.bias : tensor<12xf32> = sum(@b.0.inner.bias, @b.0.output_inner.bias)
// CHECK: transformer.parameter @b.1.inner_output_inner.bias : tensor<12xf32> = sum(@b.1.inner.bias, @b.1.output_inner.bias)
// CHECK: transformer.parameter @b.0_1.inner_output_inner.bias : tensor<24xf32> = concat(@b.0.inner_output_inner.bias, @b.1.inner_output_inner.bias)
// CHECK: transformer.parameter @b.0_1.outer.bias : tensor<24xf32> = sum(@b.0.outer.bias, @b.1.outer.bias)
// CHECK: transformer.parameter @b.0.output_inner.scaled.weight_0 : tensor<12x8xf32> = scale(@b.0.output_inner.weight, 2.500000e-01)
// CHECK: transformer.parameter @b.0.output_inner.scaled.bias_1 : tensor<12xf32> = scale(@b.0.output_inner.bias, 2.500000e-01)
// CHECK: transformer.parameter @b.0.inner.bias_output_inner.scaled.bias_1 : tensor<12xf32> = sum(@b.0.inner.bias, @b.0.output_inner.scaled.bias_1)
// CHECK: transformer.parameter @b.1.output_inner.scaled.weight_2 : tensor<12x8xf32> = scale(@b.1.output_inner.weight, 2.500000e-01)
// CHECK: transformer.parameter @b.1.output_inner.scaled.bias_3 : tensor<12xf32> = scale(@b.1.output_inner.bias, 2.500000e-01)
// CHECK: transformer.parameter @b.1.inner.bias_output_inner.scaled.bias_3 : tensor<12xf32> = sum(@b.1.inner.bias, @b.1.output_inner.scaled.bias_3)

// The sum of alpha_i FFN_i(kappa_i head_i W_i^O), and what it is added to.
// CHECK-LABEL: func.func @as_in_the_paper(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.0_1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.add %[[V2]], %[[ARG1]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V3]] : tensor<?x24xf32>
func.func @as_in_the_paper(%a: tensor<?x16xf32>, %x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %6 = transformer.linear %5, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %7 = transformer.weight @b.0.alpha : tensor<1xf32>
  %8 = transformer.multiply %6, %7 : tensor<?x24xf32>, tensor<1xf32>
  %9 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %10 = transformer.linear %9, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %11 = transformer.weight @b.1.kappa : tensor<1xf32>
  %12 = transformer.multiply %10, %11 : tensor<?x24xf32>, tensor<1xf32>
  %13 = transformer.linear %12, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %14 = transformer.activate relu %13 : tensor<?x12xf32>
  %15 = transformer.linear %14, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %16 = transformer.weight @b.1.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.add %8, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  %19 = transformer.add %18, %x : tensor<?x24xf32>, tensor<?x24xf32>
  return %19 : tensor<?x24xf32>
}

// kappa on the head, alpha on the activations.
// CHECK-LABEL: func.func @kappa_before_the_product(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.0_1.outer.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @kappa_before_the_product(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.weight @b.0.kappa : tensor<1xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %2 = transformer.multiply %0, %1 : tensor<?x8xf32>, tensor<1xf32>
  %3 = transformer.linear %2, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  %6 = transformer.weight @b.0.alpha : tensor<1xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %7 = transformer.multiply %5, %6 : tensor<?x12xf32>, tensor<1xf32>
  %8 = transformer.linear %7, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %9 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %10 = transformer.weight @b.1.kappa : tensor<1xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %11 = transformer.multiply %9, %10 : tensor<?x8xf32>, tensor<1xf32>
  %12 = transformer.linear %11, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %13 = transformer.linear %12, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %14 = transformer.activate relu %13 : tensor<?x12xf32>
  %15 = transformer.weight @b.1.alpha : tensor<1xf32>
  %16 = transformer.multiply %14, %15 : tensor<?x12xf32>, tensor<1xf32>
  %17 = transformer.linear %16, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %18 = transformer.add %8, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  return %18 : tensor<?x24xf32>
}

// Constants of the program, and several for one branch.
// CHECK-LABEL: func.func @constants(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0.output_inner.scaled.weight_0_1.output_inner.scaled.weight_2, @b.0.inner.bias_output_inner.scaled.bias_1_1.inner.bias_output_inner.scaled.bias_3 {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0.outer.scaled.weight_4_1.outer.scaled.weight_5, @b.0.outer.scaled.bias_6_1.outer.scaled.bias_7 : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @constants(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.scale %1, 2.500000e-01 : tensor<?x24xf32>
  %3 = transformer.linear %2, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.activate relu %3 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %5 = transformer.linear %4, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.scale %5, 5.000000e-01 : tensor<?x24xf32>
  %7 = transformer.scale %6, -3.000000e+00 : tensor<?x24xf32>
  %8 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %9 = transformer.linear %8, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %10 = transformer.scale %9, 2.500000e-01 : tensor<?x24xf32>
  %11 = transformer.linear %10, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %12 = transformer.activate relu %11 : tensor<?x12xf32>
  %13 = transformer.linear %12, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %14 = transformer.scale %13, 5.000000e-01 : tensor<?x24xf32>
  %15 = transformer.scale %14, -3.000000e+00 : tensor<?x24xf32>
  %16 = transformer.weight @b.1.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.add %7, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  return %18 : tensor<?x24xf32>
}

// Any order of the branches, and of the sums.
// CHECK-LABEL: func.func @last_branch_first(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1_2.output_inner.scaled.weight, @b.0_1_2.inner_output_inner.scaled.bias {groups = 3 : i64} : tensor<?x24xf32> -> tensor<?x36xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x36xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1_2.outer.scaled.weight, @b.2_0_1.outer.scaled.bias : tensor<?x36xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.add %[[V2]], %[[ARG1]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V3]] : tensor<?x24xf32>
func.func @last_branch_first(%a: tensor<?x24xf32>, %x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 16 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.2.output.weight, @b.2.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.2.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.2.inner.weight, @b.2.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{6 maps as 24 to 36 in 3 groups, 36 to 24}}
  %6 = transformer.linear %5, @b.2.outer.weight, @b.2.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %7 = transformer.weight @b.2.alpha : tensor<1xf32>
  %8 = transformer.multiply %6, %7 : tensor<?x24xf32>, tensor<1xf32>
  %9 = transformer.columns %a from 0 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %10 = transformer.linear %9, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %11 = transformer.weight @b.0.kappa : tensor<1xf32>
  %12 = transformer.multiply %10, %11 : tensor<?x24xf32>, tensor<1xf32>
  %13 = transformer.linear %12, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %14 = transformer.activate relu %13 : tensor<?x12xf32>
  %15 = transformer.linear %14, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %16 = transformer.weight @b.0.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.columns %a from 8 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %19 = transformer.linear %18, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %20 = transformer.weight @b.1.kappa : tensor<1xf32>
  %21 = transformer.multiply %19, %20 : tensor<?x24xf32>, tensor<1xf32>
  %22 = transformer.linear %21, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %23 = transformer.activate relu %22 : tensor<?x12xf32>
  %24 = transformer.linear %23, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %25 = transformer.weight @b.1.alpha : tensor<1xf32>
  %26 = transformer.multiply %24, %25 : tensor<?x24xf32>, tensor<1xf32>
  %27 = transformer.add %x, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  %28 = transformer.add %27, %26 : tensor<?x24xf32>, tensor<?x24xf32>
  %29 = transformer.add %8, %28 : tensor<?x24xf32>, tensor<?x24xf32>
  return %29 : tensor<?x24xf32>
}
