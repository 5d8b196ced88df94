// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-norm --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @weight : tensor<24xf32> from "weight"
transformer.parameter @bias : tensor<24xf32> from "bias"

// CHECK-DAG: transformer.parameter @ones : tensor<24xf32> = ones_from(0)
// CHECK-DAG: transformer.parameter @[[SCALED:[a-z.]*scaled]] : tensor<24xf32> = scale(@weight, 2.000000e+00)
// CHECK-DAG: transformer.parameter @[[ZEROS:[a-z_.]*]] : tensor<24xf32> = zeros()
// CHECK-DAG: transformer.parameter @[[ONE_PLUS:[a-z_.]*]] : tensor<24xf32> = sum(@weight, @ones)

// As PyTorch exports it: a division by the root, then the weight and the bias.
// CHECK-LABEL: func.func @divided(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.layer_norm %[[X]], @weight, @bias {epsilon = 9.99999996E-13 : f32} : tensor<?x24xf32>
// CHECK-NEXT: return %[[Y]]
func.func @divided(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %w = transformer.weight @weight : tensor<24xf32>
  %b = transformer.weight @bias : tensor<24xf32>
  %m = transformer.reduce mean %x : tensor<?x24xf32> -> tensor<?x1xf32>
  %c = transformer.combine subtract %x, %m : tensor<?x24xf32>, tensor<?x1xf32>
  %q = transformer.multiply %c, %c : tensor<?x24xf32>
  %v = transformer.reduce mean %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %e = transformer.shift %v, 1.0e-12 : tensor<?x1xf32>
  %s = transformer.activate sqrt %e : tensor<?x1xf32>
  %u = transformer.combine divide %c, %s : tensor<?x24xf32>, tensor<?x1xf32>
  %n = transformer.multiply %u, %w : tensor<?x24xf32>, tensor<24xf32>
  // expected-remark @below {{layer norm of 24 columns}}
  %y = transformer.add %n, %b : tensor<?x24xf32>, tensor<24xf32>
  return %y : tensor<?x24xf32>
}

// Sums, each times 1 / width; the centred rows computed twice; the weight before the root, and a
// factor, which goes into it; no bias.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.layer_norm %[[X]], @[[SCALED]], @[[ZEROS]] {epsilon = 9.99999974E-6 : f32} : tensor<?x24xf32>
// CHECK-NEXT: return %[[Y]]
func.func @sums(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %w = transformer.weight @weight : tensor<24xf32>
  %t = transformer.reduce sum %x : tensor<?x24xf32> -> tensor<?x1xf32>
  %m = transformer.scale %t, 0.0416666679 : tensor<?x1xf32>
  %c = transformer.combine subtract %x, %m : tensor<?x24xf32>, tensor<?x1xf32>
  %c2 = transformer.combine subtract %x, %m : tensor<?x24xf32>, tensor<?x1xf32>
  %q = transformer.multiply %c, %c : tensor<?x24xf32>
  %z = transformer.reduce sum %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %v = transformer.scale %z, 0.0416666679 : tensor<?x1xf32>
  %e = transformer.shift %v, 1.0e-5 : tensor<?x1xf32>
  %s = transformer.activate sqrt %e : tensor<?x1xf32>
  %r = transformer.activate reciprocal %s : tensor<?x1xf32>
  %d = transformer.scale %c2, 2.0 : tensor<?x24xf32>
  %n = transformer.multiply %d, %w : tensor<?x24xf32>, tensor<24xf32>
  // expected-remark @below {{layer norm of 24 columns}}
  %y = transformer.multiply %n, %r : tensor<?x24xf32>, tensor<?x1xf32>
  return %y : tensor<?x24xf32>
}

