// SPDX-License-Identifier: Apache-2.0
// What is added to scores in any order, with any factors: one table for the kernel.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>

transformer.parameter @near : tensor<3x5xf32> from "near"
transformer.parameter @far : tensor<3x15xf32> from "far"
transformer.parameter @learned : tensor<1xf32> from "learned"

// CHECK-DAG: transformer.parameter @near.scaled : tensor<3x5xf32> = scale(@near, -2.500000e-01)
// CHECK-DAG: transformer.parameter @near.scaled_0 : tensor<3x5xf32> = scale(@near, @learned, 2.000000e+00)
// CHECK-DAG: transformer.parameter @near.end : tensor<3x1xf32> = columns(@near, 0)
// CHECK-DAG: transformer.parameter @near.ends : tensor<3x2xf32> = concat_columns(@near.end, @near.end)
// CHECK-DAG: transformer.parameter @[[E4:near.ends_.*]] : tensor<3x4xf32> = concat_columns(@near.ends, @near.ends)
// CHECK-DAG: transformer.parameter @[[E8:near.ends_.*]] : tensor<3x8xf32> = concat_columns(@[[E4]], @[[E4]])
// CHECK-DAG: transformer.parameter @[[E5:near.ends_.*]] : tensor<3x5xf32> = columns(@[[E8]], 0)
// CHECK-DAG: transformer.parameter @near.end_{{.*}} : tensor<3x1xf32> = columns(@near, 4)
// CHECK-DAG: transformer.parameter @near.wide : tensor<3x15xf32> = concat_columns(@[[E5]], @near, @near.ends_{{.*}})
// CHECK-DAG: transformer.parameter @[[SUM:near.*far.*]] : tensor<3x15xf32> = sum(@near.wide, @far)

// (bias + mask) + scores.
// CHECK-LABEL: func.func @bias_and_mask_first(
// CHECK: transformer.attention {{.*}} {bias = @near, heads = 3 : i64, scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>}
func.func @bias_and_mask_first(%x: !heads, %rows: !transformer.segments) -> !heads {
  // expected-remark @below {{3 heads of 8, scale 0.5, causal, bias @near}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %z = transformer.scale %s, 0.5 : !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %m = transformer.mask causal in(%rows, %rows)
  %n = transformer.mask_bias %m {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %bm = transformer.add %b, %n : !scores, tensor<?x?xf32>
  %a = transformer.add %bm, %z : !scores, !scores
  %p = transformer.softmax %a in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// Factors on the table, one after the sum, of which the scores have a part.
// CHECK-LABEL: func.func @factors(
// CHECK: transformer.attention {{.*}} {bias = @near.scaled, heads = 3 : i64, scale = 5.000000e-01 : f32, visibility
func.func @factors(%x: !heads, %rows: !transformer.segments) -> !heads {
  // expected-remark @below {{3 heads of 8, scale 0.5, all, bias @near.scaled}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %bz = transformer.scale %b, -0.5 : !scores
  %a = transformer.add %s, %bz : !scores, !scores
  %z = transformer.scale %a, 0.5 : !scores
  %p = transformer.softmax %z in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// A number that is learned: of the queries, and of the table.
// CHECK-LABEL: func.func @learned_number(
// CHECK: %[[N:.*]] = transformer.weight @learned
// CHECK: %[[Q:.*]] = transformer.merge_heads %arg0
// CHECK: %[[QN:.*]] = transformer.multiply %[[Q]], %[[N]] : tensor<?x24xf32>, tensor<1xf32>
// CHECK: transformer.attention %[[QN]], {{.*}} {bias = @near.scaled_0, heads = 3 : i64, scale = 2.000000e+00 : f32, visibility
func.func @learned_number(%x: !heads, %rows: !transformer.segments) -> !heads {
  // expected-remark @below {{3 heads of 8, scale 2, all, bias @near.scaled_0}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %a = transformer.add %b, %s : !scores, !scores
  %n = transformer.weight @learned : tensor<1xf32>
  %z = transformer.scale %a, 2.0 : !scores
  %y = transformer.multiply %z, %n : !scores, tensor<1xf32>
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// A number of each row, as a gate gives it; the mask comes after.
// CHECK-LABEL: func.func @number_of_rows(
// CHECK: %[[Q:.*]] = transformer.merge_heads %arg0
// CHECK: %[[QN:.*]] = transformer.multiply %[[Q]], %arg1 : tensor<?x24xf32>, tensor<?x1xf32>
// CHECK: transformer.attention %[[QN]], {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @number_of_rows(%x: !heads, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  // expected-remark @below {{3 heads of 8, scale 1, causal}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %y = transformer.multiply %s, %g : !scores, tensor<?x1xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %y {hidden = 0xFF800000 : f32} : !scores
  %p = transformer.softmax %z in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// Two tables; the distances beyond one have its ends.
// CHECK-LABEL: func.func @tables_of_other_distances(
// CHECK: transformer.attention {{.*}} {bias = @[[SUM]], heads = 3 : i64
func.func @tables_of_other_distances(%x: !heads, %rows: !transformer.segments) -> !heads {
  // expected-remark @below {{3 heads of 8, scale 1, all, bias @near.wide_far}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %f = transformer.relative_bias @far in(%rows, %rows) : !scores
  %bf = transformer.add %b, %f : !scores, !scores
  %a = transformer.add %s, %bf : !scores, !scores
  %p = transformer.softmax %a in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// --- Declined --------------------------------------------------------------------------------

// CHECK-LABEL: func.func @number_after_mask(
// CHECK-NOT: transformer.attention
func.func @number_after_mask(%x: !heads, %rows: !transformer.segments) -> !heads {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %s {hidden = 0xFF800000 : f32} : !scores
  %n = transformer.weight @learned : tensor<1xf32>
  %y = transformer.multiply %z, %n : !scores, tensor<1xf32>
  // expected-remark @below {{not fused: a factor follows the mask that only a run knows (transformer.weight): it may hide keys or prefer them}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @number_of_rows_after_table(
// CHECK-NOT: transformer.attention
func.func @number_of_rows_after_table(%x: !heads, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %a = transformer.add %s, %b : !scores, !scores
  %y = transformer.multiply %a, %g : !scores, tensor<?x1xf32>
  // expected-remark @below {{not fused: a factor of each row follows the bias by distance (an argument), which is one table for all rows}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @table_times_infinity(
// CHECK-NOT: transformer.attention
func.func @table_times_infinity(%x: !heads, %rows: !transformer.segments) -> !heads {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %b1 = transformer.scale %b, 1.0e30 : !scores
  %b2 = transformer.scale %b1, 1.0e30 : !scores
  %a = transformer.add %s, %b2 : !scores, !scores
  // expected-remark @below {{not fused: the product of the factors of a bias by distance is not finite in f32}}
  %p = transformer.softmax %a in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// The number of a finite mask has one table before it and one after.
// CHECK-LABEL: func.func @mask_between_tables(
// CHECK-NOT: transformer.attention
func.func @mask_between_tables(%x: !heads, %rows: !transformer.segments) -> !heads {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %f = transformer.relative_bias @far in(%rows, %rows) : !scores
  %a = transformer.add %s, %b : !scores, !scores
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %a {hidden = -1.0e4 : f32} : !scores
  %y = transformer.add %z, %f : !scores, !scores
  // expected-remark @below {{not fused: the mask writes -10000 between biases by distance, of which the kernel has one table}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}
