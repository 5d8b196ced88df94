// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-apply-sharing="policy=cross:2" -verify-diagnostics

// Two memories: a policy changes weights, not what is looked at.
func.func @memories(%q: tensor<?x2x4xf32>, %ka: tensor<?x2x4xf32>, %kb: tensor<?x2x4xf32>, %va: tensor<?x2x4xf32>, %vb: tensor<?x2x4xf32>,
                    %rows: !transformer.segments, %ma: !transformer.segments, %mb: !transformer.segments) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %sa = transformer.contract "thd,khd->thk" %q, %ka in(%rows, %ma) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %pa = transformer.softmax %sa in(%ma) : tensor<?x2x?xf32>
  %ca = transformer.contract "thk,khd->thd" %pa, %va in(%rows, %ma) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %sb = transformer.contract "thd,khd->thk" %q, %kb in(%rows, %mb) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-error @below {{is over other keys than}}
  %pb = transformer.softmax %sb in(%mb) : tensor<?x2x?xf32>
  %cb = transformer.contract "thk,khd->thd" %pb, %vb in(%rows, %mb) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %ca, %cb : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}
