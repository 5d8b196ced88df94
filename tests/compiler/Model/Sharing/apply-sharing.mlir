// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-apply-sharing="policy=encoder:1,2,self:2,cross:2,1" --remarks-filter=heddle -verify-diagnostics | FileCheck %s
// The oracle of the seed project has such a policy: its declared form has these operations too.

// Every kind is counted on its own, in the order of the program; the policy is on the module.
// CHECK: module attributes {transformer.sharing = "encoder:1,2,self:2,cross:2,1"}
transformer.parameter @we1q : tensor<24x24xf32> from "we1q"
transformer.parameter @we1k : tensor<24x24xf32> from "we1k"
transformer.parameter @we1v : tensor<24x24xf32> from "we1v"
transformer.parameter @we2q : tensor<24x24xf32> from "we2q"
transformer.parameter @we2k : tensor<24x24xf32> from "we2k"
transformer.parameter @we2v : tensor<24x24xf32> from "we2v"
transformer.parameter @we3q : tensor<24x24xf32> from "we3q"
transformer.parameter @we3k : tensor<24x24xf32> from "we3k"
transformer.parameter @we3v : tensor<24x24xf32> from "we3v"
transformer.parameter @ws1q : tensor<24x24xf32> from "ws1q"
transformer.parameter @ws1k : tensor<24x24xf32> from "ws1k"
transformer.parameter @ws1v : tensor<24x24xf32> from "ws1v"
transformer.parameter @ws2q : tensor<24x24xf32> from "ws2q"
transformer.parameter @ws2k : tensor<24x24xf32> from "ws2k"
transformer.parameter @ws2v : tensor<24x24xf32> from "ws2v"
transformer.parameter @wm1q : tensor<24x24xf32> from "wm1q"
transformer.parameter @wm1k : tensor<24x24xf32> from "wm1k"
transformer.parameter @wm1v : tensor<24x24xf32> from "wm1v"
transformer.parameter @wm2q : tensor<24x24xf32> from "wm2q"
transformer.parameter @wm2k : tensor<24x24xf32> from "wm2k"
transformer.parameter @wm2v : tensor<24x24xf32> from "wm2v"
transformer.parameter @wm3q : tensor<24x24xf32> from "wm3q"
transformer.parameter @wm3k : tensor<24x24xf32> from "wm3k"
transformer.parameter @wm3v : tensor<24x24xf32> from "wm3v"

