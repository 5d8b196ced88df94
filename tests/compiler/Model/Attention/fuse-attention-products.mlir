// SPDX-License-Identifier: Apache-2.0
// Scores that are a sum of products: one product, or the reason why they are none.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>
!rows = tensor<?x24xf32>

transformer.parameter @q1 : tensor<24x20xf32> from "q1"
transformer.parameter @q1.bias : tensor<24xf32> from "q1.bias"
transformer.parameter @k1 : tensor<24x20xf32> from "k1"
transformer.parameter @q2 : tensor<12x20xf32> from "q2"
transformer.parameter @k2 : tensor<12x20xf32> from "k2"
transformer.parameter @k4 : tensor<4x20xf32> from "k4"
transformer.parameter @number : tensor<1xf32> from "number"

// CHECK-DAG: transformer.parameter @q1.heads : tensor<3x160xf32> = reshape(@q1)
// CHECK-DAG: transformer.parameter @q1.bias.heads : tensor<3x8xf32> = reshape(@q1.bias)
// CHECK-DAG: transformer.parameter @q2.scaled : tensor<12x20xf32> = scale(@q2, 5.000000e-01)
// CHECK-DAG: transformer.parameter @q2.scaled.heads : tensor<3x80xf32> = reshape(@q2.scaled)
// CHECK-DAG: transformer.parameter @k1.heads : tensor<3x160xf32> = reshape(@k1)
// CHECK-DAG: transformer.parameter @k2.heads : tensor<3x80xf32> = reshape(@k2)
// CHECK-DAG: transformer.parameter @heads.zeros : tensor<3x4xf32> = zeros()
// CHECK-DAG: transformer.parameter @q1_q2.scaled.heads : tensor<3x240xf32> = concat_columns(@q1.heads, @q2.scaled.heads)
// CHECK-DAG: transformer.parameter @q1_q2.scaled.heads.rows : tensor<36x20xf32> = reshape(@q1_q2.scaled.heads)
// CHECK-DAG: transformer.parameter @q1.bias.heads_heads.zeros : tensor<3x12xf32> = concat_columns(@q1.bias.heads, @heads.zeros)
// CHECK-DAG: transformer.parameter @q1.bias.heads_heads.zeros.rows : tensor<36xf32> = reshape(@q1.bias.heads_heads.zeros)

