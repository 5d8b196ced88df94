// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-normalize-heads -transformer-fuse-attention -transformer-share-attention | FileCheck %s

// The scale on the queries.
// CHECK-LABEL: func.func @scale_on_queries(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @scale_on_queries(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qs = transformer.scale %qb, 0.25 : tensor<?x24xf32>
  %qhb = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pb = transformer.softmax %sb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// The scale on split keys.
// CHECK-LABEL: func.func @scale_on_keys(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @scale_on_keys(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs = transformer.scale %khb, 0.25 : tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khs in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pb = transformer.softmax %sb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// Half of it on either side.
// CHECK-LABEL: func.func @scale_on_both(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @scale_on_both(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qs = transformer.scale %qb, 0.5 : tensor<?x24xf32>
  %ks = transformer.scale %kb, 0.5 : tensor<?x24xf32>
  %qhb = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %ks : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pb = transformer.softmax %sb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// In two factors, one on the scores.
// CHECK-LABEL: func.func @scale_in_parts(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @scale_in_parts(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qs = transformer.scale %qb, 0.125 : tensor<?x24xf32>
  %qhb = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zb = transformer.scale %sb, 2.0 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// Keys on the left, axes by other letters.
// CHECK-LABEL: func.func @operands_swapped(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @operands_swapped(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "kae,tae->tak" %khb, %qhb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zb = transformer.scale %sb, 0.25 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// A mask that is added, on scores that are scaled later.
// CHECK-LABEL: func.func @mask_added(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @mask_added(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %za = transformer.scale %sa, 0.25 : tensor<?x3x?xf32>
  %ma = transformer.mask causal in(%rows, %rows)
  %wa = transformer.select %ma, %za {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %pa = transformer.softmax %wa in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mb = transformer.mask causal in(%rows, %rows)
  %bb = transformer.mask_bias %mb {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %ab = transformer.add %sb, %bb : tensor<?x3x?xf32>, tensor<?x?xf32>
  %zb = transformer.scale %ab, 0.25 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}
