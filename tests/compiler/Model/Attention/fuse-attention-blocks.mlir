// SPDX-License-Identifier: Apache-2.0
// Attention of rows to keys that are blocks of rows, and of blocks to blocks. Two operations that give
// blocks of as many of the same rows give the same.
// RUN: heddle-opt %s -transformer-fuse-attention | FileCheck %s --implicit-check-not=transformer.softmax

// CHECK-LABEL: func.func @compressed(
// CHECK: %[[PAIRS:.*]] = transformer.blocks %[[ROWS:.*]], 2
// CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} in(%[[ROWS]], %[[PAIRS]]) {heads = 3 : i64, {{.*}}visibility = #transformer.visibility<all>}
func.func @compressed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %pairs = transformer.blocks %rows, 2
  %again = transformer.blocks %rows, 2
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %pairs) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%again) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %again) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// CHECK-LABEL: func.func @among_blocks(
// CHECK: %[[FOURS:.*]] = transformer.blocks
// CHECK: transformer.attention %{{.*}} in(%[[FOURS]], %[[FOURS]]) {{.*}}visibility = #transformer.visibility<causal>
func.func @among_blocks(%q: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %fours = transformer.blocks %rows, 4
  %pairs = transformer.blocks %rows, 2
  %again = transformer.blocks %pairs, 2
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%fours, %fours) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%again, %fours)
  %z = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%again) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %qh in(%fours, %again) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %o = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %o : tensor<?x24xf32>
}
