// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-deduplicate-parameters --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// CHECK: transformer.parameter @a : tensor<8x4xf32> from "word"
// CHECK-NEXT: transformer.parameter @seen_as_vector : tensor<32xf32> from "word"
// CHECK-NEXT: transformer.parameter @one : tensor<16x4xf32> ={{ *}}concat{{ *}}(@a, @a)
// CHECK-NEXT: transformer.parameter @turned : tensor<4x16xf32> ={{ *}}transpose{{ *}}(@one)
transformer.parameter @a : tensor<8x4xf32> from "word"
// expected-remark @below {{weight_bytes=128, what="@b is @a"}}
transformer.parameter @b : tensor<8x4xf32> from "word"
// Another type: another parameter.
transformer.parameter @seen_as_vector : tensor<32xf32> from "word"
transformer.parameter @one : tensor<16x4xf32> = concat(@a, @a)
// Equal once its operands are, and what is made of it once it is.
// expected-remark @below {{@other is @one}}
transformer.parameter @other : tensor<16x4xf32> = concat(@a, @b)
transformer.parameter @turned : tensor<4x16xf32> = transpose(@one)
// expected-remark @below {{@turned_other is @turned}}
transformer.parameter @turned_other : tensor<4x16xf32> = transpose(@other)

// CHECK-LABEL: func.func @uses(
// CHECK: transformer.gather @a[
// CHECK: transformer.linear %{{.*}}, @a, @seen
// CHECK: transformer.embed [@a, @a]
// CHECK: transformer.weight @turned :
func.func @uses(%ids: tensor<?xi32>, %x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<4x16xf32>) {
  %g = transformer.gather @b[%ids] : tensor<?x4xf32>
  %l = transformer.linear %x, @b, @seen : tensor<?x4xf32> -> tensor<?x8xf32>
  %e = transformer.embed [@a, @b] ids(%ids, %ids) : tensor<?x4xf32>
  %t = transformer.weight @turned_other : tensor<4x16xf32>
  return %g, %l, %e, %t : tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<4x16xf32>
}
transformer.parameter @seen : tensor<8xf32> from "bias"
