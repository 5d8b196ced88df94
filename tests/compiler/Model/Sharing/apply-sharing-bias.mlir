// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-apply-sharing="policy=self:2" --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @distances : tensor<3x9xf32> from "distances"

// The bias by distance of both layers is that of a history of its own, as a family writes it that
// computes it once for all layers, and so are the layers.
// CHECK-LABEL: func.func @decode(
// CHECK: %[[P:.*]] = transformer.softmax
// CHECK-NEXT: transformer.contract "thk,khd->thd" %[[P]]
// CHECK-NOT: transformer.softmax
// CHECK: transformer.contract "thk,khd->thd" %[[P]]
func.func @decode(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %seen = transformer.history %rows
  %b = transformer.relative_bias @distances in(%rows, %seen) : tensor<?x3x?xf32>
  %seen1 = transformer.history %rows
  %s1 = transformer.contract "thd,khd->thk" %x, %x in(%rows, %seen1) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %a1 = transformer.add %s1, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %p1 = transformer.softmax %a1 in(%seen1) : tensor<?x3x?xf32>
  %c1 = transformer.contract "thk,khd->thd" %p1, %x in(%rows, %seen1) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %seen2 = transformer.history %rows
  %s2 = transformer.contract "thd,khd->thk" %c1, %c1 in(%rows, %seen2) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %a2 = transformer.add %s2, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  // expected-remark @below {{what="shares the probabilities of}}
  %p2 = transformer.softmax %a2 in(%seen2) : tensor<?x3x?xf32>
  %c2 = transformer.contract "thk,khd->thd" %p2, %c1 in(%rows, %seen2) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c2 : tensor<?x3x8xf32>
}
