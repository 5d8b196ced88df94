// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

!x = tensor<?x4xf32>
func.func @recurrence_c1(%x: !x, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects a row of each input and at least one carried value as arguments of its region, got 1 inputs and 1 arguments}}
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x):
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c1_input(%x: !x, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects argument #0 of its region to be 'tensor<?x4xf32>' as the input, got 'tensor<?x5xf32>'}}
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: tensor<?x5xf32>, %before: !x):
    transformer.next %before : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c1_carried(%x: !x, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects argument #1 of its region to be rows of f32 or numbers of keys, got 'tensor<4xf32>'}}
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: tensor<4xf32>):
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c2(%x: !x, %rows: !transformer.segments) {
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: tensor<?x5xf32>):
    // expected-error@+1 {{'transformer.next' op expects the types of the carried values ('tensor<?x5xf32>') first, got ('tensor<?x4xf32>')}}
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c2_results(%x: !x, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects results of the types of its 'transformer.next' ('tensor<?x4xf32>', 'tensor<?x4xf32>'), got ('tensor<?x4xf32>')}}
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    transformer.next %now, %now : !x, !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c3(%x: !x, %s: tensor<?x5xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects no values in 'from', or those of the carried types ('tensor<?x4xf32>'), got ('tensor<?x5xf32>')}}
  %0 = transformer.recurrence(%x : !x) from(%s : tensor<?x5xf32>) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c4(%x: !x, %rows: !transformer.segments) {
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'arith.addf' op in a recurrence: expects operations of the model level on values of f32}}
    %1 = arith.addf %now, %before : !x
    transformer.next %1 : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c4_segments(%x: !x, %rows: !transformer.segments) {
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'transformer.blocks' op in a recurrence: expects operations of the model level on values of f32}}
    %1 = transformer.blocks %rows, 2
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c5(%x: !x, %rows: !transformer.segments) {
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'transformer.next' op in a recurrence: expects values of the step, weights, segments and keys of a memory, got others as operand #0}}
    transformer.next %x : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
!c = !transformer.cache<4>
func.func @recurrence_c5_history(%x: !x, %rows: !transformer.segments, %c: !c) {
  %after = transformer.append %c, %x in(%rows) : !c
  %seen = transformer.history %rows
  %keys = transformer.cached %after in(%seen) : !c -> !x
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'transformer.pair_sum' op in a recurrence: expects values of the step, weights, segments and keys of a memory, got others as operand #1}}
    %1 = transformer.pair_sum %now, %keys in(%rows, %seen) : !x, !x -> tensor<?x?x4xf32>
    transformer.next %now : !x
  }
  return
}

// -----

!x = tensor<?x4xf32>
func.func @recurrence_c5_rows(%x: !x, %rows: !transformer.segments) {
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !x {
  ^bb0(%now: !x, %before: !x):
    // expected-error@+1 {{'transformer.pair_sum' op in a recurrence: sees rows of other steps, expected keys of a memory}}
    %1 = transformer.pair_sum %now, %before in(%rows, %rows) : !x, !x -> tensor<?x?x4xf32>
    transformer.next %now : !x
  }
  return
}

// -----

func.func @concat_c1(%x: tensor<?x4xf32>, %y: tensor<?x3xf32>) {
  // expected-error@+1 {{'transformer.concat' op expects a result as wide as its 2 inputs together, 7, got 8}}
  %0 = transformer.concat %x, %y : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x8xf32>
  return
}
