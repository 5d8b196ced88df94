// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

func.func @split_heads_c1(%x: tensor<?x384xf32>) -> tensor<?x12x30xf32> {
  // expected-error@+1 {{'transformer.split_heads' op expects an input of width 12 * 30, got 384}}
  %0 = transformer.split_heads %x : tensor<?x384xf32> -> tensor<?x12x30xf32>
  return %0 : tensor<?x12x30xf32>
}

// -----

func.func @merge_heads_c1(%x: tensor<?x12x32xf32>) -> tensor<?x380xf32> {
  // expected-error@+1 {{'transformer.merge_heads' op expects a result of width 12 * 32, got 380}}
  %0 = transformer.merge_heads %x : tensor<?x12x32xf32> -> tensor<?x380xf32>
  return %0 : tensor<?x380xf32>
}

// -----

func.func @transpose_c1(%x: tensor<?x12x32xf32>) -> tensor<12x32x?xf32> {
  // expected-error@+1 {{'transformer.transpose' op expects a permutation of the 3 axes of the input, got [1, 1, 0]}}
  %0 = transformer.transpose %x [1, 1, 0] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
  return %0 : tensor<12x32x?xf32>
}

// -----

func.func @transpose_of_other_rank(%x: tensor<?x12x32xf32>) -> tensor<12x32x?xf32> {
  // expected-error@+1 {{'transformer.transpose' op expects a permutation of the 3 axes of the input, got [0, 1, 2, 3]}}
  %0 = transformer.transpose %x [0, 1, 2, 3] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
  return %0 : tensor<12x32x?xf32>
}

// -----

func.func @transpose_c2(%x: tensor<?x12x32xf32>) -> tensor<32x12x?xf32> {
  // expected-error@+1 {{'transformer.transpose' op expects a result of shape 12x32x?, got 32x12x?}}
  %0 = transformer.transpose %x [1, 2, 0] : tensor<?x12x32xf32> -> tensor<32x12x?xf32>
  return %0 : tensor<32x12x?xf32>
}

// -----

