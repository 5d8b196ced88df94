// SPDX-License-Identifier: Apache-2.0
/// Recurrences: rows of a sequence in order, with values that each step hands to the next.
#ifndef HEDDLE_TRANSFORMER_RECURRENCE_OPS
#define HEDDLE_TRANSFORMER_RECURRENCE_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_RecurrenceOp : Transformer_Op<"recurrence", [Pure, AttrSizedOperandSegments,
    SingleBlock]> {
  let summary = "mathematics on one row after the other, with values carried from row to row";
  let description = [{
    The region is one step of every sequence. Its first arguments are the row of each input at that
    step; the others are the carried values, as the step before left them. Before the first step
    these are `from`, a row for each sequence, or zeros. Steps go from the first row of a sequence to
    the last; with `reversed` from the last to the first.

    `next` ends a step: it has the new carried values, then what the step gives. Results are the
    carried values after the last step, a row for each sequence, then what the steps gave, as rows of
    the inputs: row p is that of the step at row p, also where steps are reversed.

    Cells of networks are what a region says. With a_t = W x_t + b, one with tanh is
    `h_t = tanh(a_t + U h_(t-1))`.

    In the region `in` stands for the row of each sequence at the step, so that operations may look
    from it at keys that no step changes: those of a memory.

    What is carried may be numbers of keys, tensor<?xHx?xf32>, such as where a step has looked: then
    `from` says which keys they are.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical
    machine translation"; Hochreiter and Schmidhuber, "Long short-term memory".

    Constraints:
    - C1: there is an input and a carried value; the first arguments of the region have the types of
      the inputs, the others are rows or numbers of keys.
    - C2: `next` has the types of the carried values first, and the results have its types.
    - C3: `from` is nothing, where rows alone are carried, or a value for each carried one, of its
      type.
    - C4: the region has operations of this dialect alone, without regions, on values of f32.
    - C5: what comes from outside of the region is weights, segments, the recurrence's at most once
      for each operation, or keys of a memory: rows that `cached` gives of a cache that nothing
      appends to, or a view of them.

    ```mlir
    %last, %h = transformer.recurrence(%x : tensor<?x18xf32>) in(%rows) reversed -> tensor<?x20xf32>, tensor<?x20xf32> {
    ^bb0(%now: tensor<?x18xf32>, %before: tensor<?x20xf32>):
      %a = transformer.linear %now, @input.weight, @input.bias : tensor<?x18xf32> -> tensor<?x20xf32>
      %u = transformer.linear %before, @hidden.weight : tensor<?x20xf32> -> tensor<?x20xf32>
      %sum = transformer.add %a, %u : tensor<?x20xf32>, tensor<?x20xf32>
      %new = transformer.activate tanh %sum : tensor<?x20xf32>
      transformer.next %new, %new : tensor<?x20xf32>, tensor<?x20xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Transformer_Rows>:$inputs, Variadic<Transformer_RowsOrScores>:$initial,
                       Transformer_SegmentsType:$rows, UnitAttr:$reversed);
  let results = (outs Variadic<Transformer_RowsOrScores>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `:` type($inputs) `)` (`from` `(` $initial^ `:` type($initial) `)`)?
    `in` `(` $rows `)` (`reversed` $reversed^)? `->` type($results) attr-dict-with-keyword
    custom<Body>($body)
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many values are carried. They are the first results and the first operands of `next`,
    /// and the arguments of the region after those of the inputs.
    unsigned getNumCarried() { return getBody().getNumArguments() - getInputs().size(); }
    /// A result that has rows of the inputs.
    bool isGiven(unsigned result) { return result >= getNumCarried(); }
  }];
}

def Transformer_NextOp : Transformer_Op<"next", [Pure, Terminator, HasParent<"RecurrenceOp">]> {
  let summary = "ends a step of a recurrence: the values carried on, then what the step gives";
  let arguments = (ins Variadic<Transformer_RowsOrScores>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif
