// SPDX-License-Identifier: Apache-2.0
/// States: what all positions of a sequence so far left, their sum, the last of their rows, or a row
/// that a recurrence carries.
#ifndef HEDDLE_TRANSFORMER_STATE_OPS
#define HEDDLE_TRANSFORMER_STATE_OPS

include "dialects/Transformer/ParameterOps.td"

/// `$rows`, as wide as the state; of one with keys, its numbers of every key.
class Transformer_AsWideAsState<string rows, string text>
    : TypesMatchWith<text, "state", rows, "::llvm::cast<StateType>($_self).getRows()">;

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
  let arguments = (ins Transformer_Rows:$input, Transformer_RowState:$state,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $state `in` `(` $rows `)` attr-dict `:` qualified(type($state))
  }];
  let hasVerifier = 1;
}

def Transformer_AccumulateOp : Transformer_Op<"accumulate", [Pure, Transformer_ChangesKept,
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
  let arguments = (ins Transformer_RowState:$state, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_StateType:$result);
  let assemblyFormat = [{
    $state `,` $input `in` `(` $rows `)` attr-dict `:` qualified(type($state))
  }];
  let hasVerifier = 1;
}

def Transformer_KeepOp : Transformer_Op<"keep", [Pure, Transformer_ChangesKept,
    TypesMatchWith<"the result has the type of the state", "state", "result", "$_self">]> {
  let summary = "keeps the last rows of each sequence in the state";
  let description = [{
    The state has n rows of the input's width: the row at position p of its sequence takes the place
    of the one n positions before it, at p modulo n. What has not been written yet is anything; the
    rows before the first position count as zero for what reads them, such as a causal `convolve`.

    Constraints:
    - C1: the state has a whole number of rows of the input, and the result is of its type.
    - C2: no other operation changes the same state: it is changed in place.
    - C3: the state is not the result of another `keep` or `accumulate`.

    ```mlir
    %s1 = transformer.keep %s0, %x in(%rows) : !transformer.state<768>, tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_RowState:$state, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows);
  let results = (outs Transformer_StateType:$result);
  let assemblyFormat = [{
    $state `,` $input `in` `(` $rows `)` attr-dict `:` qualified(type($state)) `,` type($input)
  }];
  let hasVerifier = 1;
}

def Transformer_LoadOp : Transformer_Op<"load", [Pure,
    Transformer_AsWideAsState<"result", "the result is as wide as the state">]> {
  let summary = "the row that each sequence has in a state before this run";
  let description = [{
    A row for each sequence: what `store` left in the run before. Before the first run it is zero or,
    with `given`, what another entry has stored in the state of that name. A state with keys has its
    numbers for each key of the memory `over`.

    Constraints:
    - C1: the result is as wide as the state.
    - C2: the state is as it was before the run: nothing has changed it.
    - C3: `over` is there exactly where the state has keys, which no other entry gives.

    ```mlir
    %h = transformer.load %s0 : !transformer.state<512>
    %start = transformer.load %s1 {given} : !transformer.state<512>
    %looked = transformer.load %s2 over(%memory) : !transformer.state<1, keys>
    ```
  }];
  let arguments = (ins Transformer_StateType:$state, Optional<Transformer_SegmentsType>:$keys,
                       UnitAttr:$given);
  let results = (outs Transformer_RowsOrScores:$result);
  let assemblyFormat = [{
    $state (`over` `(` $keys^ `)`)? attr-dict `:` qualified(type($state))
  }];
  let hasVerifier = 1;
}

def Transformer_StoreOp : Transformer_Op<"store", [Pure, Transformer_ChangesKept,
    TypesMatchWith<"the result has the type of the state", "state", "result", "$_self">,
    Transformer_AsWideAsState<"input", "the rows are as wide as the state">]> {
  let summary = "leaves a row for each sequence in the state";
  let description = [{
    What a recurrence carries from run to run is loaded before it and stored after it, so that a
    step, a prefix in one piece and a prefix in chunks are the same mathematics. What one entry
    stores, such as how a decoder starts, another may load.

    Constraints:
    - C1: the rows are as wide as the state, and the result is a state of the same type.
    - C2: no other operation changes the same state: it is changed in place.
    - C3: the state is as it was before the run: nothing has changed it.

    ```mlir
    %s1 = transformer.store %s0, %h : !transformer.state<512>
    %s3 = transformer.store %s2, %looked : !transformer.state<1, keys>
    ```
  }];
  let arguments = (ins Transformer_StateType:$state, Transformer_RowsOrScores:$input);
  let results = (outs Transformer_StateType:$result);
  let assemblyFormat = "$state `,` $input attr-dict `:` qualified(type($state))";
  let hasVerifier = 1;
}

#endif
