// SPDX-License-Identifier: Apache-2.0
// Other spellings of branches of heads.
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

// CHECK: transformer.parameter @b.0.output_inner.weight : tensor<12x8xf32> = product(@b.0.inner.weight, @b.0.output.weight)
// CHECK: transformer.parameter @b.0.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.0.output_inner.weight, @b.0.kappa)
// CHECK: transformer.parameter @b.0.output_inner.bias : tensor<12xf32> = product(@b.0.inner.weight, @b.0.output.bias)
// CHECK: transformer.parameter @b.0.output_inner.scaled.bias : tensor<12xf32> = scale(@b.0.output_inner.bias, @b.0.kappa)
// CHECK: transformer.parameter @b.0.output_inner.scaled_inner.bias : tensor<12xf32> = sum(@b.0.output_inner.scaled.bias, @b.0.inner.bias)
// CHECK: transformer.parameter @b.1.output_inner.weight : tensor<12x8xf32> = product(@b.1.inner.weight, @b.1.output.weight)
// CHECK: transformer.parameter @b.1.output_inner.scaled.weight : tensor<12x8xf32> = scale(@b.1.output_inner.weight, @b.1.kappa)
// CHECK: transformer.parameter @b.1.output_inner.bias : tensor<12xf32> = product(@b.1.inner.weight, @b.1.output.bias)
// CHECK: transformer.parameter @b.1.output_inner.scaled.bias : tensor<12xf32> = scale(@b.1.output_inner.bias, @b.1.kappa)
// CHECK: transformer.parameter @b.1.output_inner.scaled_inner.bias : tensor<12xf32> = sum(@b.1.output_inner.scaled.bias, @b.1.inner.bias)
// CHECK: transformer.parameter @b.0_1.output_inner.scaled.weight : tensor<24x8xf32> = concat(@b.0.output_inner.scaled.weight, @b.1.output_inner.scaled.weight)
// CHECK: transformer.parameter @b.0_1.output_inner.scaled_inner.bias : tensor<24xf32> = concat(@b.0.output_inner.scaled_inner.bias, @b.1.output_inner.scaled_inner.bias)
// CHECK: transformer.parameter @b.0_1.outer.weight : tensor<24x24xf32> = concat_columns(@b.0.outer.weight, @b.1.outer.weight)
// CHECK: transformer.parameter @b.0_1.outer.bias : tensor<24xf32> = sum(@b.0.outer.bias, @b.1.outer.bias)
// CHECK: transformer.parameter @b.0.outer.scaled.weight : tensor<24x12xf32> = scale(@b.0.outer.weight, @b.0.alpha)
// CHECK: transformer.parameter @b.1.outer.scaled.weight : tensor<24x12xf32> = scale(@b.1.outer.weight, @b.1.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.weight : tensor<24x24xf32> = concat_columns(@b.0.outer.scaled.weight, @b.1.outer.scaled.weight)
// CHECK: transformer.parameter @b.1.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.1.inner.bias, @b.1.output_inner.scaled.bias)
// CHECK: transformer.parameter @zeros : tensor<12xf32> = zeros()
// CHECK: transformer.parameter @zeros_b.1.inner_output_inner.scaled.bias : tensor<24xf32> = concat(@zeros, @b.1.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.1.outer.scaled.bias : tensor<24xf32> = scale(@b.1.outer.bias, @b.1.alpha)
// CHECK: transformer.parameter @b.0.inner_output_inner.scaled.bias : tensor<12xf32> = sum(@b.0.inner.bias, @b.0.output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0_1.inner_output_inner.scaled.bias : tensor<24xf32> = concat(@b.0.inner_output_inner.scaled.bias, @b.1.inner_output_inner.scaled.bias)
// CHECK: transformer.parameter @b.0.outer.scaled.bias : tensor<24xf32> = scale(@b.0.outer.bias, @b.0.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.bias : tensor<24xf32> = sum(@b.0.outer.scaled.bias, @b.1.outer.scaled.bias)

