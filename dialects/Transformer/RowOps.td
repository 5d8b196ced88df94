// SPDX-License-Identifier: Apache-2.0
/// Primitive mathematics on rows: look-ups, linear maps, element-wise functions, norms, pooling.
#ifndef HEDDLE_TRANSFORMER_ROW_OPS
#define HEDDLE_TRANSFORMER_ROW_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_GatherOp : Transformer_Op<"gather",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the row of a table for each id";
  let description = [{
    `result[t, :] = table[ids[t], :]`.

    Constraints:
    - C1: the table is a parameter of rank 2 whose width is the result's.

    ```mlir
    %x = transformer.gather @word.weight[%ids] : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, Transformer_Ids:$ids);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$table `[` $ids `]` attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::StringRef":$table, "::mlir::Value":$ids,
                                 "int64_t":$width)>];
}

def Transformer_PositionsOp : Transformer_Op<"positions", [Pure]> {
  let summary = "the position of each row in its sequence, from `offset`";
  let description = [{
    `result[t] = offset + t - first row of the sequence of t`, plus the positions that the history
    of that sequence had before this run of the entry, if the entry has caches.

    Constraints:
    - C1: the offset is not negative.

    ```mlir
    %p = transformer.positions %rows {offset = 2 : i64}
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Transformer_Ids:$result);
  let assemblyFormat = "$rows attr-dict";
  let hasVerifier = 1;
}

