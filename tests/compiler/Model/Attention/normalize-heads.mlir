// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-normalize-heads | FileCheck %s

transformer.parameter @query.weight : tensor<3x8x24xf32> from "query.weight"
transformer.parameter @query.bias : tensor<3x8xf32> from "query.bias"
transformer.parameter @turned.weight : tensor<24x3x8xf32> from "turned.weight"
transformer.parameter @turned.bias : tensor<8x3xf32> from "turned.bias"
transformer.parameter @output.weight : tensor<12x3x8xf32> from "output.weight"
transformer.parameter @between : tensor<2x24x5xf32> from "between"
transformer.parameter @stored.weight : tensor<24x24xf32> from "stored.weight"
transformer.parameter @stored.heads : tensor<3x8x24xf32> = reshape(@stored.weight)
transformer.parameter @bias : tensor<24xf32> from "bias"

transformer.parameter @groups : tensor<3x5x8xf32> from "groups"

// Rank 3 becomes a matrix; what is first in the weight is first in the matrix.
// CHECK-DAG: transformer.parameter @query.weight.matrix : tensor<24x24xf32> ={{ *}}reshape{{ *}}(@query.weight)
// CHECK-DAG: transformer.parameter @query.bias.vector : tensor<24xf32> ={{ *}}reshape{{ *}}(@query.bias)
// CHECK-DAG: transformer.parameter @turned.weight.flat : tensor<24x24xf32> ={{ *}}reshape{{ *}}(@turned.weight)
// CHECK-DAG: transformer.parameter @turned.weight.matrix : tensor<24x24xf32> ={{ *}}transpose{{ *}}(@turned.weight.flat)
// CHECK-DAG: transformer.parameter @turned.bias.transposed : tensor<3x8xf32> ={{ *}}transpose{{ *}}(@turned.bias)
// CHECK-DAG: transformer.parameter @turned.bias.vector : tensor<24xf32> ={{ *}}reshape{{ *}}(@turned.bias.transposed)
// CHECK-DAG: transformer.parameter @output.weight.matrix : tensor<12x24xf32> ={{ *}}reshape{{ *}}(@output.weight)
// CHECK-DAG: transformer.parameter @between.flat : tensor<48x5xf32> ={{ *}}reshape{{ *}}(@between)
// CHECK-DAG: transformer.parameter @between.head : tensor<24x5xf32> ={{ *}}rows{{ *}}(@between.flat, 0)
// CHECK-DAG: transformer.parameter @between.transposed : tensor<5x24xf32> ={{ *}}transpose{{ *}}(@between.head)
// CHECK-DAG: transformer.parameter @between.head_0 : tensor<24x5xf32> ={{ *}}rows{{ *}}(@between.flat, 24)
// CHECK-DAG: transformer.parameter @between.transposed_1 : tensor<5x24xf32> ={{ *}}transpose{{ *}}(@between.head_0)
// CHECK-DAG: transformer.parameter @between.matrix : tensor<10x24xf32> ={{ *}}concat{{ *}}(@between.transposed, @between.transposed_1)
// CHECK-NOT: @stored.heads.matrix

// CHECK-LABEL: func.func @split(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[L:.*]] = transformer.linear %[[X]], @query.weight.matrix, @query.bias.vector : tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[H:.*]] = transformer.split_heads %[[L]] : tensor<?x24xf32> -> tensor<?x3x8xf32>
// CHECK-NEXT: return %[[H]]
func.func @split(%x: tensor<?x24xf32>) -> tensor<?x3x8xf32> {
  %w = transformer.weight @query.weight : tensor<3x8x24xf32>
  %c = transformer.contract "tm,hdm->thd" %x, %w : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %b = transformer.weight @query.bias : tensor<3x8xf32>
  %q = transformer.add %c, %b : tensor<?x3x8xf32>, tensor<3x8xf32>
  return %q : tensor<?x3x8xf32>
}

// The input's axis first in the weight, the weight first in the product, the result turned.
// CHECK-LABEL: func.func @turned(
// CHECK-NEXT: %[[L:.*]] = transformer.linear %{{.*}}, @turned.weight.matrix, @turned.bias.vector
// CHECK-NEXT: %[[H:.*]] = transformer.split_heads %[[L]]
// CHECK-NEXT: %[[T:.*]] = transformer.transpose %[[H]] [0, 2, 1]
// CHECK-NEXT: return %[[T]]
func.func @turned(%x: tensor<?x24xf32>) -> tensor<?x8x3xf32> {
  %w = transformer.weight @turned.weight : tensor<24x3x8xf32>
  %c = transformer.contract "mhd,tm->tdh" %w, %x : tensor<24x3x8xf32>, tensor<?x24xf32> -> tensor<?x8x3xf32>
  %b = transformer.weight @turned.bias : tensor<8x3xf32>
  %q = transformer.add %c, %b : tensor<?x8x3xf32>, tensor<8x3xf32>
  return %q : tensor<?x8x3xf32>
}

