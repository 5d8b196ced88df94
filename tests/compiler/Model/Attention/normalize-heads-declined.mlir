// SPDX-License-Identifier: Apache-2.0
// What stays a contraction or a sum, and the reason that the report gives.
// RUN: heddle-opt %s -transformer-normalize-heads --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.linear

transformer.parameter @interleaved : tensor<3x24x8xf32> from "interleaved"
transformer.parameter @batched : tensor<3x8x8xf32> from "batched"
transformer.parameter @square : tensor<8x8xf32> from "square"
transformer.parameter @vector : tensor<24xf32> from "vector"
transformer.parameter @wide : tensor<24x2x3x4xf32> from "wide"
transformer.parameter @key : tensor<3x8xf32> from "key"

// CHECK-LABEL: func.func @axes_interleaved
func.func @axes_interleaved(%x: tensor<?x3x8xf32>) -> tensor<?x24xf32> {
  %w = transformer.weight @interleaved : tensor<3x24x8xf32>
  // expected-remark @below {{not a linear map: the axes 'hmd' of the weight do not lie as those of a matrix}}
  %c = transformer.contract "thd,hmd->tm" %x, %w : tensor<?x3x8xf32>, tensor<3x24x8xf32> -> tensor<?x24xf32>
  return %c : tensor<?x24xf32>
}

func.func @map_for_each_head(%x: tensor<?x3x8xf32>) -> tensor<?x8x3xf32> {
  %w = transformer.weight @batched : tensor<3x8x8xf32>
  // expected-remark @below {{not a linear map: axis 'h' has a map of its own for each index}}
  %c = transformer.contract "thd,hed->teh" %x, %w : tensor<?x3x8xf32>, tensor<3x8x8xf32> -> tensor<?x8x3xf32>
  return %c : tensor<?x8x3xf32>
}

func.func @map_within_heads(%x: tensor<?x3x8xf32>) -> tensor<?x3x8xf32> {
  %w = transformer.weight @square : tensor<8x8xf32>
  // expected-remark @below {{not a linear map: axis 'h' of the activations is not one of the weight}}
  %c = transformer.contract "thd,ed->the" %x, %w : tensor<?x3x8xf32>, tensor<8x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

func.func @to_a_number(%x: tensor<?x24xf32>) -> tensor<?xf32> {
  %w = transformer.weight @vector : tensor<24xf32>
  // expected-remark @below {{not a linear map: it is not from one or two axes to one or two axes}}
  %c = transformer.contract "tm,m->t" %x, %w : tensor<?x24xf32>, tensor<24xf32> -> tensor<?xf32>
  return %c : tensor<?xf32>
}

func.func @to_three_axes(%x: tensor<?x24xf32>) -> tensor<?x2x3x4xf32> {
  %w = transformer.weight @wide : tensor<24x2x3x4xf32>
  // expected-remark @below {{not a linear map: it is not from one or two axes to one or two axes}}
  %c = transformer.contract "tm,mabc->tabc" %x, %w : tensor<?x24xf32>, tensor<24x2x3x4xf32> -> tensor<?x2x3x4xf32>
  return %c : tensor<?x2x3x4xf32>
}

func.func @sum_over_the_rows(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  %w = transformer.weight @square : tensor<8x8xf32>
  // expected-remark @below {{not a linear map: it sums over the rows}}
  %c = transformer.contract "td,ed->e" %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<8xf32>
  return %c : tensor<8xf32>
}

func.func @pairs_of_rows(%x: tensor<?x3x?xf32>, %rows: !transformer.segments) -> tensor<?x?x8xf32> {
  %w = transformer.weight @key : tensor<3x8xf32>
  // expected-remark @below {{not a linear map: the other operand has an entry for each pair of rows}}
  %c = transformer.contract "thk,he->tke" %x, %w in(%rows, %rows) : tensor<?x3x?xf32>, tensor<3x8xf32> -> tensor<?x?x8xf32>
  return %c : tensor<?x?x8xf32>
}

func.func @weights_alone() -> tensor<8x8xf32> {
  %w = transformer.weight @square : tensor<8x8xf32>
  // expected-remark @below {{not a linear map: both operands are weights}}
  %c = transformer.contract "ab,cb->ac" %w, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

func.func @no_rows(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = transformer.weight @square : tensor<8x8xf32>
  // expected-remark @below {{not a linear map: the other operand has no rows}}
  %c = transformer.contract "ab,cb->ac" %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

func.func @axis_of_the_weight(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w = transformer.weight @batched : tensor<3x8x8xf32>
  // expected-remark @below {{not a linear map: axis 'h' is only one of the weight}}
  %c = transformer.contract "td,hed->te" %x, %w : tensor<?x8xf32>, tensor<3x8x8xf32> -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

func.func @bias_of_no_map(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %b = transformer.weight @vector : tensor<24xf32>
  // expected-remark @below {{not a bias: the sum is not that of a linear map without a bias}}
  %r = transformer.add %x, %b : tensor<?x24xf32>, tensor<24xf32>
  return %r : tensor<?x24xf32>
}