func.func @contract_c1(%x: tensor<?x384xf32>, %w: tensor<384x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects a specification 'axes,axes->axes', got 'ti->tn'}}
  %0 = transformer.contract "ti->tn" %x, %w : tensor<?x384xf32>, tensor<384x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @contract_with_a_letter_twice(%x: tensor<?x384xf32>, %w: tensor<384x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects distinct lower-case letters in 'ti,ii->ti', got 'ii'}}
  %0 = transformer.contract "ti,ii->ti" %x, %w : tensor<?x384xf32>, tensor<384x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @contract_c2(%x: tensor<?x384xf32>, %w: tensor<384x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects axes of the result among those of the operands, got 'm' in 'ti,ni->tm'}}
  %0 = transformer.contract "ti,ni->tm" %x, %w : tensor<?x384xf32>, tensor<384x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @contract_of_other_rank(%x: tensor<?x384xf32>, %w: tensor<384x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects a left operand of rank 3 for 'thi', got 'tensor<?x384xf32>'}}
  %0 = transformer.contract "thi,ni->tn" %x, %w : tensor<?x384xf32>, tensor<384x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @contract_c3(%x: tensor<?x384xf32>, %w: tensor<384x380xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects axis 'i' to have one size, got 384 and 380}}
  %0 = transformer.contract "ti,ni->tn" %x, %w : tensor<?x384xf32>, tensor<384x380xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @contract_c4(%x: tensor<?x12x32xf32>) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.contract' op expects 2 segments in 'in' for 'thd,khd->thk', got 0}}
  %0 = transformer.contract "thd,khd->thk" %x, %x : tensor<?x12x32xf32>, tensor<?x12x32xf32> -> tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @contract_with_a_static_row(%x: tensor<?x384xf32>, %w: tensor<384x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.contract' op expects axis 'm' to be static, got 'tensor<?x384xf32>'}}
  %0 = transformer.contract "mi,ni->mn" %x, %w : tensor<?x384xf32>, tensor<384x384xf32> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @mask_bias_c1(%m: tensor<?x?xi1>) -> tensor<?x?xf32> {
  // expected-error@+1 {{'transformer.mask_bias' op expects 'hidden' of -1e4 or less, got -1.000000e+02 : f32}}
  %0 = transformer.mask_bias %m {hidden = -100.0 : f32} : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

func.func @mask_bias_c2(%m: tensor<?x?xi1>) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.mask_bias' op expects a result of the mask's shape ?x?, got 'tensor<?x12x?xf32>'}}
  %0 = transformer.mask_bias %m {hidden = -1.0e9 : f32} : tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @select_c1(%m: tensor<?x?xi1>, %s: tensor<?x384xf32>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.select' op expects scores tensor<?xHx?xf32>, got 'tensor<?x384xf32>'}}
  %0 = transformer.select %m, %s {hidden = -1.0e9 : f32} : tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @select_c2(%m: tensor<?x?xi1>, %s: tensor<?x12x?xf32>) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.select' op expects 'hidden' of -1e4 or less, got 0x7FC00000 : f32}}
  %0 = transformer.select %m, %s {hidden = 0x7FC00000 : f32} : tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @softmax_c1(%s: tensor<?x12x64xf32>, %rows: !transformer.segments) -> tensor<?x12x64xf32> {
  // expected-error@+1 {{'transformer.softmax' op expects scores tensor<?xHx?xf32>, got 'tensor<?x12x64xf32>'}}
  %0 = transformer.softmax %s in(%rows) : tensor<?x12x64xf32>
  return %0 : tensor<?x12x64xf32>
}

// -----

transformer.parameter @even : tensor<12x256xf32> from "even" // expected-note {{the parameter is defined here}}
func.func @relative_bias_c1(%rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.relative_bias' op expects table '@even' of 12 heads and an odd number of distances, got shape 12x256}}
  %0 = transformer.relative_bias @even in(%rows, %rows) : tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @far : tensor<12x2097155xf32> from "far" // expected-note {{the parameter is defined here}}
func.func @relative_bias_far(%rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.relative_bias' op expects table '@far' of distances up to 2^20, got 1048577}}
  %0 = transformer.relative_bias @far in(%rows, %rows) : tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

func.func @relative_bias_no_table(%rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // expected-error@+1 {{'transformer.relative_bias' op expects table '@none' to be a parameter, got no such symbol}}
  %0 = transformer.relative_bias @none in(%rows, %rows) : tensor<?x12x?xf32>
  return %0 : tensor<?x12x?xf32>
}

// -----

transformer.parameter @table : tensor<12x257xf32> from "table"
func.func @relative_bias_c2(%rows: !transformer.segments) -> tensor<?x12xf32> {
  // expected-error@+1 {{'transformer.relative_bias' op expects scores tensor<?xHx?xf32>, got 'tensor<?x12xf32>'}}
  %0 = transformer.relative_bias @table in(%rows, %rows) : tensor<?x12xf32>
  return %0 : tensor<?x12xf32>
}

// -----

func.func @repeat_heads_c1(%kh: tensor<?x2x64xf32>) -> tensor<?x7x64xf32> {
  // expected-error@+1 {{'transformer.repeat_heads' op expects a multiple of the input's 2 heads, got 7}}
  %0 = transformer.repeat_heads %kh : tensor<?x2x64xf32> -> tensor<?x7x64xf32>
  return %0 : tensor<?x7x64xf32>
}

// -----

func.func @repeat_heads_c2(%kh: tensor<?x2x64xf32>) -> tensor<?x8x32xf32> {
  // expected-error@+1 {{'transformer.repeat_heads' op expects heads of size 64, got 32}}
  %0 = transformer.repeat_heads %kh : tensor<?x2x64xf32> -> tensor<?x8x32xf32>
  return %0 : tensor<?x8x32xf32>
}

// -----

func.func @mask_of_no_kind(%rows: !transformer.segments) {
  // expected-error@+1 {{expected 'all', 'causal', 'from' or 'to', got 'window'}}
  %m = transformer.mask window in(%rows, %rows)
  return
}

// -----

func.func @mask_without_itself(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a query that sees itself, got 'from i + 1'}}
  %m = transformer.mask from i + 1 to i + 3 in(%rows, %rows)
  return
}

// -----

func.func @mask_before_itself(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a query that sees itself, got 'to i / 4 * 4 + 3'}}
  %m = transformer.mask to i / 4 * 4 + 3 in(%rows, %rows)
  return
}

// -----

// It begins before the query at first, and overtakes it.
func.func @mask_overtaking(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a query that sees itself, got 'from i * 2 - 100'}}
  %m = transformer.mask from i * 2 - 100 in(%rows, %rows)
  return
}

// -----

func.func @mask_falling_behind(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a query that sees itself, got 'to i / 2 + 100'}}
  %m = transformer.mask to i / 2 + 100 in(%rows, %rows)
  return
}

// -----

func.func @mask_of_no_size(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a position of sizes from 1 and numbers of at most 2^30, got 'i / 0 * 4'}}
  %m = transformer.mask from i / 0 * 4 in(%rows, %rows)
  return
}

// -----

func.func @mask_too_far(%rows: !transformer.segments) {
  // expected-error@+1 {{expects a position of sizes from 1 and numbers of at most 2^30, got 'i - 1073741825'}}
  %m = transformer.mask from i - 1073741825 in(%rows, %rows)
  return
}

// -----

func.func @pair_sum_c1(%q: tensor<?x20xf32>, %k: tensor<?x24xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.pair_sum' op expects rows, keys and a result tensor<?x?xWxf32> of one width, got 'tensor<?x20xf32>', 'tensor<?x24xf32>' and 'tensor<?x?x20xf32>'}}
  %0 = transformer.pair_sum %q, %k in(%rows, %rows) : tensor<?x20xf32>, tensor<?x24xf32> -> tensor<?x?x20xf32>
  return
}

// -----

func.func @pair_sum_c1_result(%q: tensor<?x20xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.pair_sum' op expects rows, keys and a result tensor<?x?xWxf32> of one width, got 'tensor<?x20xf32>', 'tensor<?x20xf32>' and 'tensor<?x20x?xf32>'}}
  %0 = transformer.pair_sum %q, %q in(%rows, %rows) : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x20x?xf32>
  return
}
