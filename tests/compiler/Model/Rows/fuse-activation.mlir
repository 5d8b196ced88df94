// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-activation --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// Half of the sum, half of the number, half of both, and multiplied out; the first two share what
// they are made of.
// CHECK-LABEL: func.func @gelu(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-COUNT-4: transformer.activate gelu %[[X]] : tensor<?x24xf32>
// CHECK-NEXT: return
func.func @gelu(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>) {
  %a = transformer.scale %x, 0.707106769 : tensor<?x24xf32>
  %f1 = transformer.activate erf %a : tensor<?x24xf32>
  %s1 = transformer.shift %f1, 1.0 : tensor<?x24xf32>
  %h1 = transformer.scale %s1, 0.5 : tensor<?x24xf32>
  // expected-remark @below {{gelu of its formula}}
  %1 = transformer.multiply %h1, %x : tensor<?x24xf32>
  %h2 = transformer.scale %x, 0.5 : tensor<?x24xf32>
  // expected-remark @below {{gelu of its formula}}
  %2 = transformer.multiply %h2, %s1 : tensor<?x24xf32>
  %f3 = transformer.activate erf %a : tensor<?x24xf32>
  %h3 = transformer.scale %f3, 0.5 : tensor<?x24xf32>
  %s3 = transformer.shift %h3, 0.5 : tensor<?x24xf32>
  // expected-remark @below {{gelu of its formula}}
  %3 = transformer.multiply %x, %s3 : tensor<?x24xf32>
  %f4 = transformer.activate erf %a : tensor<?x24xf32>
  %p4 = transformer.multiply %h2, %f4 : tensor<?x24xf32>
  // expected-remark @below {{gelu of its formula}}
  %4 = transformer.add %h2, %p4 : tensor<?x24xf32>, tensor<?x24xf32>
  return %1, %2, %3, %4 : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}

// The cube as two products, and the polynomial with x outside of it.
// CHECK-LABEL: func.func @gelu_new(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-COUNT-2: transformer.activate gelu_new %[[X]] : tensor<?x24xf32>
// CHECK-NEXT: return
func.func @gelu_new(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %x2 = transformer.multiply %x, %x : tensor<?x24xf32>
  %x3 = transformer.multiply %x2, %x : tensor<?x24xf32>
  %t = transformer.scale %x3, 0.044715 : tensor<?x24xf32>
  %p = transformer.add %x, %t : tensor<?x24xf32>, tensor<?x24xf32>
  %a = transformer.scale %p, 0.797884583 : tensor<?x24xf32>
  %f1 = transformer.activate tanh %a : tensor<?x24xf32>
  %s1 = transformer.shift %f1, 1.0 : tensor<?x24xf32>
  %h1 = transformer.scale %x, 0.5 : tensor<?x24xf32>
  // expected-remark @below {{gelu_new of its formula}}
  %1 = transformer.multiply %h1, %s1 : tensor<?x24xf32>
  %c = transformer.scale %x2, 0.0356774069 : tensor<?x24xf32>
  %d = transformer.shift %c, 0.797884583 : tensor<?x24xf32>
  %e = transformer.multiply %x, %d : tensor<?x24xf32>
  %f2 = transformer.activate tanh %e : tensor<?x24xf32>
  %g2 = transformer.multiply %x, %f2 : tensor<?x24xf32>
  %s2 = transformer.add %x, %g2 : tensor<?x24xf32>, tensor<?x24xf32>
  // expected-remark @below {{gelu_new of its formula}}
  %2 = transformer.scale %s2, 0.5 : tensor<?x24xf32>
  return %1, %2 : tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @sigmoids(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[A:.*]] = transformer.activate silu %[[X]]
// CHECK-NEXT: %[[B:.*]] = transformer.activate quick_gelu %[[X]]
// CHECK-NEXT: %[[C:.*]] = transformer.activate silu %[[X]]
// CHECK-NEXT: %[[D:.*]] = transformer.activate sigmoid %[[X]]
// CHECK-NEXT: %[[E:.*]] = transformer.activate softplus %[[X]]
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
func.func @sigmoids(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>) {
  %f1 = transformer.activate sigmoid %x : tensor<?x24xf32>
  // expected-remark @below {{silu of its formula}}
  %1 = transformer.multiply %x, %f1 : tensor<?x24xf32>
  %a = transformer.scale %x, 1.702 : tensor<?x24xf32>
  %f2 = transformer.activate sigmoid %a : tensor<?x24xf32>
  // expected-remark @below {{quick_gelu of its formula}}
  %2 = transformer.multiply %f2, %x : tensor<?x24xf32>
  %n = transformer.scale %x, -1.0 : tensor<?x24xf32>
  %e = transformer.activate exp %n : tensor<?x24xf32>
  %s = transformer.shift %e, 1.0 : tensor<?x24xf32>
  // expected-remark @below {{sigmoid of its formula}}
  // expected-remark @below {{silu of its formula}}
  %3 = transformer.combine divide %x, %s : tensor<?x24xf32>
  // expected-remark @below {{sigmoid of its formula}}
  %4 = transformer.activate reciprocal %s : tensor<?x24xf32>
  %e5 = transformer.activate exp %x : tensor<?x24xf32>
  %s5 = transformer.shift %e5, 1.0 : tensor<?x24xf32>
  // expected-remark @below {{softplus of its formula}}
  %5 = transformer.activate log %s5 : tensor<?x24xf32>
  return %1, %2, %3, %4, %5 : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}

// --- What is left as it is ---------------------------------------------------------------------

// Other constants, an error function alone, and gates, of which there is nothing to say.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @others(%x: tensor<?x24xf32>, %y: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>) {
  %a = transformer.scale %x, 0.7 : tensor<?x24xf32>
  // expected-remark @below {{not fused: the erf is of another polynomial than that of gelu}}
  %f1 = transformer.activate erf %a : tensor<?x24xf32>
  %s1 = transformer.shift %f1, 1.0 : tensor<?x24xf32>
  %h1 = transformer.scale %s1, 0.5 : tensor<?x24xf32>
  %1 = transformer.multiply %h1, %x : tensor<?x24xf32>
  // expected-remark @below {{not fused: what follows is not half of a number times one plus its error function}}
  %2 = transformer.activate erf %x : tensor<?x24xf32>
  %f3 = transformer.activate sigmoid %x : tensor<?x24xf32>
  %3 = transformer.multiply %y, %f3 : tensor<?x24xf32>
  %f4 = transformer.activate tanh %x : tensor<?x24xf32>
  %4 = transformer.add %y, %f4 : tensor<?x24xf32>, tensor<?x24xf32>
  return %1, %2, %3, %4 : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}
