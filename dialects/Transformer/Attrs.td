// SPDX-License-Identifier: Apache-2.0
/// Enumerations and attributes of the model level.
#ifndef HEDDLE_TRANSFORMER_ATTRS
#define HEDDLE_TRANSFORMER_ATTRS

include "dialects/Transformer/Dialect.td"

class Transformer_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::transformer";
  let genSpecializedAttr = 0;
}

def Transformer_Activation : Transformer_Enum<"Activation", "a scalar function of each element", [
  I32EnumAttrCase<"Gelu", 0, "gelu">,        // x Phi(x), by erf
  I32EnumAttrCase<"GeluNew", 1, "gelu_new">, // x Phi(x), by tanh
  I32EnumAttrCase<"Relu", 2, "relu">,
  I32EnumAttrCase<"Tanh", 3, "tanh">,
  I32EnumAttrCase<"Silu", 4, "silu">,        // x sigmoid(x)
  I32EnumAttrCase<"Sigmoid", 5, "sigmoid">,
  I32EnumAttrCase<"QuickGelu", 6, "quick_gelu">]>; // x sigmoid(1.702 x)
def Transformer_ActivationAttr : EnumAttr<Transformer_Dialect, Transformer_Activation, "activation">;

def Transformer_Pooling : Transformer_Enum<"Pooling", "how the rows of a sequence become one", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Cls", 1, "cls">, // the first row
  I32EnumAttrCase<"Max", 2, "max">]>;
def Transformer_PoolingAttr : EnumAttr<Transformer_Dialect, Transformer_Pooling, "pooling">;

def Transformer_Visibility : Transformer_Enum<"Visibility", "which keys of its sequence a query sees", [
  I32EnumAttrCase<"All", 0, "all">,
  I32EnumAttrCase<"Causal", 1, "causal">]>; // those not after it
def Transformer_VisibilityAttr : EnumAttr<Transformer_Dialect, Transformer_Visibility, "visibility"> {
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_HiddenKind : Transformer_Enum<"HiddenKind", "what a finite mask makes of a score", [
  I32EnumAttrCase<"Added", 0, "added">,     // a number is added to it
  I32EnumAttrCase<"Score", 1, "score">,     // a number in its place
  I32EnumAttrCase<"Product", 2, "product">]>; // a number in place of its product, the bias added

def Transformer_HiddenAttr : AttrDef<Transformer_Dialect, "Hidden"> {
  let mnemonic = "hidden";
  let summary = "the score of a key after the row, where a causal mask does not write minus infinity";
  let description = [{
    With a score `scale * q k + bias`, that of a key after the row is, in its place,

    - `added`: `scale * q k + bias + number`;
    - `score`: `number`;
    - `product`: `number + bias`.

    The number is an f32 of at most 2^127 in size: half of what f32 has, so that a kernel that takes
    powers of two for those of e may multiply it by log2(e).
  }];
  let parameters = (ins EnumParameter<Transformer_HiddenKind>:$kind, "::mlir::FloatAttr":$number);
  let assemblyFormat = "`<` $kind $number `>`";
  let extraClassDeclaration = [{
    static constexpr double largestNumber = 0x1p127;
  }];
  let genVerifyDecl = 1;
}

def Transformer_ExpressionKind : Transformer_Enum<"ExpressionKind", "how a parameter is derived", [
  I32EnumAttrCase<"Concat", 0, "concat">,       // of its operands along the first axis
  I32EnumAttrCase<"Reshape", 1, "reshape">,     // same elements, the type's shape
  I32EnumAttrCase<"Transpose", 2, "transpose">, // of the two axes of a matrix
  I32EnumAttrCase<"Pack", 3, "pack">,           // [n, k] to panels [ceil(n/c), k, c], zero filled
  I32EnumAttrCase<"Zeros", 4, "zeros">,         // no operand
  I32EnumAttrCase<"Rows", 5, "rows">,           // of its operand, from (first row)
  I32EnumAttrCase<"SinusoidInterleaved", 6, "sinusoid_interleaved">,
  I32EnumAttrCase<"SinusoidSplit", 7, "sinusoid_split">,
  I32EnumAttrCase<"RelativeBuckets", 8, "relative_buckets">,
  I32EnumAttrCase<"OnesFrom", 9, "ones_from">, // (first row of ones), zeros before
  I32EnumAttrCase<"Product", 10, "product">,   // of two matrices, or of a matrix and a vector
  I32EnumAttrCase<"Scale", 11, "scale">,       // of its first operand, by the others and a constant
  I32EnumAttrCase<"Sum", 12, "sum">,           // of its operands, element by element
  I32EnumAttrCase<"ConcatColumns", 13, "concat_columns">, // of matrices along the second axis
  I32EnumAttrCase<"Columns", 14, "columns">,   // of a matrix, from (first column)
  I32EnumAttrCase<"Convert", 15, "convert">]>; // of its operand, to the type's elements

def Transformer_ParameterExpressionAttr : AttrDef<Transformer_Dialect, "ParameterExpression"> {
  let mnemonic = "expression";
  let summary = "weight algebra on parameters, evaluated tensor by tensor when the binary is written";
  let description = [{
    Parameters come first, then numbers: `rows(@table, 2)`.

    - `pack(@matrix, columns)`, `pack(@matrix, columns, groups)`: the rows of a matrix as columns of
      panels, the last panel filled with zeros. With groups, which divide the rows, each group has
      panels of its own.
    - `sinusoid_interleaved(first, steps)`, no operand: a table [positions, width] of
      angle(p, i) = (first + p) * 10000^(-i / steps); column 2i is its sine, column 2i + 1 its
      cosine. "Attention is all you need", section 3.5, is (0, width / 2).
    - `sinusoid_split(first, steps)`: the same angles, the sines in the first half of the columns and
      the cosines in the second.
    - `relative_buckets(@table, bidirectional, distance)`: T5's table [buckets, heads] spread to
      [heads, 2 * distance + 1], one column for each distance of a key from its query, from
      -distance on (Raffel et al., section 2.1). Bidirectional, 1 or 0, gives half of the buckets to
      keys after the query; else they share bucket 0.
    - `ones_from(first)`, no operand: zeros in the rows before the first, ones from it on.
    - `product(@a, @b)`: [m, k] times [k, n] is [m, n], times [k] is [m].
    - `scale(@a, @s, ..., factor)`: every element of @a times parameters of one element and a
      floating-point constant, of which at least one is there.
    - `sum(@a, @b, ...)`: of parameters of one shape.
    - `convert(@a)`: every element rounded to the nearest of the type, ties to even.
    - `concat_columns(@a, @b, ...)`: [m, k], [m, l], ... to [m, k + l + ...].

    Sinusoids, products, scales and sums are computed in double precision and rounded once.
  }];
  let parameters = (ins EnumParameter<Transformer_ExpressionKind>:$kind,
                        OptionalArrayRefParameter<"::mlir::FlatSymbolRefAttr">:$operands,
                        OptionalArrayRefParameter<"int64_t">:$numbers,
                        // Of `scale`, f64.
                        OptionalParameter<"::mlir::FloatAttr">:$factor);
  let builders = [
    AttrBuilder<(ins "::heddle::transformer::ExpressionKind":$kind,
        "::llvm::ArrayRef<::mlir::FlatSymbolRefAttr>":$operands,
        CArg<"::llvm::ArrayRef<int64_t>", "{}">:$numbers), [{
      return $_get($_ctxt, kind, operands, numbers, ::mlir::FloatAttr());
    }]>];
  let hasCustomAssemblyFormat = 1;
}

#endif
