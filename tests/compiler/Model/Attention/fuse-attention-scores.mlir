// SPDX-License-Identifier: Apache-2.0
// Scores that something else reads too: attention computes its own, and others keep theirs.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.softmax

// Scores that are a result.
// CHECK-LABEL: func.func @scores_a_result(
// CHECK: transformer.contract "thd,khd->thk"
// CHECK: transformer.attention
func.func @scores_a_result(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all"}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m, %s : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// Anywhere on the way to the softmax.
// CHECK-LABEL: func.func @scores_scaled_twice(
// CHECK: transformer.contract "thd,khd->thk"
// CHECK: transformer.scale %{{.*}}, 2.0
// CHECK: transformer.attention
func.func @scores_scaled_twice(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 0.353553, all"}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %other = transformer.scale %s, 2.0 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m, %other : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// Two layers with a scale each, whose products were one: none is left.
// CHECK-LABEL: func.func @two_scales(
// CHECK-NOT: transformer.contract
// CHECK: transformer.attention {{.*}} scale = 5.000000e-01
// CHECK: transformer.attention {{.*}} scale = 2.500000e-01
func.func @two_scales(%x: tensor<?x3x8xf32>, %v: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x3x8xf32>, tensor<?x3x8xf32>) {
  // expected-remark @below {{3 heads of 8, scale 0.25, all"}}
  // expected-remark @below {{3 heads of 8, scale 0.5, all"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %y = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.25 : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %g = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %d = transformer.contract "thk,khd->thd" %g, %v in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c, %d : tensor<?x3x8xf32>, tensor<?x3x8xf32>
}

// Two masks on what was scaled once.
// CHECK-LABEL: func.func @two_masks(
// CHECK-NOT: transformer.contract
// CHECK: transformer.attention {{.*}} scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>
// CHECK: transformer.attention {{.*}} scale = 5.000000e-01 : f32, visibility = #transformer.visibility<all>
func.func @two_masks(%x: tensor<?x3x8xf32>, %v: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x3x8xf32>, tensor<?x3x8xf32>) {
  // expected-remark @below {{3 heads of 8, scale 0.5, all"}}
  // expected-remark @below {{3 heads of 8, scale 0.5, causal"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %m, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %g = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %d = transformer.contract "thk,khd->thd" %g, %v in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c, %d : tensor<?x3x8xf32>, tensor<?x3x8xf32>
}
