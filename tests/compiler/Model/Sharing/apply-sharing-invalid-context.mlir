// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-apply-sharing="policy=self:2,cross:2" -verify-diagnostics

// Values of another size.
transformer.parameter @wsq : tensor<24x24xf32> from "wsq"
transformer.parameter @wsk : tensor<24x24xf32> from "wsk"
transformer.parameter @wsv : tensor<24x24xf32> from "wsv"
transformer.parameter @wtq : tensor<24x24xf32> from "wtq"
transformer.parameter @wtk : tensor<24x24xf32> from "wtk"
transformer.parameter @wtv : tensor<24x24xf32> from "wtv"
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
transformer.parameter @wbq : tensor<24x24xf32> from "wbq"
transformer.parameter @wbk : tensor<24x24xf32> from "wbk"
transformer.parameter @wbv : tensor<12x24xf32> from "wbv"
func.func @f(%x: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %qs = transformer.linear %x, @wsq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ks = transformer.linear %x, @wsk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vs = transformer.linear %x, @wsv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhs = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs = transformer.split_heads %ks : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhs = transformer.split_heads %vs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ss = transformer.contract "thd,khd->thk" %qhs, %khs in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %ps = transformer.softmax %ss in(%seen) : tensor<?x3x?xf32>
  %cs = transformer.contract "thk,khd->thd" %ps, %vhs in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %os = transformer.merge_heads %cs : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qt = transformer.linear %os, @wtq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kt = transformer.linear %os, @wtk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vt = transformer.linear %os, @wtv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qht = transformer.split_heads %qt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kht = transformer.split_heads %kt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vht = transformer.split_heads %vt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %st = transformer.contract "thd,khd->thk" %qht, %kht in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pt = transformer.softmax %st in(%seen) : tensor<?x3x?xf32>
  %ct = transformer.contract "thk,khd->thd" %pt, %vht in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ot = transformer.merge_heads %ct : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%memory) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @wbq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @wbk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @wbv : tensor<?x24xf32> -> tensor<?x12xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pb = transformer.softmax %sb in(%memory) : tensor<?x3x?xf32>
  // expected-error @below {{has values of 4 a head, expected 8 as}}
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x4xf32> -> tensor<?x3x4xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x4xf32> -> tensor<?x12xf32>
  return %oa : tensor<?x24xf32>
}

// -----

// Sums of values in another order than the softmaxes.
transformer.parameter @wsq : tensor<24x24xf32> from "wsq"
transformer.parameter @wsk : tensor<24x24xf32> from "wsk"
transformer.parameter @wsv : tensor<24x24xf32> from "wsv"
transformer.parameter @wtq : tensor<24x24xf32> from "wtq"
transformer.parameter @wtk : tensor<24x24xf32> from "wtk"
transformer.parameter @wtv : tensor<24x24xf32> from "wtv"
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
transformer.parameter @wbq : tensor<24x24xf32> from "wbq"
transformer.parameter @wbk : tensor<24x24xf32> from "wbk"
transformer.parameter @wbv : tensor<24x24xf32> from "wbv"
func.func @f(%x: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %qs = transformer.linear %x, @wsq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ks = transformer.linear %x, @wsk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vs = transformer.linear %x, @wsv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhs = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs = transformer.split_heads %ks : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhs = transformer.split_heads %vs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ss = transformer.contract "thd,khd->thk" %qhs, %khs in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %ps = transformer.softmax %ss in(%seen) : tensor<?x3x?xf32>
  %cs = transformer.contract "thk,khd->thd" %ps, %vhs in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %os = transformer.merge_heads %cs : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qt = transformer.linear %os, @wtq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kt = transformer.linear %os, @wtk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vt = transformer.linear %os, @wtv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qht = transformer.split_heads %qt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kht = transformer.split_heads %kt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vht = transformer.split_heads %vt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %st = transformer.contract "thd,khd->thk" %qht, %kht in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pt = transformer.softmax %st in(%seen) : tensor<?x3x?xf32>
  %ct = transformer.contract "thk,khd->thd" %pt, %vht in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ot = transformer.merge_heads %ct : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%memory) : tensor<?x3x?xf32>
  %qb = transformer.linear %x, @wbq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @wbk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @wbv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pb = transformer.softmax %sb in(%memory) : tensor<?x3x?xf32>
  // expected-error @below {{sums its values before}}
  %cb = transformer.contract "thk,khd->thd" %pb, %vhb in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ob = transformer.merge_heads %cb : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oa : tensor<?x24xf32>
}

