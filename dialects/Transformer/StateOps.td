// SPDX-License-Identifier: Apache-2.0
/// States: one row for each sequence, accumulated over all positions so far.
#ifndef HEDDLE_TRANSFORMER_STATE_OPS
#define HEDDLE_TRANSFORMER_STATE_OPS

include "dialects/Transformer/ParameterOps.td"

/// `$rows`, as wide as the state.
class Transformer_AsWideAsState<string rows, string text>
    : TypesMatchWith<text, "state", rows,
      "::mlir::RankedTensorType::get({::mlir::ShapedType::kDynamic, "
      "::llvm::cast<StateType>($_self).getWidth()}, "
      "::mlir::Float32Type::get($_self.getContext()))">;

def Transformer_PrefixMeanOp : Transformer_Op<"prefix_mean", [Pure,
    Transformer_AsWideAsState<"input", "the rows are as wide as the state">,
    Transformer_AsWideAsState<"result", "the result is as wide as the state">]> {
  let summary = "the mean of all rows of the sequence up to and including each row";
  let description = [{
    `g[p] = (y[0] + ... + y[p]) / (p + 1)` for the row at position p of its sequence. The state is
    the sum of the rows of earlier runs; before the first run it counts as zero, whatever its memory
    holds. The sum is taken in f32, in the order of positions, so that one run and several runs give
    the same bits.

    Source: the average attention of Zhang, Xiong and Su, "Accelerating neural Transformer via an average
    attention network".

    Constraints:
    - C1: the rows and the result are as wide as the state.
    - C2: the state is not the result of an `accumulate`.

    ```mlir
    %g = transformer.prefix_mean %y, %s0 in(%rows) : !transformer.state<512>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_StateType:$state,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $state `in` `(` $rows `)` attr-dict `:` qualified(type($state))
  }];
  let hasVerifier = 1;
}

def Transformer_AccumulateOp : Transformer_Op<"accumulate", [Pure,
    TypesMatchWith<"the result has the type of the state", "state", "result", "$_self">,
    Transformer_AsWideAsState<"input", "the rows are as wide as the state">]> {
  let summary = "adds the rows of each sequence to the state, in their order";
  let description = [{
    Entries take states as arguments, as they take caches, and return those they have accumulated
    into.

    Constraints:
    - C1: the rows are as wide as the state, and the result is a state of the same type.
    - C2: no other operation accumulates into the same state: it is changed in place.
    - C3: the state is not the result of another `accumulate`.

    ```mlir
    %s1 = transformer.accumulate %s0, %y in(%rows) : !transformer.state<512>
    ```
  }];
  let arguments = (ins Transformer_StateType:$state, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_StateType:$result);
  let assemblyFormat = [{
    $state `,` $input `in` `(` $rows `)` attr-dict `:` qualified(type($state))
  }];
  let hasVerifier = 1;
}

#endif
