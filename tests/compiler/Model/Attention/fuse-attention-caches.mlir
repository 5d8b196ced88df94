// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// Keys and values from caches: those of earlier positions and these.
// CHECK-LABEL: func.func @self(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]: !transformer.segments
// CHECK: %[[S:.*]] = transformer.history %[[R]]
// CHECK: %[[K:.*]] = transformer.cached {{.*}} in(%[[S]])
// CHECK: %[[V:.*]] = transformer.cached {{.*}} in(%[[S]])
// CHECK: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[S]]) {heads = 3 : i64, scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>}
// CHECK: return %[[A]]
func.func @self(%q: tensor<?x24xf32>, %rows: !transformer.segments, %kc: !transformer.cache<24>, %vc: !transformer.cache<24>) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %k = transformer.cached %kc in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 0.5, causal}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %seen)
  %h = transformer.select %m, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%seen) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %r = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %r : tensor<?x24xf32>
}

// The probabilities are a result too: they are computed beside.
// CHECK-LABEL: func.func @cross(
// CHECK-NOT: transformer.softmax
// CHECK: %[[A:.*]] = transformer.attention %[[Q:[^,]*]], %[[K:[^,]*]], {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(
// CHECK: return %[[A]], %[[P]]
func.func @cross(%q: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments, %kc: !transformer.cache<24>, %vc: !transformer.cache<24>) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %k = transformer.cached %kc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%memory) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %r = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %r, %p : tensor<?x24xf32>, tensor<?x3x?xf32>
}