def Transformer_AnglesOp : Transformer_Op<"angles", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>]> {
  let summary = "the position of each row times frequencies: the angles of rotary positions";
  let description = [{
    `result[t, i] = p * frequencies[i]` where p is the position of t as `positions` counts it, from 0,
    in f32. Sines and cosines of them are `activate`.

    With `most` above 0 sequences have at most that many rows: what else the frequencies depend on
    does not hold beyond.

    Source: Su et al., "RoFormer: enhanced Transformer with rotary position embedding", section 3.2.

    Constraints:
    - C1: there are 1 to 1024 frequencies, finite, one for each column of the result.
    - C2: `most` is not negative.

    ```mlir
    %a = transformer.angles %rows {frequencies = array<f32: 1.0, 0.1>} : tensor<?x2xf32>
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows, DenseF32ArrayAttr:$frequencies,
                       DefaultValuedAttr<I64Attr, "0">:$most);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$rows attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Transformer_LinearOp : Transformer_Op<"linear",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "x W^T + b";
  let description = [{
    `result[t, n] = sum over k of input[t, k] * weight[n, k], plus bias[n]`.

    Constraints:
    - C1: the weight is a parameter of shape [result width, input width].
    - C2: the bias, if there is one, is a parameter of shape [result width].

    ```mlir
    %q = transformer.linear %x, @query.weight, @query.bias : tensor<?x384xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, FlatSymbolRefAttr:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$bias);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Transformer_ConvolveOp : Transformer_Op<"convolve", [Pure,
    DeclareOpInterfaceMethods<Transformer_CostInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    TypesMatchWith<"the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "a depthwise convolution over the rows of each sequence";
  let description = [{
    `result[t, c] = sum over j of weight[c, j] * input[t + (j - center) * dilation, c]`, plus
    `bias[c]`, where t counts the rows of one sequence and rows outside the sequence are zero. The
    center is the middle of the kernel, (kernel - 1) / 2 rounded down; with `causal` it is the last
    element of the kernel, so that a row sees none after it.

    A causal convolution may continue an earlier run: `after` is a state that has the rows before
    this run, as `keep` left them. One run and several runs give the same bits.

    Source: Kaiser, Gomez and Chollet, "Depthwise separable convolutions for neural machine
    translation"; causal ones are those of van den Oord et al., "WaveNet".

    Constraints:
    - C1: the weight is a parameter of shape [width, kernel]; the kernel has 1 to 256 elements.
    - C2: the bias, if there is one, is a parameter of shape [width].
    - C3: the dilation is positive, and the kernel reaches at most 2^20 rows.
    - C4: only a causal convolution continues an earlier run.
    - C5: the state has (kernel - 1) * dilation rows, all that the kernel reaches before a row; and it
      is not the result of a `keep`.

    ```mlir
    %y = transformer.convolve %x, @depthwise.weight in(%rows) {dilation = 2 : i64} : tensor<?x384xf32>
    %z = transformer.convolve %x, @left.weight, @left.bias in(%rows) after(%s0 : !transformer.state<768>) {causal} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$rows,
                       Optional<Transformer_RowState>:$state, FlatSymbolRefAttr:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$bias,
                       DefaultValuedAttr<I64Attr, "1">:$dilation, UnitAttr:$causal);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? `in` `(` $rows `)`
    (`after` `(` $state^ `:` qualified(type($state)) `)`)? attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Transformer_ColumnsOp : Transformer_Op<"columns", [Pure]> {
  let summary = "columns first .. first + width of rows, without a copy";
  let description = [{
    Constraints:
    - C1: the columns lie within the input's width.

    ```mlir
    %k = transformer.columns %qkv from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, I64Attr:$first);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input `from` $first attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ConcatOp : Transformer_Op<"concat", [Pure]> {
  let summary = "columns of several rows side by side";
  let description = [{
    Constraints:
    - C1: there is an input, and the result is as wide as all inputs together.

    ```mlir
    %h = transformer.concat %forwards, %backwards : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x40xf32>
    ```
  }];
  let arguments = (ins Variadic<Transformer_Rows>:$inputs);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Transformer_AddOp : Transformer_Op<"add", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>,
    TypesMatchWith<"the result has the type of the left operand", "lhs", "result", "$_self">]> {
  let summary = "element-wise sum";
  let description = [{
    The right operand has the type of the left, or is a weight of fewer axes that is repeated along
    the leading ones, or a rank-2 mask bias `tensor<?x?xf32>` added to scores `tensor<?xHx?xf32>`
    for every head.

    Constraints:
    - C1: the result has the type of the left operand.
    - C2: the right operand is of that type, of its trailing axes, or a bias of scores.

    ```mlir
    %r = transformer.add %o, %x : tensor<?x384xf32>, tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$lhs, Transformer_Tensor:$rhs);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

def Transformer_MultiplyOp : Transformer_Op<"multiply", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>,
    TypesMatchWith<"the result has the type of the left operand", "lhs", "result", "$_self">]> {
  let summary = "element-wise product";
  let description = [{
    The right operand has the type of the left, or is a weight of fewer axes that is repeated along
    the leading ones, or a weight of one number, or rows `tensor<?x1xf32>` of one number each, the
    same rows as those of the left.

    Constraints:
    - C1: the result has the type of the left operand.
    - C2: the right operand is of that type, of its trailing axes, one number, or one number a row.

    ```mlir
    %m = transformer.multiply %o, %x : tensor<?x384xf32>
    %g = transformer.multiply %o, %gate : tensor<?x384xf32>, tensor<?x1xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$lhs, Transformer_Tensor:$rhs);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<OperandTypes>(type($lhs), type($rhs))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the right operand is one number: for everything, or for each row.
    bool hasScalarRhs();
  }];
}

def Transformer_CombineOp : Transformer_Op<"combine", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>,
    TypesMatchWith<"the result has the type of the left operand", "lhs", "result", "$_self">]> {
  let summary = "element-wise difference, quotient, minimum or maximum";
  let description = [{
    - `subtract`: x - y
    - `divide`: x / y
    - `minimum`, `maximum`: the smaller, the larger; NaN if either is

    where x is an element of the left operand and y the one of the right that it meets. What the
    right operand may be is what that of `multiply` may. `x - y` of the same type is as well
    `add` of `scale` by -1.

    Constraints:
    - C1: the result has the type of the left operand.
    - C2: the right operand is of that type, of its trailing axes, one number, or one number a row.

    ```mlir
    %c = transformer.combine subtract %x, %mean : tensor<?x384xf32>, tensor<?x1xf32>
    %q = transformer.combine divide %x, %y : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_CombinationAttr:$function, Transformer_Tensor:$lhs,
                       Transformer_Tensor:$rhs);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = [{
    `` $function $lhs `,` $rhs attr-dict `:` custom<OperandTypes>(type($lhs), type($rhs))
  }];
  let hasVerifier = 1;
}

def Transformer_ScaleOp : Transformer_Op<"scale", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "every element times a number";
  let description = [{
    Constraints:
    - C1: the factor is finite.

    ```mlir
    %z = transformer.scale %s, 1.250000e-01 : tensor<?x12x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, F32Attr:$factor);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input `,` $factor attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_ShiftOp : Transformer_Op<"shift", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "every element plus a number";
  let description = [{
    Constraints:
    - C1: the number is finite.

    ```mlir
    %v = transformer.shift %variance, 9.99999996E-13 : tensor<?x1xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, F32Attr:$number);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input `,` $number attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_ClampOp : Transformer_Op<"clamp", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "of every element the nearest number within bounds";
  let description = [{
    `min(max(x, least), most)`; NaN stays NaN. Either bound may be infinite.

    Constraints:
    - C1: `least` is at most `most`, and neither is NaN.

    ```mlir
    %y = transformer.clamp %x from 0.0 to 6.0 : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Tensor:$input, F32Attr:$least, F32Attr:$most);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$input `from` $least `to` $most attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_ActivateOp : Transformer_Op<"activate", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "a scalar function of every element";
  let description = activationFormulas # [{

    ```mlir
    %g = transformer.activate gelu %i : tensor<?x1536xf32>
    ```
  }];
  let arguments = (ins Transformer_ActivationAttr:$function, Transformer_Tensor:$input);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "`` $function $input attr-dict `:` type($input)";
}

def Transformer_ReduceOp : Transformer_Op<"reduce", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>]> {
  let summary = "one number of each row: the mean, sum, largest or smallest of its columns";
  let description = [{
    A row with a NaN gives NaN. The numbers go where `multiply` and `combine` take one a row.

    Constraints:
    - C1: the result has one column.

    ```mlir
    %m = transformer.reduce mean %x : tensor<?x384xf32> -> tensor<?x1xf32>
    ```
  }];
  let arguments = (ins Transformer_ReductionAttr:$method, Transformer_Rows:$input);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "`` $method $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_LayerNormOp : Transformer_Op<"layer_norm",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * weight + bias, over each row";
  let description = [{
    Constraints:
    - C1: weight and bias are parameters of shape [width].
    - C2: epsilon is finite and not negative.

    ```mlir
    %n = transformer.layer_norm %r, @norm.weight, @norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, FlatSymbolRefAttr:$weight, FlatSymbolRefAttr:$bias,
                       F32Attr:$epsilon);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input `,` $weight `,` $bias attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_RmsNormOp : Transformer_Op<"rms_norm",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "x / sqrt(mean of x^2 + epsilon) * weight, over each row";
  let description = [{
    Source: Zhang and Sennrich, "Root mean square layer normalization", equation 4.

    Constraints:
    - C1: the weight is a parameter of shape [width].
    - C2: epsilon is finite and not negative.

    ```mlir
    %n = transformer.rms_norm %r, @norm.weight {epsilon = 9.99999997E-7 : f32} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, FlatSymbolRefAttr:$weight, F32Attr:$epsilon);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_BlocksOp : Transformer_Op<"blocks", [Pure, DeclareOpInterfaceMethods<Transformer_DerivedRowsInterface, ["deriveSpace"]>]> {
  let summary = "blocks of `size` rows of each sequence, as rows of their own";
  let description = [{
    Row j of a sequence stands for its rows j * size to (j + 1) * size - 1, of which the last block
    may lack some: n rows have ceil(n / size) blocks. `pool` makes rows of blocks; every second row
    is `pool cls` to blocks of 2.

    Source: the compressed keys and values of Liu et al., "Generating Wikipedia by summarizing long
    sequences", section 4.2.3.

    Constraints:
    - C1: a block has 2 to 2^20 rows. Where `rows` are blocks themselves, that counts the rows of
      these.

    ```mlir
    %pairs = transformer.blocks %rows, 2
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows, I64Attr:$size);
  let results = (outs Transformer_SegmentsType:$result);
  let assemblyFormat = "$rows `,` $size attr-dict";
  let hasVerifier = 1;
}

def Transformer_PoolOp : Transformer_Op<"pool", [Pure,
    TypesMatchWith<"the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "one row for each sequence, block, or row that chose: a mean, first row, maximum or sum";
  let description = [{
    The input's rows are those of `in`; the result's rows are sequences or, with `to`, blocks of the
    input's rows, or the rows whose choices these are. A sum is taken in the order of the rows.

    Constraints:
    - C1: the rows of `to` are groups of neighbouring rows of `in`: `blocks` of them, larger
      blocks of what those are blocks of, or the rows whose `choices` they are.

    ```mlir
    %e = transformer.pool mean %h in(%rows) : tensor<?x384xf32>
    %c = transformer.pool max %h in(%rows) to(%pairs) : tensor<?x384xf32>
    %y = transformer.pool sum %z in(%two) to(%rows) : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_PoolingAttr:$method, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows,
                       Optional<Transformer_SegmentsType>:$blocks);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    `` $method $input `in` `(` $rows `)` (`to` `(` $blocks^ `)`)? attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Transformer_SpreadOp : Transformer_Op<"spread", [Pure,
    TypesMatchWith<"the result has the type of the input", "input", "result", "$_self">]> {
  let summary = "the row of each sequence at every row of the sequence";
  let description = [{
    The input has a row for each sequence, as `pool` gives them; the result's rows are those of `to`.

    ```mlir
    %c = transformer.spread %e to(%rows) : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, Transformer_SegmentsType:$rows);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input `to` `(` $rows `)` attr-dict `:` type($input)";
}

def Transformer_NormalizeOp : Transformer_Op<"normalize", [Pure, DeclareOpInterfaceMethods<Transformer_CostInterface>, SameOperandsAndResultType]> {
  let summary = "each row divided by its Euclidean length, or by epsilon if that is larger";
  let description = [{
    Constraints:
    - C1: epsilon is finite and positive.

    ```mlir
    %u = transformer.normalize %e {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$input, F32Attr:$epsilon);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif
