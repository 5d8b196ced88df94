// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

!x = tensor<?x4xf32>
func.func @state(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<4> {transformer.name = "s"})
    -> (!x {transformer.name = "y"}, !transformer.state<4> {transformer.name = "s"}) {
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<4>
  // expected-error@+1 {{'transformer.recurrence' op goes through the rows of an entry that reads a cache or a state, whose runs may begin in the middle of a sequence; expected an entry that reads none}}
  %last, %y = transformer.recurrence(%x : !x) in(%rows) -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    %new = transformer.add %now, %before : !x, !x
    transformer.next %new, %new : !x, !x
  }
  return %y, %s1 : !x, !transformer.state<4>
}

// -----

!x = tensor<?x4xf32>
func.func @blocks(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  %blocks = transformer.blocks %rows, 2
  %pooled = transformer.pool max %x in(%rows) to(%blocks) : !x
  // expected-error@+1 {{'transformer.recurrence' op goes through rows of blocks(tokens, 2), expected rows of tokens}}
  %last, %y = transformer.recurrence(%pooled : !x) in(%blocks) -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    %new = transformer.add %now, %before : !x, !x
    transformer.next %new, %new : !x, !x
  }
  return %y : !x
}

// -----

!x = tensor<?x4xf32>
func.func @pooled_input(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  %pooled = transformer.pool max %x in(%rows) : !x
  // expected-error@+1 {{'transformer.recurrence' op goes through rows of sequences, expected rows of tokens}}
  %last, %y = transformer.recurrence(%pooled : !x) in(%rows) -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    %new = transformer.add %now, %before : !x, !x
    transformer.next %new, %new : !x, !x
  }
  return %y : !x
}

// -----

!x = tensor<?x4xf32>
func.func @begin(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.recurrence' op begins with rows of tokens, expected a row for each sequence}}
  %last, %y = transformer.recurrence(%x : !x) from(%x : !x) in(%rows) -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    %new = transformer.add %now, %before : !x, !x
    transformer.next %new, %new : !x, !x
  }
  return %y : !x
}

// -----

!x = tensor<?x4xf32>
func.func @concat(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %pooled = transformer.pool max %x in(%rows) : !x
  // expected-error@+1 {{'transformer.concat' op puts rows of tokens and of sequences side by side, expected rows of one space}}
  %y = transformer.concat %x, %pooled : (!x, !x) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!x = tensor<?x4xf32>
!wide = tensor<?x2199023255552xf32>
func.func @wide(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.recurrence' op expects a product of constant dimensions of at most 2^40, got more}}
  %last, %other, %y = transformer.recurrence(%x : !x) in(%rows) -> !x, !wide, !x {
  ^bb0(%now: !x, %before: !x, %wide: !wide):
    transformer.next %now, %wide, %before : !x, !wide, !x
  }
  return %y : !x
}
