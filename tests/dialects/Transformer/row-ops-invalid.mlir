// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

transformer.parameter @table : tensor<100x380xf32> from "table" // expected-note {{the parameter is defined here}}
func.func @gather_c1(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.gather' op expects table '@table' of rank 2 and width 384, got shape 100x380}}
  %0 = transformer.gather @table[%ids] : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @gather_no_table(%ids: tensor<?xi32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.gather' op expects table '@table' to be a parameter, got no such symbol}}
  %0 = transformer.gather @table[%ids] : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @positions_c1(%rows: !transformer.segments) -> tensor<?xi32> {
  // expected-error@+1 {{'transformer.positions' op expects an offset of 0 or more, got -1}}
  %0 = transformer.positions %rows {offset = -1 : i64}
  return %0 : tensor<?xi32>
}

// -----

transformer.parameter @w : tensor<384x380xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @linear_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.linear' op expects weight '@w' of shape 384x384, got 384x380}}
  %0 = transformer.linear %x, @w : tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<384x384xf32> from "w"
transformer.parameter @b : tensor<1x384xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @linear_c2(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.linear' op expects bias '@b' of shape 384, got 1x384}}
  %0 = transformer.linear %x, @w, @b : tensor<?x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @rows(%x: tensor<4x384xf32>) -> tensor<4x384xf32> {
  // expected-error@+1 {{operand #0 must be rows of activations, tensor<?xWxf32>, but got 'tensor<4x384xf32>'}}
  %0 = "transformer.normalize"(%x) {epsilon = 1.0 : f32} : (tensor<4x384xf32>) -> tensor<4x384xf32>
  return %0 : tensor<4x384xf32>
}

// -----

func.func @add_c1(%x: tensor<?x384xf32>) -> tensor<?x380xf32> {
  // expected-error@+1 {{'transformer.add' op failed to verify that the result has the type of the left operand}}
  %0 = "transformer.add"(%x, %x) : (tensor<?x384xf32>, tensor<?x384xf32>) -> tensor<?x380xf32>
  return %0 : tensor<?x380xf32>
}

// -----

func.func @add_c2(%x: tensor<?x384xf32>, %y: tensor<?x380xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.add' op expects a right operand of shape ?x384, of its trailing static axes, or ?x? for scores, got ?x380}}
  %0 = transformer.add %x, %y : tensor<?x384xf32>, tensor<?x380xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @add_of_more_axes(%x: tensor<?x384xf32>, %y: tensor<4x?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.add' op expects a right operand of shape ?x384, of its trailing static axes, or ?x? for scores, got 4x?x384}}
  %0 = transformer.add %x, %y : tensor<?x384xf32>, tensor<4x?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @multiply_c1(%x: tensor<?x384xf32>) -> tensor<?x380xf32> {
  // expected-error@+1 {{'transformer.multiply' op failed to verify that the result has the type of the left operand}}
  %0 = "transformer.multiply"(%x, %x) : (tensor<?x384xf32>, tensor<?x384xf32>) -> tensor<?x380xf32>
  return %0 : tensor<?x380xf32>
}

// -----

func.func @multiply_c2(%x: tensor<?x384xf32>, %y: tensor<?x380xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.multiply' op expects a right operand of shape ?x384, of its trailing static axes, 1, or ?x1 for rows, got ?x380}}
  %0 = transformer.multiply %x, %y : tensor<?x384xf32>, tensor<?x380xf32>
  return %0 : tensor<?x384xf32>
}

// -----

// One number a row of what has no rows.
func.func @multiply_by_rows(%x: tensor<4x384xf32>, %y: tensor<?x1xf32>) -> tensor<4x384xf32> {
  // expected-error@+1 {{'transformer.multiply' op expects a right operand of shape 4x384, of its trailing static axes, 1, or ?x1 for rows, got ?x1}}
  %0 = transformer.multiply %x, %y : tensor<4x384xf32>, tensor<?x1xf32>
  return %0 : tensor<4x384xf32>
}

// -----

// A bias of scores is for sums.
func.func @multiply_by_bias(%x: tensor<?x12x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.multiply' op expects a right operand of shape ?x12x?, of its trailing static axes, 1, or ?x1 for rows, got ?x?}}
  %0 = transformer.multiply %x, %y : tensor<?x12x?xf32>, tensor<?x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @scale_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.scale' op expects a finite factor, got 0x7F800000 : f32}}
  %0 = transformer.scale %x, 0x7F800000 : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<384xf32> from "w"
transformer.parameter @b : tensor<380xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @layer_norm_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.layer_norm' op expects bias '@b' of shape 384, got 380}}
  %0 = transformer.layer_norm %x, @w, @b {epsilon = 1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<384xf32> from "w"
func.func @layer_norm_c2(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.layer_norm' op expects a finite epsilon of 0 or more, got -1.000000e+00 : f32}}
  %0 = transformer.layer_norm %x, @w, @w {epsilon = -1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @normalize_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.normalize' op expects a finite epsilon above 0, got 0.000000e+00 : f32}}
  %0 = transformer.normalize %x {epsilon = 0.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<380xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @rms_norm_c1(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.rms_norm' op expects weight '@w' of shape 384, got 380}}
  %0 = transformer.rms_norm %x, @w {epsilon = 1.0e-6 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

transformer.parameter @w : tensor<384xf32> from "w"
func.func @rms_norm_c2(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.rms_norm' op expects a finite epsilon of 0 or more, got -1.000000e+00 : f32}}
  %0 = transformer.rms_norm %x, @w {epsilon = -1.0 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @blocks_c1(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.blocks' op expects blocks of 2 to 1048576 rows, got 1}}
  %0 = transformer.blocks %rows, 1
  return
}

// -----

func.func @blocks_c1_of_blocks(%rows: !transformer.segments) {
  %0 = transformer.blocks %rows, 1024
  // expected-error@+1 {{'transformer.blocks' op expects blocks of 2 to 1048576 rows, got 1049600}}
  %1 = transformer.blocks %0, 1025
  return
}

// -----

func.func @pool_c1(%x: tensor<?x384xf32>, %rows: !transformer.segments, %others: !transformer.segments) {
  %0 = transformer.blocks %others, 2
  // expected-error@+1 {{'transformer.pool' op expects segments in 'to' whose rows are groups of those in 'in', got rows of other segments}}
  %1 = transformer.pool mean %x in(%rows) to(%0) : tensor<?x384xf32>
  return
}

// -----

func.func @pool_c1_same(%x: tensor<?x384xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.pool' op expects segments in 'to' whose rows are groups of those in 'in', got tokens of tokens}}
  %1 = transformer.pool mean %x in(%rows) to(%rows) : tensor<?x384xf32>
  return
}

// -----

func.func @pool_c1_cut(%x: tensor<?x384xf32>, %rows: !transformer.segments) {
  %0 = transformer.blocks %rows, 2
  %1 = transformer.blocks %rows, 3
  // expected-error@+1 {{'transformer.pool' op expects segments in 'to' whose rows are groups of those in 'in', got blocks(tokens, 3) of blocks(tokens, 2)}}
  %2 = transformer.pool mean %x in(%0) to(%1) : tensor<?x384xf32>
  return
}

// -----

// Verified before it is seen that they use each other.
func.func @pool_c1_cycle(%x: tensor<?x384xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{operand #2 does not dominate this use}}
  %2 = transformer.pool mean %x in(%rows) to(%1) : tensor<?x384xf32>
  // expected-note@+1 {{operand defined here (op in the same block)}}
  %1 = transformer.blocks %0, 2
  %0 = transformer.blocks %1, 2
  return
}
