// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

!x = tensor<?x4xf32>
func.func @state(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<4> {transformer.name = "s"})
    -> (!x {transformer.name = "y"}, !transformer.state<4> {transformer.name = "s"}) {
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<4>
  // expected-error@+1 {{'transformer.recurrence' op carries value #0 from no state in an entry that reads a cache or a state, whose runs may begin in the middle of a sequence; expected 'from' to be what 'transformer.load' gives of a state, and 'transformer.store' to leave what is carried there}}
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

// -----

!x = tensor<?x4xf32>
!s = !transformer.state<4>
func.func @reversed(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %s: !s {transformer.name = "s"})
    -> (!x {transformer.name = "y"}, !s {transformer.name = "s"}) {
  %h = transformer.load %s : !s
  // expected-error@+1 {{'transformer.recurrence' op goes backwards in an entry that reads a cache or a state, whose runs may begin in the middle of a sequence; expected an entry that reads none}}
  %last, %y = transformer.recurrence(%x : !x) from(%h : !x) in(%rows) reversed -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    %new = transformer.add %now, %before : !x, !x
    transformer.next %new, %new : !x, !x
  }
  %s1 = transformer.store %s, %last : !s
  return %y, %s1 : !x, !s
}

// -----

!x = tensor<?x4xf32>
!s = !transformer.state<4>
func.func @store(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %s: !s {transformer.name = "s"})
    -> (!s {transformer.name = "s"}) {
  // expected-error@+1 {{'transformer.store' op stores rows of tokens, expected a row for each sequence}}
  %s1 = transformer.store %s, %x : !s
  return %s1 : !s
}

// -----

!x = tensor<?x4xf32>
func.func @spread(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.spread' op spreads rows of tokens, expected a row for each sequence}}
  %y = transformer.spread %x to(%rows) : !x
  return %y : !x
}

// -----

!x = tensor<?x4xf32>
func.func @spread_blocks(%x: !x {transformer.name = "x"}, %rows: !transformer.segments) -> (!x {transformer.name = "y"}) {
  %blocks = transformer.blocks %rows, 2
  %pooled = transformer.pool max %x in(%rows) : !x
  // expected-error@+1 {{'transformer.spread' op spreads rows over those of blocks(tokens, 2), expected rows of tokens}}
  %y = transformer.spread %pooled to(%blocks) : !x
  return %y : !x
}

// -----

!x = tensor<?x4xf32>
!c = !transformer.cache<4>
!s = !transformer.state<4>
func.func @cache_as_rows(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %source: !transformer.segments {transformer.name = "memory"},
    %c: !c {transformer.name = "c"}, %s: !s {transformer.name = "s"}) -> (!x {transformer.name = "y"}, !s {transformer.name = "s"}) {
  %keys = transformer.cached %c in(%source) : !c -> !x
  %h = transformer.load %s : !s
  %last, %y = transformer.recurrence(%x : !x) from(%h : !x) in(%rows) -> !x, !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'transformer.add' op reads a cache as rows, expected only attention and its mathematics to read one}}
    %new = transformer.add %now, %keys : !x, !x
    transformer.next %new, %new : !x, !x
  }
  %s1 = transformer.store %s, %last : !s
  return %y, %s1 : !x, !s
}
