// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-apply-sharing="policy=cross:2" -verify-diagnostics

// What cross attention shares are sums of values head by head.
!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>
func.func @f(%q: !heads, %k: !heads, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32>, !heads) {
  %sa = transformer.contract "thd,khd->thk" %q, %k in(%rows, %memory) : !heads, !heads -> !scores
  // expected-error @below {{is to share its sum of values and sums over its heads too}}
  %pa = transformer.softmax %sa in(%memory) : !scores
  %ca = transformer.contract "thk,khd->td" %pa, %k in(%rows, %memory) : !scores, !heads -> tensor<?x8xf32>
  %sb = transformer.contract "thd,khd->thk" %k, %q in(%rows, %memory) : !heads, !heads -> !scores
  %pb = transformer.softmax %sb in(%memory) : !scores
  %cb = transformer.contract "thk,khd->thd" %pb, %q in(%rows, %memory) : !scores, !heads -> !heads
  return %ca, %cb : tensor<?x8xf32>, !heads
}
