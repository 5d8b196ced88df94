// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

func.func @combine_c1(%x: tensor<?x384xf32>, %y: tensor<?x384xf32>) -> tensor<?x380xf32> {
  // expected-note@+1 {{prior use here}}
  %0 = transformer.combine subtract %x, %y : tensor<?x384xf32>
  // expected-error@+1 {{use of value '%0' expects different type than prior uses}}
  return %0 : tensor<?x380xf32>
}

// -----

func.func @combine_c2(%x: tensor<?x384xf32>, %y: tensor<?x380xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.combine' op expects a right operand of shape ?x384, of its trailing static axes, 1, or ?x1 for rows, got ?x380}}
  %0 = transformer.combine divide %x, %y : tensor<?x384xf32>, tensor<?x380xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @shift_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.shift' op expects a finite number, got 0x7FC00000 : f32}}
  %0 = transformer.shift %x, 0x7FC00000 : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @clamp_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.clamp' op expects a lower bound of at most the upper one, got 1.000000e+00 : f32 and 5.000000e-01 : f32}}
  %0 = transformer.clamp %x from 1.0 to 0.5 : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @clamp_c1_nan(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.clamp' op expects a lower bound of at most the upper one, got 0x7FC00000 : f32 and 5.000000e-01 : f32}}
  %0 = transformer.clamp %x from 0x7FC00000 to 0.5 : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @reduce_c1(%x: tensor<?x384xf32>) -> tensor<?x2xf32> {
  // expected-error@+1 {{'transformer.reduce' op expects a result of 1 column, got 2}}
  %0 = transformer.reduce mean %x : tensor<?x384xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
