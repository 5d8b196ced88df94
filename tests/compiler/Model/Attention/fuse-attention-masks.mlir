// SPDX-License-Identifier: Apache-2.0
// Masks, one function for each spelling. As whole programs: EndToEnd/spellings. Those of a finite
// number: fuse-attention-masks-finite.mlir.
// RUN: heddle-opt %s -transformer-fuse-attention | FileCheck %s

// The causal mask added, after the factor.
// CHECK-LABEL: func.func @mask_added(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<causal>}
// CHECK-NEXT: return %[[A]]
func.func @mask_added(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %bias = transformer.mask_bias %mask {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %y = transformer.add %z, %bias : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The mask added before the factor.
// CHECK-LABEL: func.func @mask_added_before_scale(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<causal>}
// CHECK-NEXT: return %[[A]]
func.func @mask_added_before_scale(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %bias = transformer.mask_bias %mask {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %y = transformer.add %s, %bias : tensor<?x3x?xf32>, tensor<?x?xf32>
  %z = transformer.scale %y, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The causal mask by selection.
// CHECK-LABEL: func.func @mask_selected(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<causal>}
// CHECK-NEXT: return %[[A]]
func.func @mask_selected(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %mask, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A mask of all keys selected, the causal one added: both hold.
// CHECK-LABEL: func.func @masks_combined(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<causal>}
// CHECK-NEXT: return %[[A]]
func.func @masks_combined(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %every = transformer.mask all in(%rows, %rows)
  %y = transformer.select %every, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %bias = transformer.mask_bias %mask {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %w = transformer.add %y, %bias : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %w in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}
