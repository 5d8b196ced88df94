// SPDX-License-Identifier: Apache-2.0
// Branches that nothing relates, and what is cheapest as it is.
// RUN: heddle-opt %s -transformer-fuse-branches --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.grouped_linear

transformer.parameter @b.0.output.weight : tensor<24x8xf32> from "b.0.output.weight"
transformer.parameter @b.0.output.bias : tensor<24xf32> from "b.0.output.bias"
transformer.parameter @b.0.inner.weight : tensor<12x24xf32> from "b.0.inner.weight"
transformer.parameter @b.0.inner.bias : tensor<12xf32> from "b.0.inner.bias"
transformer.parameter @b.0.first.weight : tensor<12x8xf32> from "b.0.first.weight"
transformer.parameter @b.0.first.bias : tensor<12xf32> from "b.0.first.bias"
transformer.parameter @b.0.outer.weight : tensor<24x12xf32> from "b.0.outer.weight"
transformer.parameter @b.0.outer.bias : tensor<24xf32> from "b.0.outer.bias"
transformer.parameter @b.1.output.weight : tensor<24x8xf32> from "b.1.output.weight"
transformer.parameter @b.1.output.bias : tensor<24xf32> from "b.1.output.bias"
transformer.parameter @b.1.inner.weight : tensor<12x24xf32> from "b.1.inner.weight"
transformer.parameter @b.1.inner.bias : tensor<12xf32> from "b.1.inner.bias"
transformer.parameter @b.1.first.weight : tensor<12x8xf32> from "b.1.first.weight"
transformer.parameter @b.1.first.bias : tensor<12xf32> from "b.1.first.bias"
transformer.parameter @b.1.outer.weight : tensor<24x12xf32> from "b.1.outer.weight"
transformer.parameter @b.1.outer.bias : tensor<24xf32> from "b.1.outer.bias"
transformer.parameter @b.2.inner.weight : tensor<12x24xf32> from "b.2.inner.weight"
transformer.parameter @b.2.inner.bias : tensor<12xf32> from "b.2.inner.bias"
transformer.parameter @ffn.inner.weight : tensor<48x24xf32> from "ffn.inner.weight"
transformer.parameter @ffn.inner.bias : tensor<48xf32> from "ffn.inner.bias"
transformer.parameter @ffn.outer.weight : tensor<24x48xf32> from "ffn.outer.weight"
transformer.parameter @ffn.outer.bias : tensor<24xf32> from "ffn.outer.bias"
transformer.parameter @wide.outer.weight : tensor<24x20xf32> from "wide.outer.weight"
transformer.parameter @wide.outer.bias : tensor<24xf32> from "wide.outer.bias"
transformer.parameter @wide.middle.weight : tensor<20x8xf32> from "wide.middle.weight"
transformer.parameter @wide.middle.bias : tensor<20xf32> from "wide.middle.bias"
transformer.parameter @full.weight : tensor<24x24xf32> from "full.weight"
transformer.parameter @full.bias : tensor<24xf32> from "full.bias"
transformer.parameter @down.weight : tensor<4x24xf32> from "down.weight"
transformer.parameter @up.weight : tensor<24x4xf32> from "up.weight"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"
transformer.parameter @each : tensor<24xf32> from "each"

// Columns that are not beside each other.
// CHECK-LABEL: func.func @gap_between_columns(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @gap_between_columns(%a: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %1, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.activate relu %2 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the columns of an argument do not lie side by side}}
  %4 = transformer.linear %3, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.columns %a from 16 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %6 = transformer.linear %5, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %7 = transformer.linear %6, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %8 = transformer.activate relu %7 : tensor<?x12xf32>
  %9 = transformer.linear %8, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %10 = transformer.add %4, %9 : tensor<?x24xf32>, tensor<?x24xf32>
  return %10 : tensor<?x24xf32>
}