// Without centring it is an RMS norm, here without a weight: it is multiplied by another value.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>, %[[G:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.rms_norm %[[X]], @ones {epsilon = 9.99999997E-7 : f32} : tensor<?x24xf32>
// CHECK-NEXT: transformer.multiply %[[Y]], %[[G]]
func.func @plain(%x: tensor<?x24xf32>, %g: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce mean %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %e = transformer.shift %v, 1.0e-6 : tensor<?x1xf32>
  %r = transformer.activate rsqrt %e : tensor<?x1xf32>
  // expected-remark @below {{RMS norm of 24 columns}}
  %u = transformer.multiply %x, %r : tensor<?x24xf32>, tensor<?x1xf32>
  %y = transformer.multiply %u, %g : tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// One plus the weight; two norms of one root, of which one has a weight.
// CHECK-LABEL: func.func @one_plus(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.rms_norm %[[X]], @[[ONE_PLUS]] {epsilon = 9.99999997E-7 : f32}
// CHECK-NEXT: %[[Z:.*]] = transformer.rms_norm %[[X]], @weight {epsilon = 9.99999997E-7 : f32}
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @one_plus(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %w = transformer.weight @weight : tensor<24xf32>
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce mean %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %e = transformer.shift %v, 1.0e-6 : tensor<?x1xf32>
  %r = transformer.activate rsqrt %e : tensor<?x1xf32>
  %u = transformer.multiply %x, %r : tensor<?x24xf32>, tensor<?x1xf32>
  %p = transformer.multiply %u, %w : tensor<?x24xf32>, tensor<24xf32>
  // expected-remark @below {{RMS norm of 24 columns}}
  %y = transformer.add %p, %u : tensor<?x24xf32>, tensor<?x24xf32>
  %s = transformer.multiply %x, %w : tensor<?x24xf32>, tensor<24xf32>
  // expected-remark @below {{RMS norm of 24 columns}}
  %z = transformer.multiply %s, %r : tensor<?x24xf32>, tensor<?x1xf32>
  return %y, %z : tensor<?x24xf32>, tensor<?x24xf32>
}

// Rows divided by their length.
// CHECK-LABEL: func.func @length(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.normalize %[[X]] {epsilon = 9.99999996E-13 : f32} : tensor<?x24xf32>
// CHECK-NEXT: return %[[Y]]
func.func @length(%x: tensor<?x24xf32>) -> tensor<?x24xf32> {
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce sum %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %s = transformer.activate sqrt %v : tensor<?x1xf32>
  %e = transformer.clamp %s from 1.0e-12 to 0x7F800000 : tensor<?x1xf32>
  // expected-remark @below {{rows of 24 columns divided by their length}}
  %y = transformer.combine divide %x, %e : tensor<?x24xf32>, tensor<?x1xf32>
  return %y : tensor<?x24xf32>
}

// --- What is left as it is ---------------------------------------------------------------------

// A variance that is a difference, squares that are not averaged, an epsilon outside of the root,
// and a root of something else, of which there is nothing to say.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: _norm
func.func @others(%x: tensor<?x24xf32>, %o: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>) {
  %m = transformer.reduce mean %x : tensor<?x24xf32> -> tensor<?x1xf32>
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce mean %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %m2 = transformer.multiply %m, %m : tensor<?x1xf32>
  %d = transformer.combine subtract %v, %m2 : tensor<?x1xf32>
  // expected-remark @below {{not fused: the variance is a difference of two means, which loses the digits that a mean of centred squares keeps}}
  %r = transformer.activate rsqrt %d : tensor<?x1xf32>
  %y = transformer.multiply %x, %r : tensor<?x24xf32>, tensor<?x1xf32>
  %t = transformer.reduce sum %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %t2 = transformer.scale %t, 0.0434782609 : tensor<?x1xf32>
  // expected-remark @below {{not fused: the squares are not divided by how many there are}}
  %r2 = transformer.activate rsqrt %t2 : tensor<?x1xf32>
  %y2 = transformer.multiply %x, %r2 : tensor<?x24xf32>, tensor<?x1xf32>
  %s3 = transformer.activate sqrt %v : tensor<?x1xf32>
  // expected-remark @below {{not fused: epsilon is added to the root, not to what is under it}}
  %e3 = transformer.shift %s3, 1.0e-5 : tensor<?x1xf32>
  %y3 = transformer.combine divide %x, %e3 : tensor<?x24xf32>, tensor<?x1xf32>
  %r4 = transformer.activate rsqrt %v : tensor<?x1xf32>
  // expected-remark @below {{not fused: what the root divides is not what was squared}}
  %y4 = transformer.multiply %o, %r4 : tensor<?x24xf32>, tensor<?x1xf32>
  %a = transformer.reduce max %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %r5 = transformer.activate rsqrt %a : tensor<?x1xf32>
  %y5 = transformer.multiply %x, %r5 : tensor<?x24xf32>, tensor<?x1xf32>
  return %y, %y2, %y3, %y4, %y5 : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @lengths(
// CHECK-NOT: transformer.normalize
func.func @lengths(%x: tensor<?x24xf32>, %o: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce sum %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %s = transformer.activate sqrt %v : tensor<?x1xf32>
  // expected-remark @below {{not fused: the length of a row has no lower bound (transformer.combine)}}
  %y = transformer.combine divide %x, %s : tensor<?x24xf32>, tensor<?x1xf32>
  %e = transformer.clamp %s from 1.0e-12 to 0x7F800000 : tensor<?x1xf32>
  // expected-remark @below {{not fused: the length of a row does not divide that row}}
  %z = transformer.combine divide %o, %e : tensor<?x24xf32>, tensor<?x1xf32>
  return %y, %z : tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @more_others(
// CHECK-NOT: _norm
func.func @more_others(%x: tensor<?x24xf32>) -> (tensor<?x24xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x24xf32>) {
  %q = transformer.multiply %x, %x : tensor<?x24xf32>
  %v = transformer.reduce mean %q : tensor<?x24xf32> -> tensor<?x1xf32>
  %e = transformer.shift %v, -1.0e-5 : tensor<?x1xf32>
  // expected-remark @below {{not fused: epsilon is negative, or not finite in f32}}
  %r = transformer.activate rsqrt %e : tensor<?x1xf32>
  %y = transformer.multiply %x, %r : tensor<?x24xf32>, tensor<?x1xf32>
  %s = transformer.activate sqrt %v : tensor<?x1xf32>
  // expected-remark @below {{not fused: the root divides nothing (transformer.scale)}}
  %y2 = transformer.scale %s, 2.0 : tensor<?x1xf32>
  %r3 = transformer.activate rsqrt %v : tensor<?x1xf32>
  // expected-remark @below {{not fused: one over the root multiplies nothing (transformer.scale)}}
  %y3 = transformer.scale %r3, 2.0 : tensor<?x1xf32>
  %big = transformer.scale %x, 3.0e38 : tensor<?x24xf32>
  %bigger = transformer.scale %big, 3.0e38 : tensor<?x24xf32>
  // expected-remark @below {{not fused: the product of the factors is not finite in f32}}
  %y4 = transformer.multiply %bigger, %r3 : tensor<?x24xf32>, tensor<?x1xf32>
  return %y, %y2, %y3, %y4 : tensor<?x24xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x24xf32>
}
