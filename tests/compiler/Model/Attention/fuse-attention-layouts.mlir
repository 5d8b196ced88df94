// SPDX-License-Identifier: Apache-2.0
// Orders of axes and operands, one function for each spelling. As whole programs: EndToEnd/spellings.
// RUN: heddle-opt %s -transformer-fuse-attention | FileCheck %s

// Keys transposed before the product, as a matrix library wants them.
// CHECK-LABEL: func.func @keys_transposed(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @keys_transposed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x3x8xf32> -> tensor<3x8x?xf32>
  %s = transformer.contract "thd,hdk->thk" %qh, %kt in(%rows, %rows) : tensor<?x3x8xf32>, tensor<3x8x?xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Keys on the left of the first product, values on the left of the second.
// CHECK-LABEL: func.func @operands_swapped(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @operands_swapped(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "khd,thd->thk" %kh, %qh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "khd,thk->thd" %vh, %p in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x?xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Heads as the outer axis of every product: batched matrices.
// CHECK-LABEL: func.func @heads_first(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @heads_first(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %qt = transformer.transpose %qh [1, 0, 2] : tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %kt = transformer.transpose %kh [1, 0, 2] : tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %vt = transformer.transpose %vh [1, 0, 2] : tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %s = transformer.contract "htd,hkd->htk" %qt, %kt in(%rows, %rows) : tensor<3x?x8xf32>, tensor<3x?x8xf32> -> tensor<3x?x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<3x?x?xf32>
  %y = transformer.transpose %z [1, 0, 2] : tensor<3x?x?xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %pt = transformer.transpose %p [1, 0, 2] : tensor<?x3x?xf32> -> tensor<3x?x?xf32>
  %ct = transformer.contract "htk,hkd->htd" %pt, %vt in(%rows, %rows) : tensor<3x?x?xf32>, tensor<3x?x8xf32> -> tensor<3x?x8xf32>
  %c = transformer.transpose %ct [1, 0, 2] : tensor<3x?x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The products' results in other orders, transposed back.
// CHECK-LABEL: func.func @output_order(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @output_order(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->kht" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %y = transformer.transpose %s [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %y, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %ct = transformer.contract "thk,khd->dth" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<8x?x3xf32>
  %c = transformer.transpose %ct [1, 2, 0] : tensor<8x?x3xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Other letters for heads and sizes.
// CHECK-LABEL: func.func @letters_renamed(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @letters_renamed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "tnx,knx->tnk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "tak,kaw->taw" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Heads of another origin than a split of rows: their layout is made first.
// CHECK-LABEL: func.func @heads_of_another_origin(
// CHECK-SAME: %[[H:[a-z0-9]+]]: tensor<3x?x8xf32>, %[[R:[a-z0-9]+]]:
// CHECK: %[[T:.*]] = transformer.transpose %[[H]] [1, 0, 2]
// CHECK: %[[Q:.*]] = transformer.merge_heads %[[T]]
// CHECK: %[[A:.*]] = transformer.attention %[[Q]], %{{.*}}, %{{.*}} in(%[[R]], %[[R]])
// CHECK: %[[S:.*]] = transformer.split_heads %[[A]]
// CHECK: return %[[S]]
func.func @heads_of_another_origin(%h: tensor<3x?x8xf32>,
    %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %s = transformer.contract "htd,hkd->thk" %h, %h in(%rows, %rows) : tensor<3x?x8xf32>, tensor<3x?x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,hkd->thd" %p, %h in(%rows, %rows) : tensor<?x3x?xf32>, tensor<3x?x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Queries of one batch, keys of another, values of another size than keys.
// CHECK-LABEL: func.func @across(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: {{.*}}, %[[M:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x12xf32>, %[[R:[a-z0-9]+]]: !transformer.segments, %[[S:[a-z0-9]+]]:
// CHECK: transformer.attention %[[Q]], %[[M]], %[[V]] in(%[[R]], %[[S]]) {heads = 3 : i64, {{.*}}} : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
func.func @across(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x12xf32>,
    %rows: !transformer.segments, %source: !transformer.segments) -> tensor<?x12xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %source) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%source) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khe->the" %p, %vh in(%rows, %source) : tensor<?x3x?xf32>, tensor<?x3x4xf32> -> tensor<?x3x4xf32>
  %m = transformer.merge_heads %c : tensor<?x3x4xf32> -> tensor<?x12xf32>
  return %m : tensor<?x12xf32>
}