// Columns that overlap.
// CHECK-LABEL: func.func @overlapping_columns(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @overlapping_columns(%a: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.linear %1, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.activate relu %2 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the columns of an argument do not lie side by side}}
  %4 = transformer.linear %3, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.columns %a from 4 : tensor<?x24xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %6 = transformer.linear %5, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %7 = transformer.linear %6, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %8 = transformer.activate relu %7 : tensor<?x12xf32>
  %9 = transformer.linear %8, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %10 = transformer.add %4, %9 : tensor<?x24xf32>, tensor<?x24xf32>
  return %10 : tensor<?x24xf32>
}

// Inner widths that differ have no groups.
// CHECK-LABEL: func.func @other_sizes(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @other_sizes(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @wide.middle.weight, @wide.middle.bias : tensor<?x8xf32> -> tensor<?x20xf32>
  %2 = transformer.activate relu %1 : tensor<?x20xf32>
  // expected-remark @below {{not fused: the first products are 8 to 20 and 8 to 12, expected one size}}
  %3 = transformer.linear %2, @wide.outer.weight, @wide.outer.bias : tensor<?x20xf32> -> tensor<?x24xf32>
  %4 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %5 = transformer.linear %4, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %6 = transformer.linear %5, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %7 = transformer.activate relu %6 : tensor<?x12xf32>
  %8 = transformer.linear %7, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %9 = transformer.add %3, %8 : tensor<?x24xf32>, tensor<?x24xf32>
  return %9 : tensor<?x24xf32>
}

// Different functions in the branches.
// CHECK-LABEL: func.func @different_functions(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @different_functions(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate relu %0 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the branches have different functions between their products}}
  %2 = transformer.linear %1, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %3 = transformer.linear %x, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.activate gelu %3 : tensor<?x12xf32>
  %5 = transformer.linear %4, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.add %2, %5 : tensor<?x24xf32>, tensor<?x24xf32>
  return %6 : tensor<?x24xf32>
}

// Branches of different rows.
// CHECK-LABEL: func.func @different_rows(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @different_rows(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate relu %0 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the first products read neither the same rows nor columns of one value}}
  %2 = transformer.linear %1, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %3 = transformer.linear %y, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.activate relu %3 : tensor<?x12xf32>
  %5 = transformer.linear %4, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.add %2, %5 : tensor<?x24xf32>, tensor<?x24xf32>
  return %6 : tensor<?x24xf32>
}

// Two products through a narrow middle are cheaper than one.
// CHECK-LABEL: func.func @narrow_chain(
// CHECK-COUNT-2: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @narrow_chain(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  // expected-remark @below {{not fused: it is cheapest as it is}}
  %0 = transformer.linear %x, @down.weight : tensor<?x24xf32> -> tensor<?x4xf32>
  %1 = transformer.linear %0, @up.weight : tensor<?x4xf32> -> tensor<?x24xf32>
  return %1 : tensor<?x24xf32>
}

// A product of activations and rows is no activation.
// CHECK-LABEL: func.func @gated_units(
// CHECK-COUNT-6: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @gated_units(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate silu %0 : tensor<?x12xf32>
  %2 = transformer.linear %x, @b.2.inner.weight, @b.2.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x12xf32>
  // expected-remark @below {{not fused: transformer.multiply stands between}}
  %4 = transformer.linear %3, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.linear %x, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %6 = transformer.activate silu %5 : tensor<?x12xf32>
  %7 = transformer.linear %x, @b.2.inner.weight, @b.2.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %8 = transformer.multiply %6, %7 : tensor<?x12xf32>
  %9 = transformer.linear %8, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %10 = transformer.add %4, %9 : tensor<?x24xf32>, tensor<?x24xf32>
  return %10 : tensor<?x24xf32>
}

// Numbers of each row, another for each branch.
// CHECK-LABEL: func.func @gates_of_branches(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @gates_of_branches(%x: tensor<?x24xf32>, %g: tensor<?x2xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %1 = transformer.activate relu %0 : tensor<?x12xf32>
  // expected-remark @below {{not fused: its products are multiplied by different numbers of each row}}
  %2 = transformer.linear %1, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %3 = transformer.columns %g from 0 : tensor<?x2xf32> -> tensor<?x1xf32>
  %4 = transformer.multiply %2, %3 : tensor<?x24xf32>, tensor<?x1xf32>
  %5 = transformer.linear %x, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %6 = transformer.activate relu %5 : tensor<?x12xf32>
  %7 = transformer.linear %6, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %8 = transformer.columns %g from 1 : tensor<?x2xf32> -> tensor<?x1xf32>
  %9 = transformer.multiply %7, %8 : tensor<?x24xf32>, tensor<?x1xf32>
  %10 = transformer.add %4, %9 : tensor<?x24xf32>, tensor<?x24xf32>
  return %10 : tensor<?x24xf32>
}

