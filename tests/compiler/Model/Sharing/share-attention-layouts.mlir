// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-normalize-heads -transformer-fuse-attention -transformer-share-attention | FileCheck %s

// Heads before rows.
// CHECK-LABEL: func.func @heads_first(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
func.func @heads_first(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
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
  %qt = transformer.transpose %qhb [1, 0, 2] : tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kt = transformer.transpose %khb [1, 0, 2] : tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "htd,hkd->thk" %qt, %kt in(%rows, %rows) : tensor<3x?x8xf32>, tensor<3x?x8xf32> -> tensor<?x3x?xf32>
  %zb = transformer.scale %sb, 0.25 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// Heads split by the weights, which are the same numbers in another shape.
// CHECK-LABEL: func.func @heads_in_weights(
// CHECK: transformer.attention
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
transformer.parameter @q3 : tensor<3x8x24xf32> from "q3" {content = "q3"}
transformer.parameter @r3 : tensor<3x8x24xf32> from "r3" {content = "q3"}
func.func @heads_in_weights(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
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
  %w3 = transformer.weight @q3 : tensor<3x8x24xf32>
  %qhb = transformer.contract "tm,hdm->thd" %x, %w3 : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zb = transformer.scale %sb, 0.25 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %w4 = transformer.weight @r3 : tensor<3x8x24xf32>
  %qhc = transformer.contract "hdm,tm->thd" %w4, %x : tensor<3x8x24xf32>, tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sc = transformer.contract "thd,khd->thk" %qhc, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zc = transformer.scale %sc, 0.25 : tensor<?x3x?xf32>
  %pc = transformer.softmax %zc in(%rows) : tensor<?x3x?xf32>
  %cc = transformer.contract "thk,khd->thd" %pc, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oc = transformer.merge_heads %cc : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oc, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// The bias of the queries added to their map.
// CHECK-LABEL: func.func @bias_beside(
// CHECK: transformer.attention
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @q : tensor<24x24xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<24x24xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<24x24xf32> from "v" {content = "v"}
transformer.parameter @b : tensor<24xf32> from "b" {content = "b"}
transformer.parameter @b2 : tensor<24xf32> from "b2" {content = "b"}
func.func @bias_beside(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
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
  %q0 = transformer.linear %x, @q : tensor<?x24xf32> -> tensor<?x24xf32>
  %bw = transformer.weight @b : tensor<24xf32>
  %qb = transformer.add %q0, %bw : tensor<?x24xf32>, tensor<24xf32>
  %kb = transformer.linear %x, @k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zb = transformer.scale %sb, 0.25 : tensor<?x3x?xf32>
  %pb = transformer.softmax %zb in(%rows) : tensor<?x3x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qc = transformer.linear %x, @q, @b2 : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhc = transformer.split_heads %qc : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sc = transformer.contract "thd,khd->thk" %qhc, %khb in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %zc = transformer.scale %sc, 0.25 : tensor<?x3x?xf32>
  %pc = transformer.softmax %zc in(%rows) : tensor<?x3x?xf32>
  %cc = transformer.contract "thk,khd->thd" %pc, %vhb in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oc = transformer.merge_heads %cc : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oc, %ob : tensor<?x24xf32>, tensor<?x24xf32>
}
