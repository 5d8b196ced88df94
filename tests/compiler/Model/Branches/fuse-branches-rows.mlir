// SPDX-License-Identifier: Apache-2.0
// Branches of the same rows, and with one feed-forward layer for all.
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
transformer.parameter @ffn.inner.weight : tensor<48x24xf32> from "ffn.inner.weight"
transformer.parameter @ffn.inner.bias : tensor<48xf32> from "ffn.inner.bias"
transformer.parameter @ffn.outer.weight : tensor<24x48xf32> from "ffn.outer.weight"
transformer.parameter @ffn.outer.bias : tensor<24xf32> from "ffn.outer.bias"
transformer.parameter @wide.inner.weight : tensor<20x24xf32> from "wide.inner.weight"
transformer.parameter @wide.inner.bias : tensor<20xf32> from "wide.inner.bias"
transformer.parameter @wide.outer.weight : tensor<24x20xf32> from "wide.outer.weight"
transformer.parameter @wide.outer.bias : tensor<24xf32> from "wide.outer.bias"

// CHECK: transformer.parameter @b.0_1.inner.weight : tensor<24x24xf32> = concat(@b.0.inner.weight, @b.1.inner.weight)
// CHECK: transformer.parameter @b.0_1.inner.bias : tensor<24xf32> = concat(@b.0.inner.bias, @b.1.inner.bias)
// CHECK: transformer.parameter @b.0.outer.scaled.weight : tensor<24x12xf32> = scale(@b.0.outer.weight, @b.0.alpha)
// CHECK: transformer.parameter @b.1.outer.scaled.weight : tensor<24x12xf32> = scale(@b.1.outer.weight, @b.1.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.weight : tensor<24x24xf32> = concat_columns(@b.0.outer.scaled.weight, @b.1.outer.scaled.weight)
// CHECK: transformer.parameter @b.0.outer.scaled.bias : tensor<24xf32> = scale(@b.0.outer.bias, @b.0.alpha)
// CHECK: transformer.parameter @b.1.outer.scaled.bias : tensor<24xf32> = scale(@b.1.outer.bias, @b.1.alpha)
// CHECK: transformer.parameter @b.0_1.outer.scaled.bias : tensor<24xf32> = sum(@b.0.outer.scaled.bias, @b.1.outer.scaled.bias)
// CHECK: transformer.parameter @b.0_wide.inner.weight : tensor<32x24xf32> = concat(@b.0.inner.weight, @wide.inner.weight)
// CHECK: transformer.parameter @b.0_wide.inner.bias : tensor<32xf32> = concat(@b.0.inner.bias, @wide.inner.bias)
// CHECK: transformer.parameter @b.0.outer.scaled.weight_0 : tensor<24x12xf32> = scale(@b.0.outer.weight, 2.500000e-01)
// CHECK: transformer.parameter @wide.outer.scaled.weight : tensor<24x20xf32> = scale(@wide.outer.weight, 7.500000e-01)
// CHECK: transformer.parameter @b.0.outer.scaled.weight_0_wide.outer.scaled.weight : tensor<24x32xf32> = concat_columns(@b.0.outer.scaled.weight_0, @wide.outer.scaled.weight)
// CHECK: transformer.parameter @b.0.outer.scaled.bias_1 : tensor<24xf32> = scale(@b.0.outer.bias, 2.500000e-01)
// CHECK: transformer.parameter @wide.outer.scaled.bias : tensor<24xf32> = scale(@wide.outer.bias, 7.500000e-01)
// CHECK: transformer.parameter @b.0.outer.scaled.bias_1_wide.outer.scaled.bias : tensor<24xf32> = sum(@b.0.outer.scaled.bias_1, @wide.outer.scaled.bias)
// CHECK: transformer.parameter @b.0.output_ffn.inner.weight : tensor<48x8xf32> = product(@ffn.inner.weight, @b.0.output.weight)
// CHECK: transformer.parameter @b.0.output_ffn.inner.scaled.weight : tensor<48x8xf32> = scale(@b.0.output_ffn.inner.weight, @b.0.kappa)
// CHECK: transformer.parameter @b.0.output_ffn.inner.bias : tensor<48xf32> = product(@ffn.inner.weight, @b.0.output.bias)
// CHECK: transformer.parameter @b.0.output_ffn.inner.scaled.bias : tensor<48xf32> = scale(@b.0.output_ffn.inner.bias, @b.0.kappa)
// CHECK: transformer.parameter @ffn.inner_b.0.output_ffn.inner.scaled.bias : tensor<48xf32> = sum(@ffn.inner.bias, @b.0.output_ffn.inner.scaled.bias)
// CHECK: transformer.parameter @b.1.output_ffn.inner.weight : tensor<48x8xf32> = product(@ffn.inner.weight, @b.1.output.weight)
// CHECK: transformer.parameter @b.1.output_ffn.inner.scaled.weight : tensor<48x8xf32> = scale(@b.1.output_ffn.inner.weight, @b.1.kappa)
// CHECK: transformer.parameter @b.1.output_ffn.inner.bias : tensor<48xf32> = product(@ffn.inner.weight, @b.1.output.bias)
// CHECK: transformer.parameter @b.1.output_ffn.inner.scaled.bias : tensor<48xf32> = scale(@b.1.output_ffn.inner.bias, @b.1.kappa)
// CHECK: transformer.parameter @ffn.inner_b.1.output_ffn.inner.scaled.bias : tensor<48xf32> = sum(@ffn.inner.bias, @b.1.output_ffn.inner.scaled.bias)
// CHECK: transformer.parameter @ffn.outer.scaled.bias : tensor<24xf32> = scale(@ffn.outer.bias, @b.0.alpha)
// CHECK: transformer.parameter @ffn.outer.scaled.bias_2 : tensor<24xf32> = scale(@ffn.outer.bias, @b.1.alpha)

