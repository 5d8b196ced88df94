// SPDX-License-Identifier: Apache-2.0
// Heads of queries that have heads of keys or of values in common: fewer of these in the operation.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.contract --implicit-check-not=transformer.repeat_heads

// CHECK-LABEL: func.func @grouped(
// CHECK: %[[R:.*]] = transformer.attention %arg0, %arg1, %arg2 in(%arg3, %arg3) {heads = 6 : i64, key_share = 3 : i64, scale = 5.000000e-01 : f32, value_share = 3 : i64, visibility = #transformer.visibility<all>} : tensor<?x48xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x48xf32>
// CHECK: return %[[R]]
func.func @grouped(%q: tensor<?x48xf32>, %k: tensor<?x16xf32>, %v: tensor<?x16xf32>, %rows: !transformer.segments) -> tensor<?x48xf32> {
  %qh = transformer.split_heads %q : tensor<?x48xf32> -> tensor<?x6x8xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %vh = transformer.split_heads %v : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %vr = transformer.repeat_heads %vh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  // expected-remark @below {{6 heads of 8, keys of 2 heads, values of 2 heads, scale 0.5, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %kr in(%rows, %rows) : tensor<?x6x8xf32>, tensor<?x6x8xf32> -> tensor<?x6x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x6x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x6x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vr in(%rows, %rows) : tensor<?x6x?xf32>, tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  %m = transformer.merge_heads %c : tensor<?x6x8xf32> -> tensor<?x48xf32>
  return %m : tensor<?x48xf32>
}

// Repeated twice, and with a factor between.
// CHECK-LABEL: func.func @repeated_twice(
// CHECK: transformer.attention %arg0, %arg1, %arg0 {{.*}} {heads = 8 : i64, key_share = 4 : i64, scale = 3.000000e+00 : f32, visibility
func.func @repeated_twice(%q: tensor<?x32xf32>, %k: tensor<?x8xf32>, %rows: !transformer.segments) -> tensor<?x32xf32> {
  %qh = transformer.split_heads %q : tensor<?x32xf32> -> tensor<?x8x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %k4 = transformer.repeat_heads %kh : tensor<?x2x4xf32> -> tensor<?x4x4xf32>
  %kz = transformer.scale %k4, 3.0 : tensor<?x4x4xf32>
  %kr = transformer.repeat_heads %kz : tensor<?x4x4xf32> -> tensor<?x8x4xf32>
  // expected-remark @below {{8 heads of 4, keys of 2 heads, scale 3, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %kr in(%rows, %rows) : tensor<?x8x4xf32>, tensor<?x8x4xf32> -> tensor<?x8x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x8x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %qh in(%rows, %rows) : tensor<?x8x?xf32>, tensor<?x8x4xf32> -> tensor<?x8x4xf32>
  %m = transformer.merge_heads %c : tensor<?x8x4xf32> -> tensor<?x32xf32>
  return %m : tensor<?x32xf32>
}

// Keys and values without heads: one for all queries.
// CHECK-LABEL: func.func @without_heads(
// CHECK: transformer.attention %arg0, %arg1, %arg2 {{.*}} {heads = 3 : i64, key_share = 3 : i64, scale = 1.000000e+00 : f32, value_share = 3 : i64, {{.*}} : tensor<?x24xf32>, tensor<?x8xf32>, tensor<?x5xf32> -> tensor<?x15xf32>
func.func @without_heads(%q: tensor<?x24xf32>, %k: tensor<?x8xf32>, %v: tensor<?x5xf32>, %rows: !transformer.segments) -> tensor<?x15xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8 (values 5), keys of 1 head, values of 1 head, scale 1, all}}
  %s = transformer.contract "thd,kd->thk" %qh, %k in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,kd->thd" %p, %v in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x5xf32> -> tensor<?x3x5xf32>
  %m = transformer.merge_heads %c : tensor<?x3x5xf32> -> tensor<?x15xf32>
  return %m : tensor<?x15xf32>
}