// The third takes the probabilities of the second; its queries and keys are gone.
// CHECK-LABEL: func.func @encode(
// CHECK: %[[A:.*]] = transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[A]]
// CHECK: %[[B:.*]] = transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[B]]
// CHECK-NEXT: %[[O:.*]] = transformer.merge_heads
// CHECK-NEXT: %[[V:.*]] = transformer.linear %[[O]], @we3v
// CHECK-NEXT: %[[H:.*]] = transformer.split_heads %[[V]]
// CHECK-NEXT: transformer.contract "thk,khd->thd" %[[B]], %[[H]]
func.func @encode(%x: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qe1 = transformer.linear %x, @we1q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ke1 = transformer.linear %x, @we1k : tensor<?x24xf32> -> tensor<?x24xf32>
  %ve1 = transformer.linear %x, @we1v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhe1 = transformer.split_heads %qe1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khe1 = transformer.split_heads %ke1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhe1 = transformer.split_heads %ve1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %se1 = transformer.contract "thd,khd->thk" %qhe1, %khe1 in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pe1 = transformer.softmax %se1 in(%rows) : tensor<?x3x?xf32>
  %ce1 = transformer.contract "thk,khd->thd" %pe1, %vhe1 in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oe1 = transformer.merge_heads %ce1 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qe2 = transformer.linear %oe1, @we2q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ke2 = transformer.linear %oe1, @we2k : tensor<?x24xf32> -> tensor<?x24xf32>
  %ve2 = transformer.linear %oe1, @we2v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhe2 = transformer.split_heads %qe2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khe2 = transformer.split_heads %ke2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhe2 = transformer.split_heads %ve2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %se2 = transformer.contract "thd,khd->thk" %qhe2, %khe2 in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pe2 = transformer.softmax %se2 in(%rows) : tensor<?x3x?xf32>
  %ce2 = transformer.contract "thk,khd->thd" %pe2, %vhe2 in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oe2 = transformer.merge_heads %ce2 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qe3 = transformer.linear %oe2, @we3q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ke3 = transformer.linear %oe2, @we3k : tensor<?x24xf32> -> tensor<?x24xf32>
  %ve3 = transformer.linear %oe2, @we3v : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhe3 = transformer.split_heads %qe3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khe3 = transformer.split_heads %ke3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhe3 = transformer.split_heads %ve3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %se3 = transformer.contract "thd,khd->thk" %qhe3, %khe3 in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{flops_per_token=2304, flops_per_token_and_key=48, weight_bytes=0, what="shares the probabilities of}}
  %pe3 = transformer.softmax %se3 in(%rows) : tensor<?x3x?xf32>
  %ce3 = transformer.contract "thk,khd->thd" %pe3, %vhe3 in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %oe3 = transformer.merge_heads %ce3 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %oe3 : tensor<?x24xf32>
}

// The second self-attention appends its keys still, and reads its values alone; the second
// cross-attention is the first, with its axes in the order that its users had, and what asks for its
// probabilities has those.
// CHECK-LABEL: func.func @decode(
// CHECK: %[[S:.*]] = transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[S]]
// CHECK: %[[P:.*]] = transformer.softmax
// CHECK: %[[M:.*]] = transformer.contract "thk,khd->thd" %[[P]]
// CHECK: %[[Y:.*]] = transformer.merge_heads %[[M]]
// CHECK-NOT: @ws2q
// CHECK: transformer.linear %[[Y]], @ws2k
// CHECK-NOT: transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[S]]
// CHECK-NOT: @wm2q
// CHECK: %[[T:.*]] = transformer.transpose %[[M]] [1, 0, 2]
// CHECK-NEXT: %[[U:.*]] = transformer.transpose %[[T]] [1, 0, 2]
// CHECK-NEXT: transformer.merge_heads %[[U]]
// CHECK: transformer.softmax
// CHECK: return %{{.*}}, %[[P]],
func.func @decode(%x: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %cs1k: !transformer.cache<24> {transformer.name = "s1.k"}, %cs1v: !transformer.cache<24> {transformer.name = "s1.v"}, %cs2k: !transformer.cache<24> {transformer.name = "s2.k"}, %cs2v: !transformer.cache<24> {transformer.name = "s2.v"}, %cm1k: !transformer.cache<24> {transformer.name = "m1.k"}, %cm1v: !transformer.cache<24> {transformer.name = "m1.v"}, %cm2k: !transformer.cache<24> {transformer.name = "m2.k"}, %cm2v: !transformer.cache<24> {transformer.name = "m2.v"}, %cm3k: !transformer.cache<24> {transformer.name = "m3.k"}, %cm3v: !transformer.cache<24> {transformer.name = "m3.v"}) -> (tensor<?x24xf32> {transformer.name = "out"}, tensor<?x3x?xf32> {transformer.name = "attention"}, !transformer.cache<24> {transformer.name = "s1.k"}, !transformer.cache<24> {transformer.name = "s1.v"}, !transformer.cache<24> {transformer.name = "s2.k"}, !transformer.cache<24> {transformer.name = "s2.v"}) {
  %seen = transformer.history %rows
  %qs1 = transformer.linear %x, @ws1q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ks1 = transformer.linear %x, @ws1k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vs1 = transformer.linear %x, @ws1v : tensor<?x24xf32> -> tensor<?x24xf32>
  %kas1 = transformer.append %cs1k, %ks1 in(%rows) : !transformer.cache<24>
  %kcs1 = transformer.cached %kas1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %vas1 = transformer.append %cs1v, %vs1 in(%rows) : !transformer.cache<24>
  %vcs1 = transformer.cached %vas1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %qhs1 = transformer.split_heads %qs1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs1 = transformer.split_heads %kcs1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhs1 = transformer.split_heads %vcs1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ss1 = transformer.contract "thd,khd->thk" %qhs1, %khs1 in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %ps1 = transformer.softmax %ss1 in(%seen) : tensor<?x3x?xf32>
  %cs1 = transformer.contract "thk,khd->thd" %ps1, %vhs1 in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %os1 = transformer.merge_heads %cs1 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qm1 = transformer.linear %os1, @wm1q : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhm1 = transformer.split_heads %qm1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kcm1 = transformer.cached %cm1k in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %khm1 = transformer.split_heads %kcm1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vcm1 = transformer.cached %cm1v in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %vhm1 = transformer.split_heads %vcm1 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sm1 = transformer.contract "thd,khd->thk" %qhm1, %khm1 in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pm1 = transformer.softmax %sm1 in(%memory) : tensor<?x3x?xf32>
  %cm1 = transformer.contract "thk,khd->thd" %pm1, %vhm1 in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %om1 = transformer.merge_heads %cm1 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qs2 = transformer.linear %om1, @ws2q : tensor<?x24xf32> -> tensor<?x24xf32>
  %ks2 = transformer.linear %om1, @ws2k : tensor<?x24xf32> -> tensor<?x24xf32>
  %vs2 = transformer.linear %om1, @ws2v : tensor<?x24xf32> -> tensor<?x24xf32>
  %kas2 = transformer.append %cs2k, %ks2 in(%rows) : !transformer.cache<24>
  %kcs2 = transformer.cached %kas2 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %vas2 = transformer.append %cs2v, %vs2 in(%rows) : !transformer.cache<24>
  %vcs2 = transformer.cached %vas2 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %qhs2 = transformer.split_heads %qs2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %khs2 = transformer.split_heads %kcs2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vhs2 = transformer.split_heads %vcs2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ss2 = transformer.contract "thd,khd->thk" %qhs2, %khs2 in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{flops_per_token=1152, flops_per_token_and_key=48, weight_bytes=0, what="shares the probabilities of}}
  %ps2 = transformer.softmax %ss2 in(%seen) : tensor<?x3x?xf32>
  %cs2 = transformer.contract "thk,khd->thd" %ps2, %vhs2 in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %os2 = transformer.merge_heads %cs2 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %qm2 = transformer.linear %os2, @wm2q : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhm2 = transformer.split_heads %qm2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kcm2 = transformer.cached %cm2k in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %khm2 = transformer.split_heads %kcm2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vcm2 = transformer.cached %cm2v in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %vhm2 = transformer.split_heads %vcm2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sm2 = transformer.contract "thd,khd->thk" %qhm2, %khm2 in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{flops_per_token=1152, flops_per_token_and_key=96, weight_bytes=0, what="shares the context of}}
  %pm2 = transformer.softmax %sm2 in(%memory) : tensor<?x3x?xf32>
  %cm2 = transformer.contract "thk,khd->htd" %pm2, %vhm2 in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<3x?x8xf32>
  %ctm2 = transformer.transpose %cm2 [1, 0, 2] : tensor<3x?x8xf32> -> tensor<?x3x8xf32>
  %om2 = transformer.merge_heads %ctm2 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %r = transformer.add %om2, %os2 : tensor<?x24xf32>, tensor<?x24xf32>
  %qm3 = transformer.linear %r, @wm3q : tensor<?x24xf32> -> tensor<?x24xf32>
  %qhm3 = transformer.split_heads %qm3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kcm3 = transformer.cached %cm3k in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %khm3 = transformer.split_heads %kcm3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vcm3 = transformer.cached %cm3v in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %vhm3 = transformer.split_heads %vcm3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sm3 = transformer.contract "thd,khd->thk" %qhm3, %khm3 in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %pm3 = transformer.softmax %sm3 in(%memory) : tensor<?x3x?xf32>
  %cm3 = transformer.contract "thk,khd->thd" %pm3, %vhm3 in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %om3 = transformer.merge_heads %cm3 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %om3, %pm2, %kas1, %vas1, %kas2, %vas2 : tensor<?x24xf32>, tensor<?x3x?xf32>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>
}
