// SPDX-License-Identifier: Apache-2.0
// More than one branch a head, and less than all of them.
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
transformer.parameter @b.3.output.weight : tensor<24x8xf32> from "b.3.output.weight"
transformer.parameter @b.3.output.bias : tensor<24xf32> from "b.3.output.bias"
transformer.parameter @b.3.inner.weight : tensor<12x24xf32> from "b.3.inner.weight"
transformer.parameter @b.3.inner.bias : tensor<12xf32> from "b.3.inner.bias"
transformer.parameter @b.3.outer.weight : tensor<24x12xf32> from "b.3.outer.weight"
transformer.parameter @b.3.outer.bias : tensor<24xf32> from "b.3.outer.bias"
transformer.parameter @b.3.kappa : tensor<1xf32> from "b.3.kappa"
transformer.parameter @b.3.alpha : tensor<1xf32> from "b.3.alpha"
transformer.parameter @full.weight : tensor<24x24xf32> from "full.weight"
transformer.parameter @full.bias : tensor<24xf32> from "full.bias"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"

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
// CHECK: transformer.parameter @b.2.output_inner.weight : tensor<12x8xf32> = product(@b.2.inner.weight, @b.2.output.weight)
// CHECK: transformer.parameter @b.2.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.2.output_inner.weight, @b.2.kappa)
// CHECK: transformer.parameter @b.2.output_inner.bias : tensor<12xf32> = product(@b.2.inner.weight, @b.2.output.bias)
// CHECK: transformer.parameter @b.2.output_inner.scaled.bias : tensor<12xf32> = scale(@b.2.output_inner.bias, @b.2.kappa)
// CHECK: transformer.parameter @b.2.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.2.inner.bias, @b.2.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.3.output_inner.weight : tensor<12x8xf32> = product(@b.3.inner.weight, @b.3.output.weight)
// CHECK: transformer.parameter @b.3.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.3.output_inner.weight, @b.3.kappa)
// CHECK: transformer.parameter @b.3.output_inner.bias : tensor<12xf32> = product(@b.3.inner.weight, @b.3.output.bias)
// CHECK: transformer.parameter @b.3.output_inner.scaled.bias : tensor<12xf32> = scale(@b.3.output_inner.bias, @b.3.kappa)
// CHECK: transformer.parameter @b.3.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.3.inner.bias, @b.3.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0_1.output_inner.scaled.weight : tensor<24x8xf32> = concat(@b.0.output_inner.scaled.weight, @b.1.output_inner.scaled.weight)
// CHECK: transformer.parameter @b.2_3.output_inner.scaled.weight : tensor<24x8xf32> = concat(@b.2.output_inner.scaled.weight, @b.3.output_inner.scaled.weight)
// CHECK: transformer.parameter @b.0_1_2_3.output_inner.scaled.weight : tensor<48x8xf32> = concat(@b.0_1.output_inner.scaled.weight, @b.2_3.output_inner.scaled.weight)
// CHECK: transformer.parameter @b.0_1.inner_output_inner.scaled.bias : tensor<24xf32> = concat(@b.0.inner_output_inner.scaled.bias, @b.1.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.2_3.inner_output_inner.scaled.bias : tensor<24xf32> = concat(@b.2.inner_output_inner.scaled.bias, @b.3.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0_1_2_3.inner_output_inner.scaled.bias : tensor<48xf32> = concat(@b.0_1.inner_output_inner.scaled.bias, @b.2_3.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.1.outer.scaled.weight : tensor<24x12xf32> = scale(@b.1.outer.weight, @b.1.alpha)
// CHECK: transformer.parameter @b.0.outer_1.outer.scaled.weight : tensor<24x24xf32> = concat_columns(@b.0.outer.weight, @b.1.outer.scaled.weight)

