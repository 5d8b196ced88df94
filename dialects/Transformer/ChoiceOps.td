// SPDX-License-Identifier: Apache-2.0
/// Rows that choose among numbers, and mathematics of what they chose: experts are linear maps that
/// each row chooses, with anything on rows between them.
#ifndef HEDDLE_TRANSFORMER_CHOICE_OPS
#define HEDDLE_TRANSFORMER_CHOICE_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_ChoicesOp : Transformer_Op<"choices", [Pure,
    DeclareOpInterfaceMethods<Transformer_DerivedRowsInterface, ["deriveSpace"]>]> {
  let summary = "what each row chooses, `count` of something, as rows of their own";
  let description = [{
    Row r of the segments has the rows r * count to (r + 1) * count - 1 of the result, its first
    choice first. `top_k` makes choices, `repeat` and `split_rows` give values to them,
    `pool` leads back. What has rows of blocks or sequences has choices of these.

    Constraints:
    - C1: the count is 1 to 255.
    - C2: the rows are no choices themselves.

    ```mlir
    %two = transformer.choices %rows, 2
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows, I64Attr:$count);
  let results = (outs Transformer_SegmentsType:$result);
  let assemblyFormat = "$rows `,` $count attr-dict";
  let hasVerifier = 1;
}

def Transformer_TopKOp : Transformer_Op<"top_k", [Pure]> {
  let summary = "the numbers of the largest columns of each row, and what is in them";
  let description = [{
    `choice[r * count + j]` is the column of row r with the j-th largest element, and `value[r, j]`
    that element; of equal elements the one of the lower column is first. A NaN is larger than any
    number and equal to any other NaN, so that what is made of the values of a row with NaNs is NaN;
    0 and -0 are equal.

    Source: the gate of Shazeer et al., "Outrageously large neural networks: the sparsely-gated
    mixture-of-experts layer", without noise.

    Constraints:
    - C1: `to` are choices, as many for each row as `value` has columns.
    - C2: the input has at least so many columns.

    ```mlir
    %e, %v = transformer.top_k %logits to(%two) : tensor<?x16xf32> -> tensor<?x2xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$choices);
  let results = (outs Transformer_Ids:$choice, Transformer_Rows:$value);
  let assemblyFormat = [{
    $input `to` `(` $choices `)` attr-dict `:` type($input) `->` type($value)
  }];
  let hasVerifier = 1;
}

def Transformer_RepeatOp : Transformer_Op<"repeat", [Pure,
    TypesMatchWith<"the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "each row, once for every choice of it";
  let description = [{
    `result[r * count + j, :] = input[r, :]`. A `chosen_linear` reads the input in its place.

    Constraints:
    - C1: `to` are choices.

    ```mlir
    %c = transformer.repeat %x to(%two) : tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$choices);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input `to` `(` $choices `)` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_SplitRowsOp : Transformer_Op<"split_rows", [Pure]> {
  let summary = "equal parts of the columns of each row as its choices";
  let description = [{
    `result[r * count + j, c] = input[r, j * width + c]`, where `width` is the result's.

    Constraints:
    - C1: `to` are choices, and the input has `count` times as many columns as the result.

    ```mlir
    %g = transformer.split_rows %gates to(%two) : tensor<?x2xf32> -> tensor<?x1xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$choices);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `to` `(` $choices `)` attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_JoinRowsOp : Transformer_Op<"join_rows", [Pure]> {
  let summary = "the choices of each row side by side: what split_rows undoes";
  let description = [{
    `result[r, j * width + c] = input[r * count + j, c]`, where `width` is the input's. Between
    `split_rows` and this, equal parts of the columns, such as heads, are rows of their own: a norm
    or a rotation of each is one of rows.

    Constraints:
    - C1: `in` are choices, and the result has `count` times as many columns as the input.

    ```mlir
    %q = transformer.join_rows %h in(%two) : tensor<?x32xf32> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$choices);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `in` `(` $choices `)` attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_PlaceColumnsOp : Transformer_Op<"place_columns", [Pure]> {
  let summary = "the values of choices in the columns that were chosen, zero in all others";
  let description = [{
    `result[r, choice[r * count + j]] = value[r, j]`, and 0 in columns that row r did not choose:
    what the weights of all experts are.

    Constraints:
    - C1: the choices are those of a `top_k`, with as many for each row as the value has columns, of
      as many columns as the result has.

    ```mlir
    %g = transformer.place_columns %gates at %e : tensor<?x2xf32> -> tensor<?x16xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$value, Transformer_Ids:$choice);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$value `at` $choice attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ChosenLinearOp : Transformer_Op<"chosen_linear", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the linear map that each row has chosen, of several";
  let description = [{
    `result[c, i] = sum over k of input[c, k] * weight[choice[c] * n + i, k]`, plus
    `bias[choice[c] * n + i]`, where n is the width of the result. Rows that chose the same map are
    computed together; the work is that of one map for each row, however many there are to choose
    from.

    Constraints:
    - C1: there are 1 to 65536 maps.
    - C2: the weight is a parameter of shape [maps * result width, input width].
    - C3: the bias, if there is one, is a parameter of shape [maps * result width].
    - C4: the choices are those of a `top_k` of at most so many columns, or an input of the entry.

    ```mlir
    %h = transformer.chosen_linear %c, @inner.weight of(%e) {maps = 16 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_Ids:$choice,
                       FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias,
                       I64Attr:$maps);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? `of` `(` $choice `)` attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_RowSoftmaxOp : Transformer_Op<"row_softmax", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum, over the columns of each row";
  let description = [{
    A row with a NaN, with plus infinity or with nothing but minus infinity is all NaN.

    ```mlir
    %g = transformer.row_softmax %v : tensor<?x2xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif
