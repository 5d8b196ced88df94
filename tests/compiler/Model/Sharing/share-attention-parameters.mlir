// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention | FileCheck %s

// What only a parameter without use names goes with it: no symbol is left without what it names.
// CHECK: transformer.parameter @aq
// CHECK-NOT: transformer.parameter
// CHECK-LABEL: func.func @unused(
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @both : tensor<8x4xf32> = concat(@aq, @bq)
transformer.parameter @again : tensor<4x8xf32> = reshape(@both)
func.func @unused(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[A:.*]] = transformer.linear %{{.*}}, @aq
  %a = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %b = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK: return %[[A]], %[[A]]
  return %a, %b : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Two factors are not their product: between them a value may be infinite.
// CHECK-LABEL: func.func @factors(
func.func @factors(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[S:.*]] = transformer.scale
  // CHECK: %[[T:.*]] = transformer.scale %[[S]]
  %s = transformer.scale %x, 1.0e25 : tensor<?x4xf32>
  %t = transformer.scale %s, 1.0e-25 : tensor<?x4xf32>
  // CHECK: return %{{.*}}, %[[T]]
  return %x, %t : tensor<?x4xf32>, tensor<?x4xf32>
}
