// SPDX-License-Identifier: Apache-2.0
// What follows the sums of values: sums over the heads, and maps that may come before.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.contract

!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>

transformer.parameter @hdm : tensor<3x5x20xf32> from "hdm"
transformer.parameter @hmd : tensor<3x20x5xf32> from "hmd"
transformer.parameter @mhd : tensor<20x3x5xf32> from "mhd"

// CHECK: transformer.parameter @hdm.matrix : tensor<15x20xf32> = reshape(@hdm)
// CHECK: transformer.parameter @hmd.flat : tensor<60x5xf32> = reshape(@hmd)
// CHECK: transformer.parameter @hmd.head : tensor<20x5xf32> = rows(@hmd.flat, 0)
// CHECK: transformer.parameter @hmd.transposed : tensor<5x20xf32> = transpose(@hmd.head)
// CHECK: transformer.parameter @hmd.head_{{.*}} : tensor<20x5xf32> = rows(@hmd.flat, 20)
// CHECK: transformer.parameter @hmd.head_{{.*}} : tensor<20x5xf32> = rows(@hmd.flat, 40)
// CHECK: transformer.parameter @hmd.matrix : tensor<15x20xf32> = concat(@hmd.transposed, @hmd.transposed_{{.*}}, @hmd.transposed_{{.*}})
// CHECK: transformer.parameter @mhd.flat : tensor<20x15xf32> = reshape(@mhd)
// CHECK: transformer.parameter @mhd.transposed : tensor<15x20xf32> = transpose(@mhd.flat)

// The sum over the heads is that of the columns of the result.
// CHECK-LABEL: func.func @heads_summed(
// CHECK: %[[A:.*]] = transformer.attention %arg0, %arg1, %arg2
// CHECK: %[[C0:.*]] = transformer.columns %[[A]] from 0 : tensor<?x24xf32> -> tensor<?x8xf32>
// CHECK: %[[C1:.*]] = transformer.columns %[[A]] from 8
// CHECK: %[[S1:.*]] = transformer.add %[[C0]], %[[C1]]
// CHECK: %[[C2:.*]] = transformer.columns %[[A]] from 16
// CHECK: %[[S2:.*]] = transformer.add %[[S1]], %[[C2]]
// CHECK: return %[[S2]]
func.func @heads_summed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> !heads
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> !heads
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %m = transformer.contract "thk,khd->td" %p, %vh in(%rows, %rows) : !scores, !heads -> tensor<?x8xf32>
  return %m : tensor<?x8xf32>
}

// The same of values that all heads have, with the axes of the result the other way round.
// CHECK-LABEL: func.func @heads_of_one_value_summed(
// CHECK: transformer.attention {{.*}}value_share = 3 : i64
// CHECK: transformer.add {{.*}} : tensor<?x20xf32>, tensor<?x20xf32>
// CHECK: %[[S:.*]] = transformer.add {{.*}} : tensor<?x20xf32>, tensor<?x20xf32>
// CHECK-NEXT: transformer.transpose %[[S]] [1, 0]
func.func @heads_of_one_value_summed(%qh: !heads, %x: tensor<?x20xf32>, %rows: !transformer.segments) -> tensor<20x?xf32> {
  // expected-remark @below {{3 heads of 8 (values 20), values of 1 head, scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %m = transformer.contract "thk,kd->dt" %p, %x in(%rows, %rows) : !scores, tensor<?x20xf32> -> tensor<20x?xf32>
  return %m : tensor<20x?xf32>
}

// (P x) W is P (x W): the sums are of the columns that W makes, not of all columns of x.
// CHECK-LABEL: func.func @mapped(
// CHECK: %[[V:.*]] = transformer.linear %arg1, @hdm.matrix : tensor<?x20xf32> -> tensor<?x15xf32>
// CHECK: transformer.attention %{{.*}}, %{{.*}}, %[[V]] {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility
func.func @mapped(%qh: !heads, %x: tensor<?x20xf32>, %rows: !transformer.segments) -> tensor<?x3x5xf32> {
  // expected-remark @below {{3 heads of 8 (values 5), scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %w = transformer.weight @hdm : tensor<3x5x20xf32>
  %m = transformer.contract "thk,km->thm" %p, %x in(%rows, %rows) : !scores, tensor<?x20xf32> -> tensor<?x3x20xf32>
  %c = transformer.contract "thm,hdm->thd" %m, %w : tensor<?x3x20xf32>, tensor<3x5x20xf32> -> tensor<?x3x5xf32>
  return %c : tensor<?x3x5xf32>
}

// The axes of the weight and of the result in another order.
// CHECK-LABEL: func.func @mapped_by_heads(
// CHECK: %[[V:.*]] = transformer.linear %arg1, @hmd.matrix : tensor<?x20xf32> -> tensor<?x15xf32>
// CHECK: %[[A:.*]] = transformer.attention %{{.*}}, %{{.*}}, %[[V]]
// CHECK: %[[H:.*]] = transformer.split_heads %[[A]]
// CHECK: transformer.transpose %[[H]] [1, 0, 2]
func.func @mapped_by_heads(%qh: !heads, %x: tensor<?x20xf32>, %rows: !transformer.segments) -> tensor<3x?x5xf32> {
  // expected-remark @below {{3 heads of 8 (values 5), scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %w = transformer.weight @hmd : tensor<3x20x5xf32>
  %m = transformer.contract "km,thk->mht" %x, %p in(%rows, %rows) : tensor<?x20xf32>, !scores -> tensor<20x3x?xf32>
  %c = transformer.contract "hmd,mht->htd" %w, %m : tensor<3x20x5xf32>, tensor<20x3x?xf32> -> tensor<3x?x5xf32>
  return %c : tensor<3x?x5xf32>
}

// CHECK-LABEL: func.func @mapped_by_columns(
// CHECK: transformer.linear %arg1, @mhd.transposed : tensor<?x20xf32> -> tensor<?x15xf32>
func.func @mapped_by_columns(%qh: !heads, %x: tensor<?x20xf32>, %rows: !transformer.segments) -> tensor<?x3x5xf32> {
  // expected-remark @below {{3 heads of 8 (values 5), scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %w = transformer.weight @mhd : tensor<20x3x5xf32>
  %m = transformer.contract "thk,km->thm" %p, %x in(%rows, %rows) : !scores, tensor<?x20xf32> -> tensor<?x3x20xf32>
  %c = transformer.contract "thm,mhd->thd" %m, %w : tensor<?x3x20xf32>, tensor<20x3x5xf32> -> tensor<?x3x5xf32>
  return %c : tensor<?x3x5xf32>
}
