// SPDX-License-Identifier: Apache-2.0
// What exporters write of scaled_dot_product_attention: keys that a row does not see have a score of
// minus infinity, and probabilities that are no numbers become zero. Every row sees a key, so the
// guard does nothing.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.softmax

!rows = tensor<?x24xf32>
!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>

// CHECK-LABEL: func.func @guarded(
// CHECK-NOT: nan_to_zero
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} :
// CHECK-NOT: nan_to_zero
func.func @guarded(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 0.125, causal}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z = transformer.scale %s, 1.25e-01 : !scores
  %m = transformer.mask causal in(%rows, %rows)
  %h = transformer.select %m, %z {hidden = 0xFF800000 : f32} : !scores
  %p = transformer.softmax %h in(%rows) : !scores
  %g = transformer.activate nan_to_zero %p : !scores
  %c = transformer.contract "thk,khd->thd" %g, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %y = transformer.merge_heads %c : !heads -> !rows
  return %y : !rows
}

// Probabilities that are a result keep it.
// CHECK-LABEL: func.func @observed(
// CHECK: %[[W:.*]] = transformer.attention_weights
// CHECK: transformer.activate nan_to_zero %[[W]]
func.func @observed(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> (!rows, !scores) {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %g = transformer.activate nan_to_zero %p : !scores
  %c = transformer.contract "thk,khd->thd" %g, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %y = transformer.merge_heads %c : !heads -> !rows
  return %y, %g : !rows, !scores
}

// A number added between functions of the scores is a step of theirs.
// CHECK-LABEL: func.func @shifted(
// CHECK: transformer.attention {{.*}}score = #transformer.score<tanh(s0), add(s1, 2.000000e+00), multiply(s2, s2)>
func.func @shifted(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, score tanh(s0), add(s1, 2), multiply(s2, s2)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate tanh %s : !scores
  %a = transformer.shift %t, 2.0 : !scores
  %b = transformer.multiply %a, %a : !scores
  %p = transformer.softmax %b in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %y = transformer.merge_heads %c : !heads -> !rows
  return %y : !rows
}
