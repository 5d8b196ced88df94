// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-eliminate-common --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @weight : tensor<24x24xf32> from "weight"

// CHECK-LABEL: func.func @same(
// CHECK: %[[L:.*]] = transformer.linear
// CHECK-NEXT: %[[A:.*]] = transformer.add %[[L]], %[[L]]
// CHECK-NEXT: return %[[A]]
func.func @same(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %a = transformer.linear %x, @weight : tensor<?x24xf32> -> tensor<?x24xf32>
  // expected-remark @below {{flops_per_token=1152, flops_per_token_and_key=0, weight_bytes=0, what=transformer.linear}}
  %b = transformer.linear %x, @weight : tensor<?x24xf32> -> tensor<?x24xf32>
  %c = transformer.add %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
  return %c : tensor<?x24xf32>
}

// CHECK-LABEL: func.func @masks(
// CHECK: transformer.mask causal
// CHECK-NOT: transformer.mask causal
// CHECK: transformer.mask all
func.func @masks(%rows: !transformer.segments) -> (tensor<?x?xi1>, tensor<?x?xi1>, tensor<?x?xi1>) {
  %a = transformer.mask causal in(%rows, %rows)
  // expected-remark @below {{transformer.mask}}
  %b = transformer.mask causal in(%rows, %rows)
  %c = transformer.mask all in(%rows, %rows)
  return %a, %b, %c : tensor<?x?xi1>, tensor<?x?xi1>, tensor<?x?xi1>
}