// CHECK-LABEL: func.func @merge(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3x8xf32>
// CHECK-NEXT: %[[M:.*]] = transformer.merge_heads %[[X]]
// CHECK-NEXT: %[[L:.*]] = transformer.linear %[[M]], @output.weight.matrix : tensor<?x24xf32> -> tensor<?x12xf32>
// CHECK-NEXT: return %[[L]]
func.func @merge(%x: tensor<?x3x8xf32>) -> tensor<?x12xf32> {
  %w = transformer.weight @output.weight : tensor<12x3x8xf32>
  %c = transformer.contract "thd,mhd->tm" %x, %w : tensor<?x3x8xf32>, tensor<12x3x8xf32> -> tensor<?x12xf32>
  return %c : tensor<?x12xf32>
}

// The order of heads is the weight's: the rows follow it.
// CHECK-LABEL: func.func @merge_turned(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x?x3xf32>
// CHECK-NEXT: %[[T:.*]] = transformer.transpose %[[X]] [1, 2, 0] : tensor<8x?x3xf32> -> tensor<?x3x8xf32>
// CHECK-NEXT: %[[M:.*]] = transformer.merge_heads %[[T]]
// CHECK-NEXT: transformer.linear %[[M]], @output.weight.matrix
func.func @merge_turned(%x: tensor<8x?x3xf32>) -> tensor<?x12xf32> {
  %w = transformer.weight @output.weight : tensor<12x3x8xf32>
  %wt = transformer.transpose %w [2, 0, 1] : tensor<12x3x8xf32> -> tensor<8x12x3xf32>
  %c = transformer.contract "dth,dmh->tm" %x, %wt : tensor<8x?x3xf32>, tensor<8x12x3xf32> -> tensor<?x12xf32>
  return %c : tensor<?x12xf32>
}

// A weight that was a matrix is that matrix again; a plain product and a sum are one map.
// CHECK-LABEL: func.func @stored_as_matrix(
// CHECK-NEXT: %[[L:.*]] = transformer.linear %{{.*}}, @stored.weight, @bias
// CHECK-NEXT: return %[[L]]
func.func @stored_as_matrix(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %w = transformer.weight @stored.heads : tensor<3x8x24xf32>
  %c = transformer.contract "tm,hdm->thd" %x, %w : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b = transformer.weight @bias : tensor<24xf32>
  %r = transformer.add %m, %b : tensor<?x24xf32>, tensor<24xf32>
  return %r : tensor<?x24xf32>
}

// What is summed stands between the heads and their columns: the matrix of each head is transposed.
// CHECK-LABEL: func.func @summed_between(
// CHECK-NEXT: %[[L:.*]] = transformer.linear %{{.*}}, @between.matrix : tensor<?x24xf32> -> tensor<?x10xf32>
// CHECK-NEXT: transformer.split_heads %[[L]] : tensor<?x10xf32> -> tensor<?x2x5xf32>
func.func @summed_between(%x: tensor<?x24xf32>) -> tensor<?x2x5xf32> {
  %w = transformer.weight @between : tensor<2x24x5xf32>
  %c = transformer.contract "tm,hmd->thd" %x, %w : tensor<?x24xf32>, tensor<2x24x5xf32> -> tensor<?x2x5xf32>
  return %c : tensor<?x2x5xf32>
}

// A map for each head is a map of each group of columns.
// CHECK-LABEL: func.func @map_of_groups(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[G:.*]] = transformer.grouped_linear %[[X]], @groups.matrix {groups = 3 : i64} : tensor<?x24xf32> -> tensor<?x15xf32>
// CHECK-NEXT: return %[[G]]
func.func @map_of_groups(%x: tensor<?x24xf32>) -> tensor<?x15xf32> {
  %h = transformer.split_heads %x : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %w = transformer.weight @groups : tensor<3x5x8xf32>
  %c = transformer.contract "thd,hed->the" %h, %w : tensor<?x3x8xf32>, tensor<3x5x8xf32> -> tensor<?x3x5xf32>
  %m = transformer.merge_heads %c : tensor<?x3x5xf32> -> tensor<?x15xf32>
  return %m : tensor<?x15xf32>
}
