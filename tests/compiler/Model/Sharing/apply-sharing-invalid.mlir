// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-apply-sharing="policy=self:2,cross:2" -verify-diagnostics

// Sizes that do not sum to the layers there are.
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
// expected-error @below {{self:2 covers 2 layers, but entry 'sum' has 1 that computes its own self attention}}
func.func @sum(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%seen) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa : tensor<?x24xf32>
}

// -----

// No attention of a kind.
// expected-error @below {{self:2 covers 2 layers, but no entry has self attention}}
module {
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
func.func @none(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%rows) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa : tensor<?x24xf32>
}
}

// -----

// Other heads.
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
transformer.parameter @wbq : tensor<24x24xf32> from "wbq"
transformer.parameter @wbk : tensor<24x24xf32> from "wbk"
transformer.parameter @wbv : tensor<24x24xf32> from "wbv"
func.func @heads(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%seen) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %oa, @wbq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %oa, @wbk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %oa, @wbv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %seen) : tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x?xf32>
  // expected-error @below {{has 2 heads, expected 3 as}}
  %pb = transformer.softmax %sb in(%seen) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %seen) : tensor<?x2x?xf32>, tensor<?x2x12xf32> -> tensor<?x2x12xf32>
  %ob = transformer.merge_heads %cb : tensor<?x2x12xf32> -> tensor<?x24xf32>
  return %ob : tensor<?x24xf32>
}