// -----

// A softmax whose sum of values is none.
transformer.parameter @wsq : tensor<24x24xf32> from "wsq"
transformer.parameter @wsk : tensor<24x24xf32> from "wsk"
transformer.parameter @wsv : tensor<24x24xf32> from "wsv"
transformer.parameter @wtq : tensor<24x24xf32> from "wtq"
transformer.parameter @wtk : tensor<24x24xf32> from "wtk"
transformer.parameter @wtv : tensor<24x24xf32> from "wtv"
transformer.parameter @waq : tensor<24x24xf32> from "waq"
transformer.parameter @wak : tensor<24x24xf32> from "wak"
transformer.parameter @wav : tensor<24x24xf32> from "wav"
transformer.parameter @wbq : tensor<24x24xf32> from "wbq"
transformer.parameter @wbk : tensor<24x24xf32> from "wbk"
transformer.parameter @wbv : tensor<24x24xf32> from "wbv"
func.func @f(%x: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}) -> tensor<?x24xf32> {
  %seen = transformer.history %rows
  %qs = transformer.linear %x, @wsq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ks = transformer.linear %x, @wsk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vs = transformer.linear %x, @wsv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhs = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs = transformer.split_heads %ks : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhs = transformer.split_heads %vs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ss = transformer.contract "thd,khd->thk" %qhs, %khs in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %ps = transformer.softmax %ss in(%seen) : tensor<?x3x?xf32>
  %cs = transformer.contract "thk,khd->thd" %ps, %vhs in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %os = transformer.merge_heads %cs : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qt = transformer.linear %os, @wtq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kt = transformer.linear %os, @wtk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vt = transformer.linear %os, @wtv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qht = transformer.split_heads %qt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kht = transformer.split_heads %kt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vht = transformer.split_heads %vt : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %st = transformer.contract "thd,khd->thk" %qht, %kht in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pt = transformer.softmax %st in(%seen) : tensor<?x3x?xf32>
  %ct = transformer.contract "thk,khd->thd" %pt, %vht in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ot = transformer.merge_heads %ct : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qa = transformer.linear %x, @waq : tensor<?x24xf32> -> tensor<?x24xf32>
  %ka = transformer.linear %x, @wak : tensor<?x24xf32> -> tensor<?x24xf32>
  %va = transformer.linear %x, @wav : tensor<?x24xf32> -> tensor<?x24xf32>
  %qha = transformer.split_heads %qa : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kha = transformer.split_heads %ka : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vha = transformer.split_heads %va : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sa = transformer.contract "thd,khd->thk" %qha, %kha in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pa = transformer.softmax %sa in(%memory) : tensor<?x3x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %vha in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oa = transformer.merge_heads %ca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qb = transformer.linear %x, @wbq : tensor<?x24xf32> -> tensor<?x24xf32>
  %kb = transformer.linear %x, @wbk : tensor<?x24xf32> -> tensor<?x24xf32>
  %vb = transformer.linear %x, @wbv : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhb = transformer.split_heads %qb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khb = transformer.split_heads %kb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhb = transformer.split_heads %vb : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sb = transformer.contract "thd,khd->thk" %qhb, %khb in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-error @below {{is to share its attention and is not the softmax of one: the probabilities are not contracted with values (transformer.activate)}}
  %pb = transformer.softmax %sb in(%memory) : tensor<?x3x?xf32>
  %y = transformer.activate relu %pb : tensor<?x3x?xf32>
  %z = transformer.contract "thk,khd->thd" %y, %vhb in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %oa : tensor<?x24xf32>
}