// A mixture of feed-forward layers with constant weights.
// CHECK-LABEL: func.func @mixture_of_experts(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0_1.inner.weight, @b.0_1.inner.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate gelu %[[V0]] : tensor<?x24xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0_1.outer.scaled.weight, @b.0_1.outer.scaled.bias : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @mixture_of_experts(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate gelu %0 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 24 to 24, 24 to 24}}
  %2 = transformer.linear %1, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %3 = transformer.weight @b.0.alpha : tensor<1xf32>
  %4 = transformer.multiply %2, %3 : tensor<?x24xf32>, tensor<1xf32>
  %5 = transformer.linear %x, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %6 = transformer.activate gelu %5 : tensor<?x12xf32>
  %7 = transformer.linear %6, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %8 = transformer.weight @b.1.alpha : tensor<1xf32>
  %9 = transformer.multiply %7, %8 : tensor<?x24xf32>, tensor<1xf32>
  %10 = transformer.add %4, %9 : tensor<?x24xf32>, tensor<?x24xf32>
  return %10 : tensor<?x24xf32>
}

// Layers of different widths, beside each other all the same.
// CHECK-LABEL: func.func @mixture_of_widths(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0_wide.inner.weight, @b.0_wide.inner.bias : tensor<?x24xf32> -> tensor<?x32xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.activate gelu %[[V0]] : tensor<?x32xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.linear %[[V1]], @b.0.outer.scaled.weight_0_wide.outer.scaled.weight, @b.0.outer.scaled.bias_1_wide.outer.scaled.bias : tensor<?x32xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V2]] : tensor<?x24xf32>
func.func @mixture_of_widths(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate gelu %0 : tensor<?x12xf32>
  // expected-remark @below {{4 maps as 24 to 32, 32 to 24}}
  %2 = transformer.linear %1, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %3 = transformer.linear %x, @wide.inner.weight, @wide.inner.bias : tensor<?x24xf32> -> tensor<?x20xf32>
  %4 = transformer.activate gelu %3 : tensor<?x20xf32>
  %5 = transformer.linear %4, @wide.outer.weight, @wide.outer.bias : tensor<?x20xf32> -> tensor<?x24xf32>
  %6 = transformer.scale %2, 2.500000e-01 : tensor<?x24xf32>
  %7 = transformer.scale %5, 7.500000e-01 : tensor<?x24xf32>
  %8 = transformer.add %6, %7 : tensor<?x24xf32>, tensor<?x24xf32>
  return %8 : tensor<?x24xf32>
}

