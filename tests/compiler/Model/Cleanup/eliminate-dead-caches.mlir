// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-eliminate-dead --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// A cache that no entry reads is none of any entry, and what was computed for it is not.

// CHECK: transformer.parameter @value
// expected-remark @below {{@key}}
transformer.parameter @key : tensor<24x24xf32> from "key"
transformer.parameter @value : tensor<24x24xf32> from "value"

// CHECK-LABEL: func.func @encode(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]: !transformer.segments, %[[V:[a-z0-9]+]]: !transformer.cache<24> {transformer.name = "cross.value"})
// CHECK-SAME: -> (tensor<?x24xf32> {transformer.name = "y"}, !transformer.cache<24> {transformer.name = "cross.value"})
// CHECK-NEXT: transformer.linear %[[X]], @value
// CHECK-NEXT: %[[A:.*]] = transformer.append %[[V]]
// CHECK-NEXT: return %[[X]], %[[A]]
func.func @encode(%x: tensor<?x24xf32>, %rows: !transformer.segments,
    // expected-remark @below {{activation_bytes_per_token=0, cache_bytes_per_token=96, }}
    %kc: !transformer.cache<24> {transformer.name = "cross.key"},
    %vc: !transformer.cache<24> {transformer.name = "cross.value"})
    -> (tensor<?x24xf32> {transformer.name = "y"},
        !transformer.cache<24> {transformer.name = "cross.key"},
        !transformer.cache<24> {transformer.name = "cross.value"}) {
  // expected-remark @below {{what=transformer.linear}}
  %k = transformer.linear %x, @key : tensor<?x24xf32> -> tensor<?x24xf32>
  %k1 = transformer.append %kc, %k in(%rows) : !transformer.cache<24>
  %v = transformer.linear %x, @value : tensor<?x24xf32> -> tensor<?x24xf32>
  %v1 = transformer.append %vc, %v in(%rows) : !transformer.cache<24>
  return %x, %k1, %v1 : tensor<?x24xf32>, !transformer.cache<24>, !transformer.cache<24>
}

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[R:[a-z0-9]+]]: !transformer.segments, %[[M:[a-z0-9]+]]: !transformer.segments {transformer.name = "memory"}, %[[V:[a-z0-9]+]]: !transformer.cache<24> {transformer.name = "cross.value"})
func.func @decode(%rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    // expected-remark @below {{a cache of @decode}}
    %kc: !transformer.cache<24> {transformer.name = "cross.key"},
    %vc: !transformer.cache<24> {transformer.name = "cross.value"}) -> tensor<?x24xf32> {
  // Nothing needs them.
  // expected-remark @below {{transformer.cached}}
  %k = transformer.cached %kc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  return %v : tensor<?x24xf32>
}

// -----

// A chain: what is appended to the second comes from the first, which is read for nothing else.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>, %{{[a-z0-9]+}}: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "y"})
// CHECK-NEXT: return %[[X]]
func.func @chain(%x: tensor<?x24xf32>, %rows: !transformer.segments,
    // expected-remark @below {{cache "first" of @chain, which no entry reads}}
    %a: !transformer.cache<24> {transformer.name = "first"},
    // expected-remark @below {{cache "second" of @chain, which no entry reads}}
    %b: !transformer.cache<24> {transformer.name = "second"})
    -> (!transformer.cache<24> {transformer.name = "first"},
        tensor<?x24xf32> {transformer.name = "y"},
        !transformer.cache<24> {transformer.name = "second"}) {
  // expected-remark @below {{transformer.history}}
  %seen = transformer.history %rows
  %a1 = transformer.append %a, %x in(%rows) : !transformer.cache<24>
  // expected-remark @below {{transformer.cached}}
  %all = transformer.cached %a1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  // expected-remark @below {{transformer.split_heads}}
  %h = transformer.split_heads %all : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{transformer.split_heads}}
  %q = transformer.split_heads %x : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{flops_per_token_and_key=48, }}
  %s = transformer.contract "thd,khd->thk" %q, %h in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{transformer.softmax}}
  %p = transformer.softmax %s in(%seen) : tensor<?x3x?xf32>
  // expected-remark @below {{transformer.contract}}
  %c = transformer.contract "thk,khd->thd" %p, %h in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{transformer.merge_heads}}
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b1 = transformer.append %b, %m in(%rows) : !transformer.cache<24>
  return %a1, %x, %b1 : !transformer.cache<24>, tensor<?x24xf32>, !transformer.cache<24>
}

// -----

// One entry that reads it is enough.

// CHECK-LABEL: func.func @writes(
// CHECK: transformer.append
// CHECK: return %{{.*}} : !transformer.cache<24>
func.func @writes(%x: tensor<?x24xf32>, %rows: !transformer.segments,
    %c: !transformer.cache<24> {transformer.name = "c"}) -> (!transformer.cache<24> {transformer.name = "c"}) {
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<24>
  return %c1 : !transformer.cache<24>
}
// CHECK-LABEL: func.func @reads(
// CHECK-NEXT: transformer.cached
func.func @reads(%memory: !transformer.segments, %c: !transformer.cache<24> {transformer.name = "c"}) -> tensor<?x24xf32> {
  %x = transformer.cached %c in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  return %x : tensor<?x24xf32>
}

// -----

// A cache that is returned as it came stays: what is wrong with that is the lowering's to say.
// CHECK-LABEL: func.func @returned(
// CHECK: return %{{.*}}, %{{.*}} : tensor<?x24xf32>, !transformer.cache<24>
func.func @returned(%x: tensor<?x24xf32>, %rows: !transformer.segments, %c: !transformer.cache<24> {transformer.name = "k"})
    -> (tensor<?x24xf32>, !transformer.cache<24> {transformer.name = "k"}) {
  return %x, %c : tensor<?x24xf32>, !transformer.cache<24>
}
