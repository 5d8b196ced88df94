// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// What constraint C5 of a kernel means for a nest.

!rows = !dataflow.buffer<[tokens, 384], f32>
// expected-error@+1 {{'dataflow.kernel' op expects input #0 of f32 with axes 'thd', got '!dataflow.buffer<[tokens, 384], f32>'}}
dataflow.kernel @nest_rank : (!rows) -> !rows computes #dataflow.nest<"thd->td", sum> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axes 'axes,...->axes', got 'thd'}}
dataflow.kernel @no_arrow : (!dataflow.buffer<[tokens, 12, 32], f32>) -> !dataflow.buffer<[tokens, 12, 32], f32>
    computes #dataflow.nest<"thd", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axes that are distinct lower-case letters, got 'tdd'}}
dataflow.kernel @letters : (!dataflow.buffer<[tokens, 32, 32], f32>) -> !dataflow.buffer<[tokens, 32], f32>
    computes #dataflow.nest<"tdd->td", sum> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects input #0 of f32 with axes 't', got '!dataflow.buffer<[tokens], i32>'}}
dataflow.kernel @integers : (!dataflow.buffer<[tokens], i32>) -> !dataflow.buffer<[tokens], f32>
    computes #dataflow.nest<"t->t", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 't' to be a run-time size, got '!dataflow.buffer<[4, 32], f32>'}}
dataflow.kernel @constant_rows : (!dataflow.buffer<[4, 32], f32>) -> !dataflow.buffer<[4, 32], f32>
    computes #dataflow.nest<"td->td", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 'h' to be a constant size, got '!dataflow.buffer<[tokens, longest], f32>'}}
dataflow.kernel @longest_heads : (!dataflow.buffer<[tokens, longest], f32>) -> !dataflow.buffer<[tokens, longest], f32>
    computes #dataflow.nest<"th->th", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 'd' to have one size, got 32 and 16}}
dataflow.kernel @sizes : (!dataflow.buffer<[tokens, 12, 32], f32>, !dataflow.buffer<[tokens, 12, 16], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32>
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%x0: f32, %x1: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 'h' of a cache to have a size that divides it, got 4 of 6}}
dataflow.kernel @shares : (!dataflow.buffer<[tokens, 6, 32], f32>, !dataflow.cache<[4, 32], f32, rows>) -> !dataflow.buffer<[tokens, 6, longest], f32>
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%x0: f32, %x1: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects the row axis 't' in the result, as rows such as tokens, got 'td->d' and '!dataflow.buffer<[32], f32>'}}
dataflow.kernel @no_row : (!dataflow.buffer<[tokens, 32], f32>) -> !dataflow.buffer<[32], f32>
    computes #dataflow.nest<"td->d", sum> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a softmax over the last axis of several, not 't', got 'dt->dt'}}
dataflow.kernel @softmax : (!dataflow.buffer<[32, tokens], f32>) -> !dataflow.buffer<[32, tokens], f32>
    computes #dataflow.nest<"dt->dt", softmax> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axes 't' and 'k' with 'hidden', got 'td->td'}}
dataflow.kernel @hidden : (!dataflow.buffer<[tokens, 32], f32>) -> !dataflow.buffer<[tokens, 32], f32>
    computes #dataflow.nest<"td->td", none, hidden = -1.0e9 : f32> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects the row axis 't' in the result, as rows such as tokens, got 'td->td' and '!dataflow.buffer<[longest, 32], f32>'}}
dataflow.kernel @longest_rows : (!dataflow.buffer<[tokens, 32], f32>) -> !dataflow.buffer<[longest, 32], f32>
    computes #dataflow.nest<"td->td", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 't' to run over one row space, got tokens and sequences}}
dataflow.kernel @two_sizes : (!dataflow.buffer<[tokens, 32], f32>) -> !dataflow.buffer<[sequences, 32], f32>
    computes #dataflow.nest<"td->td", none> {
^bb0(%x0: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects sequences as the only run-time size, of one axis, got 'td,kd->tk' over sequences and tokens}}
dataflow.kernel @keys_of_sequences : (!dataflow.buffer<[sequences, 32], f32>, !dataflow.buffer<[tokens, 32], f32>) -> !dataflow.buffer<[sequences, longest], f32>
    computes #dataflow.nest<"td,kd->tk", sum> {
^bb0(%x0: f32, %x1: f32):
  dataflow.yield %x0
}

// -----

// expected-error@+1 {{expects 'visibility' only with 'hidden', got}}
dataflow.kernel @visible_without_hidden : (!dataflow.buffer<[tokens, 2, longest], f32>) -> !dataflow.buffer<[tokens, 2, longest], f32>
    computes #dataflow.nest<"thk->thk", none, visibility = <from i - 2>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a first input with keys 'k', and an axis 'j' of an odd size that others have, with 'slides', got 'thk,whj->tkw'}}
dataflow.kernel @slides_evenly : (!dataflow.buffer<[tokens, 1, longest], f32>, !dataflow.buffer<[4, 1, 2], f32>) -> !dataflow.buffer<[tokens, longest, 4], f32>
    computes #dataflow.nest<"thk,whj->tkw", sum, slides> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a divide_by_sum over the last axis of several, not 't', got 'kt->kt'}}
dataflow.kernel @divided_by_rows : (!dataflow.buffer<[longest, tokens], f32>) -> !dataflow.buffer<[longest, tokens], f32>
    computes #dataflow.nest<"kt->kt", divide_by_sum> {
^bb0(%x: f32):
  dataflow.yield %x
}