// One feed-forward layer for all branches: its second product once, of the sum.
// CHECK-LABEL: func.func @one_feed_forward_layer(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.columns %[[ARG0]] from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @b.0.output_ffn.inner.scaled.weight, @ffn.inner_b.0.output_ffn.inner.scaled.bias : tensor<?x8xf32> -> tensor<?x48xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.activate relu %[[V1]] : tensor<?x48xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.columns %[[ARG0]] from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[V4:.*]] = transformer.linear %[[V3]], @b.1.output_ffn.inner.scaled.weight, @ffn.inner_b.1.output_ffn.inner.scaled.bias : tensor<?x8xf32> -> tensor<?x48xf32>
// CHECK-NEXT: %[[V5:.*]] = transformer.activate relu %[[V4]] : tensor<?x48xf32>
// CHECK-NEXT: %[[V6:.*]] = transformer.weight @b.0.alpha : tensor<1xf32>
// CHECK-NEXT: %[[V7:.*]] = transformer.multiply %[[V2]], %[[V6]] : tensor<?x48xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V8:.*]] = transformer.weight @b.1.alpha : tensor<1xf32>
// CHECK-NEXT: %[[V9:.*]] = transformer.multiply %[[V5]], %[[V8]] : tensor<?x48xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V10:.*]] = transformer.add %[[V7]], %[[V9]] : tensor<?x48xf32>, tensor<?x48xf32>
// CHECK-NEXT: %[[V11:.*]] = transformer.linear %[[V10]], @ffn.outer.weight, @ffn.outer.scaled.bias_bias_2 : tensor<?x48xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[V11]] : tensor<?x24xf32>
func.func @one_feed_forward_layer(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 48}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @ffn.inner.weight, @ffn.inner.bias : tensor<?x24xf32> -> tensor<?x48xf32>
  %5 = transformer.activate relu %4 : tensor<?x48xf32>
  // expected-remark @below {{2 maps as 48 to 24}}
  %6 = transformer.linear %5, @ffn.outer.weight, @ffn.outer.bias : tensor<?x48xf32> -> tensor<?x24xf32>
  %7 = transformer.weight @b.0.alpha : tensor<1xf32>
  %8 = transformer.multiply %6, %7 : tensor<?x24xf32>, tensor<1xf32>
  %9 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 48}}
  %10 = transformer.linear %9, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %11 = transformer.weight @b.1.kappa : tensor<1xf32>
  %12 = transformer.multiply %10, %11 : tensor<?x24xf32>, tensor<1xf32>
  %13 = transformer.linear %12, @ffn.inner.weight, @ffn.inner.bias : tensor<?x24xf32> -> tensor<?x48xf32>
  %14 = transformer.activate relu %13 : tensor<?x48xf32>
  %15 = transformer.linear %14, @ffn.outer.weight, @ffn.outer.bias : tensor<?x48xf32> -> tensor<?x24xf32>
  %16 = transformer.weight @b.1.alpha : tensor<1xf32>
  %17 = transformer.multiply %15, %16 : tensor<?x24xf32>, tensor<1xf32>
  %18 = transformer.add %8, %17 : tensor<?x24xf32>, tensor<?x24xf32>
  return %18 : tensor<?x24xf32>
}

