// SPDX-License-Identifier: Apache-2.0
// Constants near the end of f32 beside weights that nobody has read, and constants that others need
// too. With their weights, programs at the ends of f32 are in tests/EndToEnd/BranchRangeTest.cpp.
// RUN: heddle-opt %s -transformer-fuse-branches --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @a : tensor<8x8xf32> from "a"
transformer.parameter @b : tensor<8x8xf32> from "b"
transformer.parameter @c : tensor<8x8xf32> from "c"
transformer.parameter @down : tensor<2x8xf32> from "down"
transformer.parameter @up : tensor<8x2xf32> from "up"

// CHECK: transformer.parameter @a.scaled : tensor<8x8xf32> = scale(@a, 9.99{{[0-9]+}}E+27)
// CHECK: transformer.parameter @a.scaled_b : tensor<8x8xf32> = sum(@a.scaled, @b)
// CHECK: transformer.parameter @a.scaled_0 : tensor<8x8xf32> = scale(@a, 5.000000e-01)
// CHECK: transformer.parameter @a.scaled_0_b : tensor<8x8xf32> = sum(@a.scaled_0, @b)

// CHECK-LABEL: func.func @large(
// CHECK-COUNT-2: transformer.linear
// CHECK: return
func.func @large(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{not fused: constants that change sizes by 1e+37 stand beside weights that are not known, expected at most 7.92e+28}}
  %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = transformer.scale %0, 1.0e37 : tensor<?x8xf32>
  %2 = transformer.linear %x, @b : tensor<?x8xf32> -> tensor<?x8xf32>
  %3 = transformer.add %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @small(
// CHECK-COUNT-2: transformer.linear
// CHECK: return
func.func @small(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{not fused: constants that change sizes by 1e+37 stand beside weights that are not known, expected at most 7.92e+28}}
  %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = transformer.scale %0, 1.0e-37 : tensor<?x8xf32>
  %2 = transformer.linear %x, @b : tensor<?x8xf32> -> tensor<?x8xf32>
  %3 = transformer.add %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @less_large(
// CHECK: transformer.linear %{{.*}}, @a.scaled_b :
// CHECK-NOT: transformer.linear
// CHECK: return
func.func @less_large(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{2 maps as 8 to 8}}
  %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = transformer.scale %0, 1.0e28 : tensor<?x8xf32>
  %2 = transformer.linear %x, @b : tensor<?x8xf32> -> tensor<?x8xf32>
  %3 = transformer.add %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// The sizes of adapters are moved behind both of their maps only if they are ordinary.
// CHECK-LABEL: func.func @passed(
// CHECK: transformer.scale
// CHECK: return
func.func @passed(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{not fused: numbers that change sizes by 1e+09 would be multiplied after another product, expected at most 1.68e+07}}
  %0 = transformer.scale %x, 1.0e-9 : tensor<?x8xf32>
  %1 = transformer.linear %0, @down : tensor<?x8xf32> -> tensor<?x2xf32>
  %2 = transformer.linear %1, @up : tensor<?x2xf32> -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// Equal scales are one operation by now: both maps of %x are one all the same.
// CHECK-LABEL: func.func @shared_scale(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK: %[[H:.*]] = transformer.scale %[[X]], 5.000000e-01
// CHECK: transformer.linear %[[X]], @a.scaled_0_b :
// CHECK: transformer.linear %[[H]], @c
// CHECK-NOT: transformer.linear
func.func @shared_scale(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %h = transformer.scale %x, 0.5 : tensor<?x8xf32>
  // expected-remark @below {{2 maps as 8 to 8}}
  %0 = transformer.linear %h, @a : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %x, @b : tensor<?x8xf32> -> tensor<?x8xf32>
  %2 = transformer.add %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
  %3 = transformer.linear %h, @c : tensor<?x8xf32> -> tensor<?x8xf32>
  return %2, %3 : tensor<?x8xf32>, tensor<?x8xf32>
}
