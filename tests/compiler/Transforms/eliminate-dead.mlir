// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-eliminate-dead --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// CHECK: transformer.parameter @query
// CHECK-NEXT: transformer.parameter @key
// CHECK-NEXT: transformer.parameter @both
transformer.parameter @query : tensor<24x24xf32> from "query"
transformer.parameter @key : tensor<24x24xf32> from "key"
// Needed by an expression that is needed: the two above. The one below is not.
transformer.parameter @both : tensor<48x24xf32> = concat(@query, @key)
// expected-remark @below {{weight_bytes=2304, what=@pooler,}}
transformer.parameter @pooler : tensor<24x24xf32> from "pooler"
// expected-remark @below {{@pooler.turned}}
transformer.parameter @pooler.turned : tensor<24x24xf32> = transpose(@pooler)

// CHECK-LABEL: func.func @encode(
// CHECK-NEXT: transformer.linear
// CHECK-NEXT: return
func.func @encode(%x: tensor<?x24xf32>) -> tensor<?x48xf32> {
  %a = transformer.linear %x, @both : tensor<?x24xf32> -> tensor<?x48xf32>
  // expected-remark @below {{flops_per_token=1152, weight_bytes=0, what=transformer.linear}}
  %b = transformer.linear %x, @pooler : tensor<?x24xf32> -> tensor<?x24xf32>
  // Dead, and with it what it alone uses.
  // expected-remark @below {{transformer.activate}}
  %c = transformer.activate tanh %b : tensor<?x24xf32>
  return %a : tensor<?x48xf32>
}