// The same with an axis of one in place of the heads, transposed, and operands the other way round.
// CHECK-LABEL: func.func @one_head_transposed(
// CHECK: transformer.attention %arg0, %arg1, %arg1 {{.*}} {heads = 3 : i64, key_share = 3 : i64, {{.*}}value_share = 3 : i64
func.func @one_head_transposed(%q: tensor<?x24xf32>, %k: tensor<?x8xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x1x8xf32> -> tensor<1x8x?xf32>
  %vt = transformer.transpose %k [1, 0] : tensor<?x8xf32> -> tensor<8x?xf32>
  // expected-remark @below {{3 heads of 8, keys of 1 head, values of 1 head, scale 1, all}}
  %s = transformer.contract "odk,thd->thk" %kt, %qh in(%rows, %rows) : tensor<1x8x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "dk,thk->thd" %vt, %p in(%rows, %rows) : tensor<8x?xf32>, tensor<?x3x?xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// One head of queries for several of keys: the queries are written once for each.
// CHECK-LABEL: func.func @queries_without_heads(
// CHECK: %[[Q:.*]] = transformer.split_heads %arg0 : tensor<?x8xf32> -> tensor<?x1x8xf32>
// CHECK: %[[QR:.*]] = transformer.repeat_heads %[[Q]] : tensor<?x1x8xf32> -> tensor<?x3x8xf32>
// CHECK: %[[QM:.*]] = transformer.merge_heads %[[QR]]
// CHECK: transformer.attention %[[QM]], %arg1, %arg1 {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility
func.func @queries_without_heads(%q: tensor<?x8xf32>, %k: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all}}
  %s = transformer.contract "td,khd->thk" %q, %kh in(%rows, %rows) : tensor<?x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// x W x^T: the map belongs to the queries, and the keys are the rows themselves.
transformer.parameter @w : tensor<24x8xf32> from "w"
// CHECK-LABEL: func.func @bilinear(
// CHECK: %[[Q:.*]] = transformer.linear %arg0, @w
// CHECK: transformer.attention %[[Q]], %arg0, %arg0 {{.*}} {heads = 3 : i64, key_share = 3 : i64, {{.*}}value_share = 3 : i64
func.func @bilinear(%x: tensor<?x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %q = transformer.linear %x, @w : tensor<?x8xf32> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, keys of 1 head, values of 1 head, scale 1, all}}
  %s = transformer.contract "thd,kd->thk" %qh, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,kd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Weights that several sums share: each has its own heads of values.
// CHECK-LABEL: func.func @shared_sums(
// CHECK: %[[P:.*]] = transformer.attention_weights %arg0, %arg1 {{.*}} {heads = 4 : i64, key_share = 2 : i64, scale
// CHECK: transformer.attend %[[P]], %arg1 {{.*}} {value_share = 2 : i64, visibility = {{.*}} : tensor<?x4x?xf32>, tensor<?x16xf32> -> tensor<?x32xf32>
// CHECK: transformer.attend %[[P]], %arg0 {{.*}} {visibility = {{.*}} : tensor<?x4x?xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
func.func @shared_sums(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %rows: !transformer.segments) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %qh = transformer.split_heads %q : tensor<?x32xf32> -> tensor<?x4x8xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  // expected-remark @below {{4 heads of 8, keys of 2 heads, scale 1, all, weights of 2 sums}}
  %s = transformer.contract "thd,khd->thk" %qh, %kr in(%rows, %rows) : tensor<?x4x8xf32>, tensor<?x4x8xf32> -> tensor<?x4x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x4x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %kr in(%rows, %rows) : tensor<?x4x?xf32>, tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %e = transformer.contract "thk,khd->thd" %p, %qh in(%rows, %rows) : tensor<?x4x?xf32>, tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %m = transformer.merge_heads %c : tensor<?x4x8xf32> -> tensor<?x32xf32>
  %n = transformer.merge_heads %e : tensor<?x4x8xf32> -> tensor<?x32xf32>
  return %m, %n : tensor<?x32xf32>, tensor<?x32xf32>
}