// Weights of branches that are known for each row only: still one last product.
// CHECK-LABEL: func.func @gated_at_run_time(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.columns %[[ARG0]] from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.linear %[[V0]], @b.0.output_ffn.inner.weight, @ffn_b.0.output_ffn.inner.bias : tensor<?x8xf32> -> tensor<?x48xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.activate relu %[[V1]] : tensor<?x48xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.columns %[[ARG1]] from 0 : tensor<?x2xf32> -> tensor<?x1xf32>
// CHECK-NEXT: %[[V4:.*]] = transformer.columns %[[ARG0]] from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[V5:.*]] = transformer.linear %[[V4]], @b.1.output_ffn.inner.weight, @ffn_b.1.output_ffn.inner.bias : tensor<?x8xf32> -> tensor<?x48xf32>
// CHECK-NEXT: %[[V6:.*]] = transformer.activate relu %[[V5]] : tensor<?x48xf32>
// CHECK-NEXT: %[[V7:.*]] = transformer.columns %[[ARG1]] from 1 : tensor<?x2xf32> -> tensor<?x1xf32>
// CHECK-NEXT: %[[V8:.*]] = transformer.multiply %[[V2]], %[[V3]] : tensor<?x48xf32>, tensor<?x1xf32>
// CHECK-NEXT: %[[V9:.*]] = transformer.multiply %[[V6]], %[[V7]] : tensor<?x48xf32>, tensor<?x1xf32>
// CHECK-NEXT: %[[V10:.*]] = transformer.add %[[V8]], %[[V9]] : tensor<?x48xf32>, tensor<?x48xf32>
// CHECK-NEXT: %[[V11:.*]] = transformer.linear %[[V10]], @ffn.outer.weight : tensor<?x48xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V12:.*]] = transformer.linear %[[ARG1]], @ffn.outer.column.bias_bias : tensor<?x2xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[V13:.*]] = transformer.add %[[V11]], %[[V12]] : tensor<?x24xf32>, tensor<?x24xf32>
// CHECK-NEXT: return %[[V13]] : tensor<?x24xf32>
func.func @gated_at_run_time(%a: tensor<?x16xf32>, %g: tensor<?x2xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 48}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %1, @ffn.inner.weight, @ffn.inner.bias : tensor<?x24xf32> -> tensor<?x48xf32>
  %3 = transformer.activate relu %2 : tensor<?x48xf32>
  // expected-remark @below {{2 maps as 48 to 24, 2 to 24}}
  %4 = transformer.linear %3, @ffn.outer.weight, @ffn.outer.bias : tensor<?x48xf32> -> tensor<?x24xf32>
  %5 = transformer.columns %g from 0 : tensor<?x2xf32> -> tensor<?x1xf32>
  %6 = transformer.multiply %4, %5 : tensor<?x24xf32>, tensor<?x1xf32>
  %7 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 48}}
  %8 = transformer.linear %7, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %9 = transformer.linear %8, @ffn.inner.weight, @ffn.inner.bias : tensor<?x24xf32> -> tensor<?x48xf32>
  %10 = transformer.activate relu %9 : tensor<?x48xf32>
  %11 = transformer.linear %10, @ffn.outer.weight, @ffn.outer.bias : tensor<?x48xf32> -> tensor<?x24xf32>
  %12 = transformer.columns %g from 1 : tensor<?x2xf32> -> tensor<?x1xf32>
  %13 = transformer.multiply %11, %12 : tensor<?x24xf32>, tensor<?x1xf32>
  %14 = transformer.add %6, %13 : tensor<?x24xf32>, tensor<?x24xf32>
  return %14 : tensor<?x24xf32>
}

// kappa of each row: it stays as a factor, and one product is left.
// CHECK-LABEL: func.func @kappa_at_run_time(
// CHECK-SAME: %[[ARG0:[a-z0-9]+]]: {{.*}}%[[ARG1:[a-z0-9]+]]:
// CHECK-NEXT: %[[V0:.*]] = transformer.linear %[[ARG0]], @b.0.output_inner.weight, @b.0.output_inner.bias : tensor<?x8xf32> -> tensor<?x12xf32>
// CHECK-NEXT: %[[V1:.*]] = transformer.multiply %[[V0]], %[[ARG1]] : tensor<?x12xf32>, tensor<?x1xf32>
// CHECK-NEXT: %[[V2:.*]] = transformer.weight @b.0.inner.bias : tensor<12xf32>
// CHECK-NEXT: %[[V3:.*]] = transformer.add %[[V1]], %[[V2]] : tensor<?x12xf32>, tensor<12xf32>
// CHECK-NEXT: %[[V4:.*]] = transformer.activate relu %[[V3]] : tensor<?x12xf32>
// CHECK-NEXT: return %[[V4]] : tensor<?x12xf32>
func.func @kappa_at_run_time(%a: tensor<?x8xf32>, %g: tensor<?x1xf32>) -> tensor<?x12xf32> {
  // expected-remark @below {{2 maps as 8 to 12}}
  %0 = transformer.linear %a, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %1 = transformer.multiply %0, %g : tensor<?x24xf32>, tensor<?x1xf32>
  %2 = transformer.linear %1, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.activate relu %2 : tensor<?x12xf32>
  return %3 : tensor<?x12xf32>
}
