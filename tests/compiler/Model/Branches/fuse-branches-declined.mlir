// SPDX-License-Identifier: Apache-2.0
// What stands between the products of branches, and the reason that the report gives.
// RUN: heddle-opt %s -transformer-fuse-branches --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.grouped_linear

transformer.parameter @b.0.output.weight : tensor<24x8xf32> from "b.0.output.weight"
transformer.parameter @b.0.output.bias : tensor<24xf32> from "b.0.output.bias"
transformer.parameter @b.0.inner.weight : tensor<12x24xf32> from "b.0.inner.weight"
transformer.parameter @b.0.inner.bias : tensor<12xf32> from "b.0.inner.bias"
transformer.parameter @b.0.first.weight : tensor<12x8xf32> from "b.0.first.weight"
transformer.parameter @b.0.first.bias : tensor<12xf32> from "b.0.first.bias"
transformer.parameter @b.0.outer.weight : tensor<24x12xf32> from "b.0.outer.weight"
transformer.parameter @b.0.outer.bias : tensor<24xf32> from "b.0.outer.bias"
transformer.parameter @b.0.kappa : tensor<1xf32> from "b.0.kappa"
transformer.parameter @b.1.output.weight : tensor<24x8xf32> from "b.1.output.weight"
transformer.parameter @b.1.output.bias : tensor<24xf32> from "b.1.output.bias"
transformer.parameter @b.1.inner.weight : tensor<12x24xf32> from "b.1.inner.weight"
transformer.parameter @b.1.inner.bias : tensor<12xf32> from "b.1.inner.bias"
transformer.parameter @b.1.first.weight : tensor<12x8xf32> from "b.1.first.weight"
transformer.parameter @b.1.first.bias : tensor<12xf32> from "b.1.first.bias"
transformer.parameter @b.1.outer.weight : tensor<24x12xf32> from "b.1.outer.weight"
transformer.parameter @b.1.outer.bias : tensor<24xf32> from "b.1.outer.bias"
transformer.parameter @b.1.kappa : tensor<1xf32> from "b.1.kappa"
transformer.parameter @full.weight : tensor<24x24xf32> from "full.weight"
transformer.parameter @full.bias : tensor<24xf32> from "full.bias"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"

// A function of elements between W^O and the first product.
// CHECK-LABEL: func.func @function_between(
// CHECK-COUNT-6: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @function_between(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.activate tanh %1 : tensor<?x24xf32>
  %3 = transformer.linear %2, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.activate relu %3 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the first products read neither the same rows nor columns of one value: transformer.activate stands between}}
  %5 = transformer.linear %4, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %7 = transformer.linear %6, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %8 = transformer.activate tanh %7 : tensor<?x24xf32>
  %9 = transformer.linear %8, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %10 = transformer.activate relu %9 : tensor<?x12xf32>
  %11 = transformer.linear %10, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %12 = transformer.add %5, %11 : tensor<?x24xf32>, tensor<?x24xf32>
  return %12 : tensor<?x24xf32>
}

// A norm inside of each branch.
// CHECK-LABEL: func.func @norm_between(
// CHECK-COUNT-6: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @norm_between(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.layer_norm %1, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32> loc("branches.0.norm")
  %3 = transformer.linear %2, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %4 = transformer.activate relu %3 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the first products read neither the same rows nor columns of one value: transformer.layer_norm of branches.0.norm stands between}}
  %5 = transformer.linear %4, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %6 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %7 = transformer.linear %6, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %8 = transformer.layer_norm %7, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32> loc("branches.1.norm")
  %9 = transformer.linear %8, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %10 = transformer.activate relu %9 : tensor<?x12xf32>
  %11 = transformer.linear %10, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %12 = transformer.add %5, %11 : tensor<?x24xf32>, tensor<?x24xf32>
  return %12 : tensor<?x24xf32>
}

// A norm after each branch.
// CHECK-LABEL: func.func @norm_of_the_branch(
// CHECK-COUNT-5: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @norm_of_the_branch(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %2 = transformer.weight @b.0.kappa : tensor<1xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x24xf32>, tensor<1xf32>
  %4 = transformer.linear %3, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %5 = transformer.activate relu %4 : tensor<?x12xf32>
  %6 = transformer.linear %5, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %7 = transformer.layer_norm %6, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  %8 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 12}}
  %9 = transformer.linear %8, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  %10 = transformer.weight @b.1.kappa : tensor<1xf32>
  %11 = transformer.multiply %9, %10 : tensor<?x24xf32>, tensor<1xf32>
  %12 = transformer.linear %11, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %13 = transformer.activate relu %12 : tensor<?x12xf32>
  %14 = transformer.linear %13, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %15 = transformer.layer_norm %14, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  %16 = transformer.add %7, %15 : tensor<?x24xf32>, tensor<?x24xf32>
  %17 = transformer.linear %16, @full.weight, @full.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  return %17 : tensor<?x24xf32>
}