// Two feed-forward layers of each head: of the same rows first.
// CHECK-LABEL: func.func @two_branches_a_head(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1_2_3.output_inner.scaled.weight, @b.0_1_2_3.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x48xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x48xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0.outer_1_2.outer_3.outer.scaled.weight, @b.0.outer_1.outer.scaled_2.outer_3.outer.scaled.bias : tensor<?x48xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @two_branches_a_head(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{8 maps as 16 to 48 in 2 groups, 48 to 24}}
  %6 = transformer.linear %5, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %7 = transformer.linear %0, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %8 = transformer.weight @b.1.kappa : tensor<1xf32>
  %9 = transformer.multiply %7, %8 : tensor<?x24xf32>, tensor<1xf32>
  %10 = transformer.linear %9, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %11 = transformer.activate relu %10 : tensor<?x12xf32>
  %12 = transformer.linear %11, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %13 = transformer.weight @b.1.alpha : tensor<1xf32>
  %14 = transformer.multiply %12, %13 : tensor<?x24xf32>, tensor<1xf32>
  %15 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %16 = transformer.linear %15, @b.2.output.weight, @b.2.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %17 = transformer.weight @b.2.kappa : tensor<1xf32>
  %18 = transformer.multiply %16, %17 : tensor<?x24xf32>, tensor<1xf32>
  %19 = transformer.linear %18, @b.2.inner.weight, @b.2.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %20 = transformer.activate relu %19 : tensor<?x12xf32>
  %21 = transformer.linear %20, @b.2.outer.weight, @b.2.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %22 = transformer.linear %15, @b.3.output.weight, @b.3.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %23 = transformer.weight @b.3.kappa : tensor<1xf32>
  %24 = transformer.multiply %22, %23 : tensor<?x24xf32>, tensor<1xf32>
  %25 = transformer.linear %24, @b.3.inner.weight, @b.3.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %26 = transformer.activate relu %25 : tensor<?x12xf32>
  %27 = transformer.linear %26, @b.3.outer.weight, @b.3.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %28 = transformer.weight @b.3.alpha : tensor<1xf32>
  %29 = transformer.multiply %27, %28 : tensor<?x24xf32>, tensor<1xf32>
  %30 = transformer.add %6, %14 : tensor<?x24xf32>, tensor<?x24xf32>
  %31 = transformer.add %21, %29 : tensor<?x24xf32>, tensor<?x24xf32>
  %32 = transformer.add %30, %31 : tensor<?x24xf32>, tensor<?x24xf32>
  return %32 : tensor<?x24xf32>
}

// What cannot be stacked is left beside what can.
// CHECK-LABEL: func.func @some_branches(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.layer_norm %[[ARG1]], @norm.weight, @norm.bias {epsilon = 9.99999997E-7 : f32} : tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @full.weight : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.activate relu %[[V2]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V4:.*]] = transformer.linear %[[V3]], @b.0_1.outer.scaled.weight, @b.0.outer.scaled_b.1.outer.scaled_full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V5:.*]] = transformer.add %[[V1]], %[[V4]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V5]] : tensor<?x24xf32>
func.func @some_branches(%a: tensor<?x16xf32>, %x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{not one product: transformer.layer_norm stands between}}
  // expected-remark @below {{5 maps as 24 to 24, 16 to 24 in 2 groups, 24 to 24}}
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
  %19 = transformer.layer_norm %x, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  %20 = transformer.linear %19, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %21 = transformer.add %18, %20 : tensor<?x24xf32>, tensor<?x24xf32>
  return %21 : tensor<?x24xf32>
}

// One number for all branches of a row.
// CHECK-LABEL: func.func @one_gate(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.0_1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.multiply %[[V2]], %[[ARG1]] : tensor<?x24xf32>, tensor<?x1xf32>
// CHECK-NEXT: return %[[V3]] : tensor<?x24xf32>
func.func @one_gate(%a: tensor<?x16xf32>, %g: tensor<?x1xf32>) -> tensor<?x24xf32> {
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
  %9 = transformer.multiply %8, %g : tensor<?x24xf32>, tensor<?x1xf32>
  %10 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %11 = transformer.linear %10, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %12 = transformer.weight @b.1.kappa : tensor<1xf32>
  %13 = transformer.multiply %11, %12 : tensor<?x24xf32>, tensor<1xf32>
  %14 = transformer.linear %13, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %15 = transformer.activate relu %14 : tensor<?x12xf32>
  %16 = transformer.linear %15, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %17 = transformer.weight @b.1.alpha : tensor<1xf32>
  %18 = transformer.multiply %16, %17 : tensor<?x24xf32>, tensor<1xf32>
  %19 = transformer.multiply %18, %g : tensor<?x24xf32>, tensor<?x1xf32>
  %20 = transformer.add %9, %19 : tensor<?x24xf32>, tensor<?x24xf32>
  return %20 : tensor<?x24xf32>
}
