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

func.func @scores(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x4xf32>,
                  %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %t = transformer.contract "thd,khd->thk" %k, %q in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %z = transformer.multiply %s, %t : tensor<?x2x?xf32>
  // expected-error @below {{is to share its attention and is not the softmax of one: the scores are not a contraction of queries and keys (transformer.multiply)}}
  %pa = transformer.softmax %z in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %pb = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}

// -----

func.func @function_of_scores(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x4xf32>,
                  %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %z = transformer.activate tanh %s : tensor<?x2x?xf32>
  %pa = transformer.softmax %z in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  // expected-error @below {{has another function of its scores than}}
  %pb = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}

// -----

// Weights of the first layer would be read in place of those of the second.
func.func @read(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x4xf32>,
                %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x?xf32>) {
  %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %pa = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %t = transformer.contract "thd,khd->thk" %q, %v in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-error @below {{is to share its attention and is not the softmax of one: the probabilities are not contracted with values (transformer.activate)}}
  %pb = transformer.softmax %t in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %r = transformer.activate tanh %pb : tensor<?x2x?xf32>
  return %ca, %cb, %r : tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x?xf32>
}

// -----

// The mask of the second layer leaves hidden keys a score.
func.func @finite(%q: tensor<?x2x4xf32>, %k: tensor<?x2x4xf32>, %v: tensor<?x2x4xf32>,
                  %rows: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %za = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x2x?xf32>
  %pa = transformer.softmax %za in(%rows) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %zb = transformer.select %m, %s {hidden = -1.0e4 : f32} : tensor<?x2x?xf32>
  // expected-error @below {{has another mask or another bias by distance than}}
  %pb = transformer.softmax %zb in(%rows) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %v in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}
