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
  // expected-remark @below {{flops_per_token=1152, flops_per_token_and_key=0, weight_bytes=0, what=transformer.linear}}
  %b = transformer.linear %x, @pooler : tensor<?x24xf32> -> tensor<?x24xf32>
  // Dead, and with it what it alone uses.
  // expected-remark @below {{transformer.activate}}
  %c = transformer.activate tanh %b : tensor<?x24xf32>
  return %a : tensor<?x48xf32>
}

// A cache that was appended to is a result; one that is neither read nor appended to goes.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[R:[a-z0-9]+]]: !transformer.segments, %[[K:[a-z0-9]+]]: !transformer.cache<24>) ->
// CHECK-NEXT: transformer.append %[[K]]
// CHECK-NEXT: return
// expected-remark @+3 {{a cache of @decode}}
func.func @decode(%x: tensor<?x24xf32>, %rows: !transformer.segments,
                  %key: !transformer.cache<24>,
                  %value: !transformer.cache<24> {transformer.name = "value"})
    -> !transformer.cache<24> {
  %a = transformer.append %key, %x in(%rows) : !transformer.cache<24>
  return %a : !transformer.cache<24>
}

// So it is with states; what is accumulated and not read goes with its result.
// CHECK-LABEL: func.func @states(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !transformer.state<24> {transformer.name = "sum"}) -> (tensor<?x24xf32>, !transformer.state<24>) {
// CHECK-NEXT: transformer.prefix_mean %{{[a-z0-9]+}}, %[[S]]
// CHECK-NEXT: transformer.accumulate %[[S]]
// CHECK-NEXT: return
func.func @states(%x: tensor<?x24xf32>, %rows: !transformer.segments,
                  %sum: !transformer.state<24> {transformer.name = "sum"},
                  // expected-remark @below {{a state of @states}}
                  %other: !transformer.state<24> {transformer.name = "other"},
                  // expected-remark @below {{state "unread" of @states, which no entry reads}}
                  %unread: !transformer.state<24> {transformer.name = "unread"})
    -> (tensor<?x24xf32>, !transformer.state<24>, !transformer.state<24>) {
  // expected-remark @below {{transformer.prefix_mean}}
  %g = transformer.prefix_mean %x, %other in(%rows) : !transformer.state<24>
  %y = transformer.prefix_mean %x, %sum in(%rows) : !transformer.state<24>
  %a = transformer.accumulate %sum, %x in(%rows) : !transformer.state<24>
  %b = transformer.accumulate %unread, %x in(%rows) : !transformer.state<24>
  return %y, %a, %b : tensor<?x24xf32>, !transformer.state<24>, !transformer.state<24>
}