// A bias that is added as a vector.
// CHECK-LABEL: func.func @biases_as_sums(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.output_inner.scaled_inner.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.weight, @b.0_1.outer.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @biases_as_sums(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.output.bias : tensor<24xf32>
  %3 = transformer.add %1, %2 : tensor<?x24xf32>, tensor<24xf32>
  %4 = transformer.weight @b.0.kappa : tensor<1xf32>
  %5 = transformer.multiply %3, %4 : tensor<?x24xf32>, tensor<1xf32>
  %6 = transformer.linear %5, @b.0.inner.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %7 = transformer.weight @b.0.inner.bias : tensor<12xf32>
  %8 = transformer.add %6, %7 : tensor<?x12xf32>, tensor<12xf32>
  %9 = transformer.activate relu %8 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %10 = transformer.linear %9, @b.0.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
  %11 = transformer.weight @b.0.outer.bias : tensor<24xf32>
  %12 = transformer.add %10, %11 : tensor<?x24xf32>, tensor<24xf32>
  %13 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %14 = transformer.linear %13, @b.1.output.weight : tensor<?x8xf32> -> tensor<?x24xf32>
  %15 = transformer.weight @b.1.output.bias : tensor<24xf32>
  %16 = transformer.add %14, %15 : tensor<?x24xf32>, tensor<24xf32>
  %17 = transformer.weight @b.1.kappa : tensor<1xf32>
  %18 = transformer.multiply %16, %17 : tensor<?x24xf32>, tensor<1xf32>
  %19 = transformer.linear %18, @b.1.inner.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %20 = transformer.weight @b.1.inner.bias : tensor<12xf32>
  %21 = transformer.add %19, %20 : tensor<?x12xf32>, tensor<12xf32>
  %22 = transformer.activate relu %21 : tensor<?x12xf32>
  %23 = transformer.linear %22, @b.1.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
  %24 = transformer.weight @b.1.outer.bias : tensor<24xf32>
  %25 = transformer.add %23, %24 : tensor<?x24xf32>, tensor<24xf32>
  %26 = transformer.add %12, %25 : tensor<?x24xf32>, tensor<?x24xf32>
  return %26 : tensor<?x24xf32>
}

// No bias anywhere.
// CHECK-LABEL: func.func @no_biases(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @no_biases(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %6 = transformer.linear %5, @b.0.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
  %7 = transformer.weight @b.0.alpha : tensor<1xf32>
  %8 = transformer.multiply %6, %7 : tensor<?x24xf32>, tensor<1xf32>
  %9 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %10 = transformer.linear %9, @b.1.output.weight : tensor<?x8xf32> -> tensor<?x24xf32>
  %11 = transformer.weight @b.1.kappa : tensor<1xf32>
  %12 = transformer.multiply %10, %11 : tensor<?x24xf32>, tensor<1xf32>
  %13 = transformer.linear %12, @b.1.inner.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %14 = transformer.activate relu %13 : tensor<?x12xf32>
  %15 = transformer.linear %14, @b.1.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
  %16 = transformer.weight @b.1.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.add %8, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  return %18 : tensor<?x24xf32>
}

// A bias of one branch only: zeros stand for the other.
// CHECK-LABEL: func.func @one_bias(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @zeros_b.1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate relu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @one_bias(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %6 = transformer.linear %5, @b.0.outer.weight : tensor<?x12xf32> -> tensor<?x24xf32>
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
  return %18 : tensor<?x24xf32>
}

// Heads out of the middle of wider rows, cut twice.
// CHECK-LABEL: func.func @columns_of_columns(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.columns %[[ARG0]] from 16 : tensor<?x48xf32> -> tensor<?x16xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.grouped_linear %[[V0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.activate relu %[[V1]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.linear %[[V2]], @b.0_1.outer.scaled.weight, @b.0_1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V3]] : tensor<?x24xf32>
func.func @columns_of_columns(%a: tensor<?x48xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 8 : tensor<?x48xf32> -> tensor<?x32xf32>
  %1 = transformer.columns %0 from 8 : tensor<?x32xf32> -> tensor<?x16xf32>
  %2 = transformer.columns %1 from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %3 = transformer.linear %2, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %4 = transformer.weight @b.0.kappa : tensor<1xf32>
  %5 = transformer.multiply %3, %4 : tensor<?x24xf32>, tensor<1xf32>
  %6 = transformer.linear %5, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %7 = transformer.activate relu %6 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 16 to 24 in 2 groups, 24 to 24}}
  %8 = transformer.linear %7, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %9 = transformer.weight @b.0.alpha : tensor<1xf32>
  %10 = transformer.multiply %8, %9 : tensor<?x24xf32>, tensor<1xf32>
  %11 = transformer.columns %0 from 16 : tensor<?x32xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %12 = transformer.linear %11, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %13 = transformer.weight @b.1.kappa : tensor<1xf32>
  %14 = transformer.multiply %12, %13 : tensor<?x24xf32>, tensor<1xf32>
  %15 = transformer.linear %14, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %16 = transformer.activate relu %15 : tensor<?x12xf32>
  %17 = transformer.linear %16, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %18 = transformer.weight @b.1.alpha : tensor<1xf32>
  %19 = transformer.multiply %17, %18 : tensor<?x24xf32>, tensor<1xf32>
  %20 = transformer.add %10, %19 : tensor<?x24xf32>, tensor<?x24xf32>
  return %20 : tensor<?x24xf32>
}

// Any function of elements, if it is the same.
// CHECK-LABEL: func.func @other_functions(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.grouped_linear %[[ARG0]], @b.0_1.output_inner.scaled.weight, @b.0_1.inner_output_inner.scaled.bias {groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate silu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.0_1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @other_functions(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate silu %4 : tensor<?x12xf32>
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
  %14 = transformer.activate silu %13 : tensor<?x12xf32>
  %15 = transformer.linear %14, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %16 = transformer.weight @b.1.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.add %8, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  return %18 : tensor<?x24xf32>
}
