// SPDX-License-Identifier: Apache-2.0
// Maps nested in sums: the ways to take or leave common ends double with each level, of which only so
// many are looked at. Nine levels of two maps each were more than a minute once.
// RUN: heddle-opt %s --transformer-fuse-branches | FileCheck %s

transformer.parameter @a0 : tensor<4x4xf32> from "a0"
transformer.parameter @b0 : tensor<4x4xf32> from "b0"
transformer.parameter @a1 : tensor<4x4xf32> from "a1"
transformer.parameter @b1 : tensor<4x4xf32> from "b1"
transformer.parameter @a2 : tensor<4x4xf32> from "a2"
transformer.parameter @b2 : tensor<4x4xf32> from "b2"
transformer.parameter @a3 : tensor<4x4xf32> from "a3"
transformer.parameter @b3 : tensor<4x4xf32> from "b3"
transformer.parameter @a4 : tensor<4x4xf32> from "a4"
transformer.parameter @b4 : tensor<4x4xf32> from "b4"
transformer.parameter @a5 : tensor<4x4xf32> from "a5"
transformer.parameter @b5 : tensor<4x4xf32> from "b5"
transformer.parameter @a6 : tensor<4x4xf32> from "a6"
transformer.parameter @b6 : tensor<4x4xf32> from "b6"
transformer.parameter @a7 : tensor<4x4xf32> from "a7"
transformer.parameter @b7 : tensor<4x4xf32> from "b7"
transformer.parameter @a8 : tensor<4x4xf32> from "a8"
transformer.parameter @b8 : tensor<4x4xf32> from "b8"
// CHECK-LABEL: func.func @nested
func.func @nested(%x0: tensor<?x4xf32>, %x1: tensor<?x4xf32>, %x2: tensor<?x4xf32>, %x3: tensor<?x4xf32>, %x4: tensor<?x4xf32>, %x5: tensor<?x4xf32>, %x6: tensor<?x4xf32>, %x7: tensor<?x4xf32>, %x8: tensor<?x4xf32>, %x9: tensor<?x4xf32>, %rows: !transformer.segments) -> tensor<?x4xf32> {
  %p0 = transformer.linear %x0, @a0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q0 = transformer.linear %p0, @b0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s0 = transformer.add %q0, %x1 : tensor<?x4xf32>, tensor<?x4xf32>
  %p1 = transformer.linear %s0, @a1 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q1 = transformer.linear %p1, @b1 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s1 = transformer.add %q1, %x2 : tensor<?x4xf32>, tensor<?x4xf32>
  %p2 = transformer.linear %s1, @a2 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q2 = transformer.linear %p2, @b2 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s2 = transformer.add %q2, %x3 : tensor<?x4xf32>, tensor<?x4xf32>
  %p3 = transformer.linear %s2, @a3 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q3 = transformer.linear %p3, @b3 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s3 = transformer.add %q3, %x4 : tensor<?x4xf32>, tensor<?x4xf32>
  %p4 = transformer.linear %s3, @a4 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q4 = transformer.linear %p4, @b4 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s4 = transformer.add %q4, %x5 : tensor<?x4xf32>, tensor<?x4xf32>
  %p5 = transformer.linear %s4, @a5 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q5 = transformer.linear %p5, @b5 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s5 = transformer.add %q5, %x6 : tensor<?x4xf32>, tensor<?x4xf32>
  %p6 = transformer.linear %s5, @a6 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q6 = transformer.linear %p6, @b6 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s6 = transformer.add %q6, %x7 : tensor<?x4xf32>, tensor<?x4xf32>
  %p7 = transformer.linear %s6, @a7 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q7 = transformer.linear %p7, @b7 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s7 = transformer.add %q7, %x8 : tensor<?x4xf32>, tensor<?x4xf32>
  %p8 = transformer.linear %s7, @a8 : tensor<?x4xf32> -> tensor<?x4xf32>
  %q8 = transformer.linear %p8, @b8 : tensor<?x4xf32> -> tensor<?x4xf32>
  %s8 = transformer.add %q8, %x9 : tensor<?x4xf32>, tensor<?x4xf32>
  // CHECK: return
  return %s8 : tensor<?x4xf32>
}
