// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-apply-sharing="policy=encoder:2" -verify-diagnostics

// The second layer must not see later rows.
func.func @masks(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %va: tensor<?x2x4xf32>, %vb: tensor<?x2x4xf32>,
                 %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %sa = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %pa = transformer.softmax %sa in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %va in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %sb = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %zb = transformer.select %m, %sb {hidden = 0xFF800000 : f32} : tensor<?x2x?xf32>
  // expected-error @below {{has another mask or another bias by distance than}}
  %pb = transformer.softmax %zb in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vb in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}

// -----

// Scores that two softmaxes read are not those of one attention.
func.func @scores(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x4xf32>,
                  %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-error @below {{is to share its attention and is not the softmax of one: the scores have a second user (transformer.softmax)}}
  %pa = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %pb = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}
