// SPDX-License-Identifier: Apache-2.0
// What is wrong with choices: each constraint, and what dispatches cannot be formed of.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics

func.func @choices_c1(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.choices' op expects 1 to 255 choices, got 0}}
  %c = transformer.choices %rows, 0
  return
}

// -----

func.func @choices_c1_many(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.choices' op expects 1 to 255 choices, got 256}}
  %c = transformer.choices %rows, 256
  return
}

// -----

func.func @choices_c2(%rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.choices' op expects rows that are no choices themselves, got choices(tokens, 2)}}
  %d = transformer.choices %c, 2
  return
}

// -----

func.func @top_k_c1(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.top_k' op expects choices in 'to', got tokens}}
  %e, %v = transformer.top_k %x to(%rows) : tensor<?x4xf32> -> tensor<?x2xf32>
  return
}

// -----

func.func @top_k_c1_count(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.top_k' op expects a value of 2 columns, one for each choice, got 3}}
  %e, %v = transformer.top_k %x to(%c) : tensor<?x4xf32> -> tensor<?x3xf32>
  return
}

// -----

func.func @top_k_c2(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 5
  // expected-error@+1 {{'transformer.top_k' op expects at least as many columns as choices, got 4 columns and 5 choices}}
  %e, %v = transformer.top_k %x to(%c) : tensor<?x4xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @repeat_c1(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.repeat' op expects choices in 'to', got tokens}}
  %y = transformer.repeat %x to(%rows) : tensor<?x4xf32>
  return
}

// -----

func.func @split_rows_c1(%x: tensor<?x5xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.split_rows' op expects 2 times the result's 2 columns, got 5}}
  %y = transformer.split_rows %x to(%c) : tensor<?x5xf32> -> tensor<?x2xf32>
  return
}

// -----

func.func @place_columns_c1(%v: tensor<?x2xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.place_columns' op expects the choices of a 'transformer.top_k'}}
  %g = transformer.place_columns %v at %ids : tensor<?x2xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @place_columns_c1_columns(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  %e, %v = transformer.top_k %x to(%c) : tensor<?x4xf32> -> tensor<?x2xf32>
  // expected-error@+1 {{'transformer.place_columns' op expects 2 values a row, chosen of 4 columns, got 2 of 5}}
  %g = transformer.place_columns %v at %e : tensor<?x2xf32> -> tensor<?x5xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @chosen_linear_c1(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.chosen_linear' op expects 1 to 65536 maps, got 0}}
  %y = transformer.chosen_linear %x, @w of(%ids) {maps = 0 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @chosen_linear_c2(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.chosen_linear' op expects weight '@w' of shape 8x4, got 12x4}}
  %y = transformer.chosen_linear %x, @w of(%ids) {maps = 2 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @chosen_linear_c1_many(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.chosen_linear' op expects 1 to 65536 maps, got 65537}}
  %y = transformer.chosen_linear %x, @w of(%ids) {maps = 65537 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @chosen_linear_c2_many(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.chosen_linear' op expects fewer maps, got 65536}}
  %y = transformer.chosen_linear %x, @w of(%ids) {maps = 65536 : i64} : tensor<?x4xf32> -> tensor<?x4611686018427387904xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
transformer.parameter @b : tensor<4xf32> from "b" // expected-note {{the parameter is defined here}}
func.func @chosen_linear_c3(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{'transformer.chosen_linear' op expects bias '@b' of shape 12, got 4}}
  %y = transformer.chosen_linear %x, @w, @b of(%ids) {maps = 3 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @chosen_linear_c4(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 1
  %e, %v = transformer.top_k %x to(%c) : tensor<?x4xf32> -> tensor<?x1xf32>
  // expected-error@+1 {{'transformer.chosen_linear' op expects choices of at most 3 columns, one for each map, got choices of 4}}
  %y = transformer.chosen_linear %x, @w of(%e) {maps = 3 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @chosen_linear_c4_positions(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %p = transformer.positions %rows
  // expected-error@+1 {{'transformer.chosen_linear' op expects choices of a 'transformer.top_k' or an input of the entry, got those of 'transformer.positions'}}
  %y = transformer.chosen_linear %x, @w of(%p) {maps = 3 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @pool_c1(%x: tensor<?x4xf32>, %rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  %b = transformer.blocks %rows, 2
  // expected-error@+1 {{'transformer.pool' op expects segments in 'to' whose rows are groups of those in 'in', got blocks(tokens, 2) of choices(tokens, 2)}}
  %y = transformer.pool sum %x in(%c) to(%b) : tensor<?x4xf32>
  return
}

// -----

func.func @blocks_of_choices(%rows: !transformer.segments) {
  %c = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.blocks' op expects rows that are no choices, got choices(tokens, 2)}}
  %b = transformer.blocks %c, 2
  return
}

// -----

// Where no dispatch can be formed: rows of one kind for those of another.
transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @encode(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %c = transformer.choices %rows, 1
  %l = transformer.columns %x from 0 : tensor<?x4xf32> -> tensor<?x3xf32>
  %e, %v = transformer.top_k %l to(%c) : tensor<?x3xf32> -> tensor<?x1xf32>
  // expected-error@+1 {{'transformer.chosen_linear' op has rows of tokens, expected rows of choices(tokens, 1), which have chosen}}
  %y = transformer.chosen_linear %x, @w of(%e) {maps = 3 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

transformer.parameter @w : tensor<12x4xf32> from "w"
func.func @encode(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %c = transformer.choices %rows, 1
  %d = transformer.choices %rows, 2
  %l = transformer.columns %x from 0 : tensor<?x4xf32> -> tensor<?x3xf32>
  %e, %v = transformer.top_k %l to(%c) : tensor<?x3xf32> -> tensor<?x1xf32>
  %r = transformer.repeat %x to(%d) : tensor<?x4xf32>
  // expected-error@+1 {{'transformer.chosen_linear' op has other choices than those that its rows are}}
  %y = transformer.chosen_linear %r, @w of(%e) {maps = 3 : i64} : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @encode(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %b = transformer.blocks %rows, 2
  %c = transformer.choices %b, 2
  // expected-error@+1 {{'transformer.repeat' op has choices of rows of blocks(tokens, 2), got rows of tokens}}
  %y = transformer.repeat %x to(%c) : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @encode(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %b = transformer.blocks %rows, 2
  %p = transformer.pool max %x in(%rows) to(%b) : tensor<?x4xf32>
  %c = transformer.choices %rows, 2
  %e, %v = transformer.top_k %x to(%c) : tensor<?x4xf32> -> tensor<?x2xf32>
  %w = transformer.columns %p from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  // expected-error@+1 {{'transformer.place_columns' op has values of rows of blocks(tokens, 2), expected the rows that chose}}
  %y = transformer.place_columns %w at %e : tensor<?x2xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Positions of choices count from the beginning of a run.
transformer.parameter @t : tensor<64x4xf32> from "t"
func.func @decode(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<4> {transformer.name = "s"}) -> (tensor<?x4xf32> {transformer.name = "y"}, !transformer.state<4> {transformer.name = "s"}) {
  %c = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.positions' op reads positions of choices in an entry that reads a cache or a state, whose runs may begin in the middle of a sequence; expected their rows, where they begin}}
  %p = transformer.positions %c
  %y = transformer.gather @t[%p] : tensor<?x4xf32>
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<4>
  return %y, %s1 : tensor<?x4xf32>, !transformer.state<4>
}