// Queries times u and v, of the same keys: Transformer-XL's biases of content.
// CHECK-LABEL: func.func @same_keys(
// CHECK: %[[SECOND:.*]] = transformer.scale %arg1, 2.000000e+00
// CHECK: %[[Q:.*]] = transformer.add %arg0, %[[SECOND]]
// CHECK: transformer.attention %[[Q]], %arg2, %arg2 {{.*}} {heads = 3 : i64, scale = 5.000000e-01 : f32
func.func @same_keys(%q: !rows, %u: !rows, %k: !rows, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %uh = transformer.split_heads %u : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  // expected-remark @below {{3 heads of 8, 2 products by the sum of their queries, scale 0.5, all}}
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %uh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z1 = transformer.scale %s1, 0.5 : !scores
  %s = transformer.add %z1, %s2 : !scores, !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @same_queries(
// CHECK: %[[K:.*]] = transformer.add %arg1, %arg2
// CHECK: transformer.attention %arg0, %[[K]], %arg1 {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32
func.func @same_queries(%q: !rows, %k: !rows, %e: !rows, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %eh = transformer.split_heads %e : !rows -> !heads
  // expected-remark @below {{3 heads of 8, 2 products by the sum of their keys, scale 1, all}}
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %qh, %eh in(%rows, %rows) : !heads, !heads -> !scores
  %s = transformer.add %s1, %s2 : !scores, !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// q1 k1 + q2 k2: maps of the same rows make the heads of both side by side.
// CHECK-LABEL: func.func @side_by_side(
// CHECK: %[[QS:.*]] = transformer.linear %arg0, @q1_q2.scaled.heads.rows, @q1.bias.heads_heads.zeros.rows : tensor<?x20xf32> -> tensor<?x36xf32>
// CHECK: %[[KS:.*]] = transformer.linear %arg0, @k1_k2.heads.rows : tensor<?x20xf32> -> tensor<?x36xf32>
// CHECK: transformer.attention %[[QS]], %[[KS]], %{{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = {{.*}} : tensor<?x36xf32>, tensor<?x36xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
func.func @side_by_side(%x: tensor<?x20xf32>, %v: !rows, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1, @q1.bias : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q2 = transformer.linear %x, @q2 : tensor<?x20xf32> -> tensor<?x12xf32>
  %k2 = transformer.linear %x, @k2 : tensor<?x20xf32> -> tensor<?x12xf32>
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %q2h = transformer.split_heads %q2 : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %k2h = transformer.split_heads %k2 : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 12 (values 8), 2 products side by side, scale 1, all}}
  %s1 = transformer.contract "thd,khd->thk" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %q2h, %k2h in(%rows, %rows) : tensor<?x3x4xf32>, tensor<?x3x4xf32> -> !scores
  %z2 = transformer.scale %s2, 0.5 : !scores
  %s = transformer.add %s1, %z2 : !scores, !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// Of other rows: a map of each, with zeros where the other has its heads. The second product has one
// head of keys for all queries, and what all heads have is added as a matrix of row and key.
// CHECK-LABEL: func.func @of_other_rows(
// CHECK: %[[X:.*]] = transformer.linear %arg0, @{{.*}} : tensor<?x20xf32> -> tensor<?x36xf32>
// CHECK: %[[Y:.*]] = transformer.linear %arg1, @{{.*}} : tensor<?x20xf32> -> tensor<?x36xf32>
// CHECK: %[[Q:.*]] = transformer.add %[[X]], %[[Y]]
// CHECK: transformer.attention %[[Q]], %{{.*}}, %{{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility
func.func @of_other_rows(%x: tensor<?x20xf32>, %y: tensor<?x20xf32>, %v: !rows, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1 : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q2 = transformer.linear %y, @k4 : tensor<?x20xf32> -> tensor<?x4xf32>
  %k2 = transformer.linear %y, @k4 : tensor<?x20xf32> -> tensor<?x4xf32>
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 12 (values 8), 2 products side by side, scale 1, all}}
  %s1 = transformer.contract "thd,khd->thk" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "td,kd->tk" %q2, %k2 in(%rows, %rows) : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x?xf32>
  %s = transformer.add %s1, %s2 : !scores, tensor<?x?xf32>
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// --- Declined --------------------------------------------------------------------------------

// A bias of keys alone: queries of one number that no map makes.
// CHECK-LABEL: func.func @bias_of_keys(
// CHECK-NOT: transformer.attention
func.func @bias_of_keys(%q: !rows, %k: !rows, %ones: tensor<?x1xf32>, %b: tensor<?x3xf32>, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %bh = transformer.split_heads %b : tensor<?x3xf32> -> tensor<?x3x1xf32>
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "td,khd->thk" %ones, %bh in(%rows, %rows) : tensor<?x1xf32>, tensor<?x3x1xf32> -> !scores
  %s = transformer.add %s1, %s2 : !scores, !scores
  // expected-remark @below {{not fused: queries of products that are summed are no linear maps, whose heads could be made side by side (an argument)}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @keys_of_caches(
// CHECK-NOT: transformer.attention
func.func @keys_of_caches(%q: !rows, %u: !rows, %v: !rows, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c1: !transformer.cache<24> {transformer.name = "c1"}, %c2: !transformer.cache<24> {transformer.name = "c2"}) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %uh = transformer.split_heads %u : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %k1 = transformer.cached %c1 in(%memory) : !transformer.cache<24> -> !rows
  %k2 = transformer.cached %c2 in(%memory) : !transformer.cache<24> -> !rows
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %k2h = transformer.split_heads %k2 : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %qh, %k1h in(%rows, %memory) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %uh, %k2h in(%rows, %memory) : !heads, !heads -> !scores
  %s = transformer.add %s1, %s2 : !scores, !scores
  // expected-remark @below {{not fused: keys of products that are summed lie in caches of their own}}
  %p = transformer.softmax %s in(%memory) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %k1h in(%rows, %memory) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @other_segments(
// CHECK-NOT: transformer.attention
func.func @other_segments(%q: !rows, %rows: !transformer.segments, %others: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %others) : !heads, !heads -> !scores
  %s = transformer.add %s1, %s2 : !scores, !scores
  // expected-remark @below {{not fused: the scores are a sum of products of other segments}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %qh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @mask_of_one(
// CHECK-NOT: transformer.attention
func.func @mask_of_one(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %kh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %s1 {hidden = -1.0e4 : f32} : !scores
  %s = transformer.add %z, %s2 : !scores, !scores
  // expected-remark @below {{not fused: a mask is applied to one of several products whose sum the scores are}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @numbers_of_rows(
// CHECK-NOT: transformer.attention
func.func @numbers_of_rows(%x: tensor<?x20xf32>, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1 : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %k1h, %q1h in(%rows, %rows) : !heads, !heads -> !scores
  %z2 = transformer.multiply %s2, %g : !scores, tensor<?x1xf32>
  %s = transformer.add %s1, %z2 : !scores, !scores
  // expected-remark @below {{not fused: products that are summed have factors of their own for each row}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %k1h in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// The number of a row would be multiplied into the keys that lie in that row.
// CHECK-LABEL: func.func @numbers_of_rows_of_one_query(
// CHECK-NOT: transformer.attention
func.func @numbers_of_rows_of_one_query(%x: tensor<?x20xf32>, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1 : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %q1h, %q1h in(%rows, %rows) : !heads, !heads -> !scores
  %z2 = transformer.multiply %s2, %g : !scores, tensor<?x1xf32>
  %s = transformer.add %s1, %z2 : !scores, !scores
  // expected-remark @below {{not fused: products that are summed have factors of their own for each row}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %k1h in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// Of each key: keys are summed, each with its numbers.
// CHECK-LABEL: func.func @numbers_of_keys_of_one_query(
// CHECK: %[[N:.*]] = transformer.multiply %{{.*}}, %arg1 : tensor<?x24xf32>, tensor<?x1xf32>
// CHECK: %[[K:.*]] = transformer.add %[[N]], %{{.*}} : tensor<?x24xf32>
// CHECK: transformer.attention %{{.*}}, %[[K]], %
func.func @numbers_of_keys_of_one_query(%x: tensor<?x20xf32>, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1 : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  // expected-remark @below {{3 heads of 8, 2 products by the sum of their keys, scale 1, all}}
  %s1 = transformer.contract "thd,khd->kht" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %z1 = transformer.multiply %s1, %g : !scores, tensor<?x1xf32>
  %y1 = transformer.transpose %z1 [2, 1, 0] : !scores -> !scores
  %s2 = transformer.contract "thd,khd->thk" %q1h, %q1h in(%rows, %rows) : !heads, !heads -> !scores
  %s = transformer.add %y1, %s2 : !scores, !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %k1h in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// Other queries, other keys, and numbers of some of the keys.
// CHECK-LABEL: func.func @numbers_of_keys_of_other_queries(
// CHECK-NOT: transformer.attention
func.func @numbers_of_keys_of_other_queries(%x: tensor<?x20xf32>, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !heads {
  %q1 = transformer.linear %x, @q1 : tensor<?x20xf32> -> !rows
  %k1 = transformer.linear %x, @k1 : tensor<?x20xf32> -> !rows
  %q1h = transformer.split_heads %q1 : !rows -> !heads
  %k1h = transformer.split_heads %k1 : !rows -> !heads
  %s1 = transformer.contract "thd,khd->kht" %q1h, %k1h in(%rows, %rows) : !heads, !heads -> !scores
  %z1 = transformer.multiply %s1, %g : !scores, tensor<?x1xf32>
  %y1 = transformer.transpose %z1 [2, 1, 0] : !scores -> !scores
  %s2 = transformer.contract "thd,khd->thk" %k1h, %q1h in(%rows, %rows) : !heads, !heads -> !scores
  %s = transformer.add %y1, %s2 : !scores, !scores
  // expected-remark @below {{not fused: a number of each key multiplies some of several products of other queries}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %k1h in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @factors_far_apart(
// CHECK-NOT: transformer.attention
func.func @factors_far_apart(%q: !rows, %u: !rows, %k: !rows, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %uh = transformer.split_heads %u : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %uh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z2 = transformer.scale %s2, 1.0e+30 : !scores
  %s = transformer.add %s1, %z2 : !scores, !scores
  // expected-remark @below {{not fused: products that are summed have factors as far apart as 1 and 1e+30}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @second_scale_of_zero(
// CHECK-NOT: transformer.attention
func.func @second_scale_of_zero(%q: !rows, %u: !rows, %k: !rows, %rows: !transformer.segments) -> !heads {
  %qh = transformer.split_heads %q : !rows -> !heads
  %uh = transformer.split_heads %u : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %uh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z2 = transformer.scale %s2, 0.0 : !scores
  %s = transformer.add %s1, %z2 : !scores, !scores
  // expected-remark @below {{not fused: the scale is zero}}
  %p = transformer.softmax %s in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @nine_products(
// CHECK-NOT: transformer.attention
func.func @nine_products(%x: !heads, %rows: !transformer.segments) -> !heads {
  %s0 = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %s1 = transformer.add %s0, %s0 : !scores, !scores
  %s2 = transformer.add %s1, %s0 : !scores, !scores
  %s3 = transformer.add %s2, %s0 : !scores, !scores
  %s4 = transformer.add %s3, %s0 : !scores, !scores
  %s5 = transformer.add %s4, %s0 : !scores, !scores
  %s6 = transformer.add %s5, %s0 : !scores, !scores
  %s7 = transformer.add %s6, %s0 : !scores, !scores
  %s8 = transformer.add %s7, %s0 : !scores, !scores
  // expected-remark @below {{not fused: the scores are a sum of more than 8 products}}
  %p = transformer.softmax %s8 in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}

// CHECK-LABEL: func.func @of_all_heads_transposed(
// CHECK-NOT: transformer.attention
func.func @of_all_heads_transposed(%x: !heads, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> !heads {
  %s1 = transformer.contract "thd,khd->kht" %x, %x in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "td,kd->kt" %y, %y in(%rows, %rows) : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x?xf32>
  %s = transformer.add %s1, %s2 : !scores, tensor<?x?xf32>
  %t = transformer.transpose %s [2, 1, 0] : !scores -> !scores
  // expected-remark @below {{not fused: what all heads have is added to scores with their axes in another order}}
  %p = transformer.softmax %t in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : !scores, !heads -> !heads
  return %c : !heads
}
