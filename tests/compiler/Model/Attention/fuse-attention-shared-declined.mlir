// SPDX-License-Identifier: Apache-2.0
// Shared probabilities that no kernel can give: they stay as they are.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.attention

// CHECK-LABEL: func.func @infinite(
// CHECK: %[[P:.*]] = transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[P]]
// CHECK: transformer.attend
func.func @infinite(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the product of the factors is not finite in f32}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %x = transformer.scale %p, 1.0e+30 : tensor<?x3x?xf32>
  %y = transformer.scale %x, 1.0e+30 : tensor<?x3x?xf32>
  // expected-remark @below {{3 heads of weights that no softmax gives, values of 8}}
  %d = transformer.contract "thk,khd->thd" %y, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// One cache cannot be the keys and the values of another layer.
// CHECK-LABEL: func.func @keys_as_values(
// CHECK-NOT: transformer.attend
func.func @keys_as_values(%q: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments,
    %kc: !transformer.cache<24> {transformer.name = "c"}, %vc: !transformer.cache<24> {transformer.name = "d"}) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %k = transformer.cached %kc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: cache "c" is read as keys and as values}}
  %p = transformer.softmax %s in(%memory) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %d = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}