// A residual connection inside of each branch.
// CHECK-LABEL: func.func @residual_inside(
// CHECK-COUNT-6: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @residual_inside(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  // expected-remark @below {{not fused: transformer.linear has a second user}}
  %2 = transformer.linear %1, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %3 = transformer.activate relu %2 : tensor<?x12xf32>
  // expected-remark @below {{not fused: the first products read neither the same rows nor columns of one value: transformer.linear has a second user}}
  %4 = transformer.linear %3, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %5 = transformer.add %4, %1 : tensor<?x24xf32>, tensor<?x24xf32>
  %6 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %7 = transformer.linear %6, @b.1.output.weight, @b.1.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  // expected-remark @below {{not fused: transformer.linear has a second user}}
  %8 = transformer.linear %7, @b.1.inner.weight, @b.1.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  %9 = transformer.activate relu %8 : tensor<?x12xf32>
  %10 = transformer.linear %9, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %11 = transformer.add %10, %7 : tensor<?x24xf32>, tensor<?x24xf32>
  %12 = transformer.add %5, %11 : tensor<?x24xf32>, tensor<?x24xf32>
  return %12 : tensor<?x24xf32>
}

// The product inside of one branch is a result too.
// CHECK-LABEL: func.func @product_used_twice(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @product_used_twice(%a: tensor<?x16xf32>) -> (tensor<?x24xf32>, tensor<?x12xf32>) {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.first.weight, @b.0.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %2 = transformer.activate relu %1 : tensor<?x12xf32>
  // expected-remark @below {{not fused: transformer.linear has a second user}}
  %3 = transformer.linear %2, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %4 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %5 = transformer.linear %4, @b.1.first.weight, @b.1.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %6 = transformer.activate relu %5 : tensor<?x12xf32>
  %7 = transformer.linear %6, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %8 = transformer.add %3, %7 : tensor<?x24xf32>, tensor<?x24xf32>
  return %8, %1 : tensor<?x24xf32>, tensor<?x12xf32>
}

// The activations of one branch are a result too.
// CHECK-LABEL: func.func @function_used_twice(
// CHECK-COUNT-4: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @function_used_twice(%a: tensor<?x16xf32>) -> (tensor<?x24xf32>, tensor<?x12xf32>) {
  %0 = transformer.columns %a from 0 : tensor<?x16xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, @b.0.first.weight, @b.0.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %2 = transformer.activate relu %1 : tensor<?x12xf32>
  // expected-remark @below {{not fused: transformer.activate has a second user}}
  %3 = transformer.linear %2, @b.0.outer.weight, @b.0.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %4 = transformer.columns %a from 8 : tensor<?x16xf32> -> tensor<?x8xf32>
  %5 = transformer.linear %4, @b.1.first.weight, @b.1.first.bias : tensor<?x8xf32> -> tensor<?x12xf32>
  %6 = transformer.activate relu %5 : tensor<?x12xf32>
  %7 = transformer.linear %6, @b.1.outer.weight, @b.1.outer.bias : tensor<?x12xf32> -> tensor<?x24xf32>
  %8 = transformer.add %3, %7 : tensor<?x24xf32>, tensor<?x24xf32>
  return %8, %6 : tensor<?x24xf32>, tensor<?x12xf32>
}

// The product between two others has another user.
// CHECK-LABEL: func.func @chain_used_twice(
// CHECK-COUNT-2: transformer.linear
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @chain_used_twice(%a: tensor<?x8xf32>) -> (tensor<?x12xf32>, tensor<?x24xf32>) {
  %0 = transformer.linear %a, @b.0.output.weight, @b.0.output.bias : tensor<?x8xf32> -> tensor<?x24xf32>
  // expected-remark @below {{not fused: transformer.linear has a second user}}
  %1 = transformer.linear %0, @b.0.inner.weight, @b.0.inner.bias : tensor<?x24xf32> -> tensor<?x12xf32>
  return %1, %0 : tensor<?x12xf32>, tensor<?x24xf32>
}