// Numbers of each row before the function.
// CHECK-LABEL: func.func @gates_inside(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @gates_inside(%a: tensor<?x16xf32>, %g: tensor<?x2xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.first.weight, @b.0.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %2 = transformer.columns %g from 0 : tensor<?x2xf32> -> tensor<?x1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x12xf32>, tensor<?x1xf32>
  %4 = transformer.activate relu %3 : tensor<?x12xf32>
  // expected-remark @below {{not fused: transformer.multiply is multiplied by numbers of each row}}
  %5 = transformer.linear %4, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %7 = transformer.linear %6, @b.1.first.weight, @b.1.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %8 = transformer.columns %g from 1 : tensor<?x2xf32> -> tensor<?x1xf32>
  %9 = transformer.multiply %7, %8 : tensor<?x12xf32>, tensor<?x1xf32>
  %10 = transformer.activate relu %9 : tensor<?x12xf32>
  %11 = transformer.linear %10, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %12 = transformer.add %5, %11 : tensor<?x24xf32>, tensor<?x24xf32>
  return %12 : tensor<?x24xf32>
}

// Products of what nothing relates.
// CHECK-LABEL: func.func @pooled(
// CHECK-COUNT-3: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @pooled(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.layer_norm %x, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  // expected-remark @below {{not fused: transformer.layer_norm stands between}}
  %1 = transformer.linear %0, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %2 = transformer.activate tanh %y : tensor<?x24xf32>
  %3 = transformer.linear %2, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.linear %3, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.add %1, %4 : tensor<?x24xf32>, tensor<?x24xf32>
  return %5 : tensor<?x24xf32>
}

// A feed-forward layer and its residual connection: nothing to report.
// CHECK-LABEL: func.func @feed_forward(
// CHECK-COUNT-2: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @feed_forward(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @ffn.inner.weight, @ffn.inner.bias : tensor<?x24xf32> -> tensor<?x48xf32>
  %1 = transformer.activate relu %0 : tensor<?x48xf32>
  %2 = transformer.linear %1, @ffn.outer.weight, @ffn.outer.bias : tensor<?x48xf32> -> tensor<?x24xf32>
  %3 = transformer.add %2, %x : tensor<?x24xf32>, tensor<?x24xf32>
  %4 = transformer.layer_norm %3, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  return %4 : tensor<?x24xf32>
}

// A constant beside one product costs nothing: nothing to report.
// CHECK-LABEL: func.func @scaled_by_a_constant(
// CHECK-COUNT-1: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @scaled_by_a_constant(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.linear %x, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %1 = transformer.scale %0, 2.500000e-01 : tensor<?x24xf32>
  return %1 : tensor<?x24xf32>
}

// A factor for each column is no scale: nothing to report.
// CHECK-LABEL: func.func @each_column_scaled(
// CHECK-COUNT-1: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @each_column_scaled(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.layer_norm %x, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  %1 = transformer.weight @each : tensor<24xf32>
  %2 = transformer.multiply %0, %1 : tensor<?x24xf32>, tensor<24xf32>
  %3 = transformer.linear %2, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  return %3 : tensor<?x24xf32>
}

// Sums of rows without products: nothing to report.
// CHECK-LABEL: func.func @sum_of_rows(
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @sum_of_rows(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %0 = transformer.scale %x, 2.0 : tensor<?x24xf32>
  %1 = transformer.add %y, %x : tensor<?x24xf32>, tensor<?x24xf32>
  %2 = transformer.add %0, %1 : tensor<?x24xf32>, tensor<?x24xf32>
  %3 = transformer.layer_norm %2, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  return %3 : tensor<?x24xf32>
}
