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
  I32EnumAttrCase<"Gelu", 0, "gelu">,
  I32EnumAttrCase<"GeluNew", 1, "gelu_new">,
  I32EnumAttrCase<"Relu", 2, "relu">,
  I32EnumAttrCase<"Tanh", 3, "tanh">,
  I32EnumAttrCase<"Silu", 4, "silu">,
  I32EnumAttrCase<"Sigmoid", 5, "sigmoid">,
  I32EnumAttrCase<"QuickGelu", 6, "quick_gelu">,
  I32EnumAttrCase<"Softplus", 7, "softplus">,
  I32EnumAttrCase<"Abs", 8, "abs">,
  I32EnumAttrCase<"Sin", 9, "sin">,
  I32EnumAttrCase<"Cos", 10, "cos">,
  I32EnumAttrCase<"Floor", 11, "floor">,
  I32EnumAttrCase<"Rsqrt", 12, "rsqrt">,
  I32EnumAttrCase<"Exp", 13, "exp">,
  I32EnumAttrCase<"Log", 14, "log">,
  I32EnumAttrCase<"Erf", 15, "erf">,
  I32EnumAttrCase<"Sqrt", 16, "sqrt">,
  I32EnumAttrCase<"Reciprocal", 17, "reciprocal">,
  I32EnumAttrCase<"NanToZero", 18, "nan_to_zero">]>;
/// Their formulas, for the documentation of `transformer.activate`.
defvar activationFormulas = [{
    - `gelu`: x Phi(x) = x (1 + erf(x / sqrt 2)) / 2
    - `gelu_new`: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
    - `relu`: max(x, 0)
    - `tanh`, `sin`, `cos`: the functions of these names, of radians
    - `silu`: x sigmoid(x)
    - `sigmoid`: 1 / (1 + exp(-x))
    - `quick_gelu`: x sigmoid(1.702 x)
    - `softplus`: log(1 + exp(x))
    - `abs`: |x|
    - `floor`: the largest integer of at most x
    - `rsqrt`: 1 / sqrt(x), which of a negative number is NaN
    - `exp`: the exponential function
    - `log`: the natural logarithm, which of a negative number is NaN
    - `erf`: the error function
    - `sqrt`: the square root, which of a negative number is NaN
    - `reciprocal`: 1 / x
    - `nan_to_zero`: x, or 0 if x is NaN
}];
def Transformer_ActivationAttr : EnumAttr<Transformer_Dialect, Transformer_Activation, "activation">;

def Transformer_Pooling : Transformer_Enum<"Pooling", "how the rows of a sequence are reduced to one", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Cls", 1, "cls">, // the first row
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Sum", 3, "sum">]>;
def Transformer_PoolingAttr : EnumAttr<Transformer_Dialect, Transformer_Pooling, "pooling">;

def Transformer_Combination : Transformer_Enum<"Combination", "what two elements become", [
  I32EnumAttrCase<"Subtract", 0, "subtract">,
  I32EnumAttrCase<"Divide", 1, "divide">,
  I32EnumAttrCase<"Minimum", 2, "minimum">,
  I32EnumAttrCase<"Maximum", 3, "maximum">]>;
def Transformer_CombinationAttr : EnumAttr<Transformer_Dialect, Transformer_Combination, "combination">;

def Transformer_Reduction : Transformer_Enum<"Reduction", "how the columns of a row become one number", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">]>;
def Transformer_ReductionAttr : EnumAttr<Transformer_Dialect, Transformer_Reduction, "reduction">;

def Transformer_SlideKind : Transformer_Enum<"SlideKind", "what a row becomes of the rows in its window", [
  I32EnumAttrCase<"Patches", 0, "patches">,     // all of them, side by side
  I32EnumAttrCase<"Depthwise", 1, "depthwise">, // a weighted sum for each column
  I32EnumAttrCase<"Max", 2, "max">]>;
def Transformer_SlideKindAttr : EnumAttr<Transformer_Dialect, Transformer_SlideKind, "slide_kind">;

def Transformer_Across : DefaultValuedParameter<"int64_t", "1"> {
  let parser = "::heddle::transformer::parseAcross($_parser)";
  let printer = "::heddle::transformer::printAcross($_printer, $_self)";
}

def Transformer_WindowAttr : AttrDef<Transformer_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "the rows of a sequence that a row is made of, as a convolution and a pooling see them";
  let description = [{
    The rows of a sequence are the pixels of an image, row by row, `across` in each; with `across` 1
    they are places in a line, and `across = ?` is the width that each image has. The window has `height` x `width` elements, `dilationDown` and
    `dilationRight` pixels from one to the next. It stands at every `strideDown`th row of pixels and at
    every `strideRight`th of its columns: an axis of n places becomes ceil(n / stride).

    Along an axis of n places the window begins floor(p / 2) places before the place it stands at,
    p = max((ceil(n / stride) - 1) * stride + (elements - 1) * dilation + 1 - n, 0): the margins
    "same" of TensorFlow. With `causal` it ends at the row, or the row of pixels, that it stands at; its
    columns are where they are without.
  }];
  let parameters = (ins "int64_t":$height, DefaultValuedParameter<"int64_t", "1">:$width,
                        DefaultValuedParameter<"int64_t", "1">:$strideDown,
                        DefaultValuedParameter<"int64_t", "1">:$strideRight,
                        DefaultValuedParameter<"int64_t", "1">:$dilationDown,
                        DefaultValuedParameter<"int64_t", "1">:$dilationRight,
                        Transformer_Across:$across,
                        DefaultValuedParameter<"bool", "false">:$causal);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The elements of a window.
    int64_t getElements() const { return getHeight() * getWidth(); }
    bool hasStrides() const { return getStrideDown() > 1 || getStrideRight() > 1; }
    bool isOverLine() const { return getAcross() == 1; }
    bool isOfAnyWidth() const { return getAcross() == GridSize::anyWidth; }
    /// Columns of pixels that strides leave of so many.
    int64_t getAcrossAfter(int64_t across) const {
      return (across + getStrideRight() - 1) / getStrideRight();
    }
    /// Rows of pixels before the first element of a window that stands at row 0 of `rows`.
    int64_t getMarginAbove(int64_t rows) const;
    /// The same for columns, of so many pixels in a row.
    int64_t getMarginLeft(int64_t across) const;
    /// Whether it may stand at rows that continue an earlier run.
    bool continues() const { return getCausal() && isOverLine() && !hasStrides(); }
    /// The rows before a run that a causal window over a line sees.
    int64_t getRowsBefore() const { return (getHeight() - 1) * getDilationDown(); }
    /// The row space that it makes of the rows of another; nothing if it does not fit these.
    std::optional<::heddle::RowSpace> spaceAfter(::heddle::RowSpace space) const {
      return space.strided(getAcross(), getStrideDown(), getStrideRight());
    }
    /// Whether it is the window of a depthwise `convolve`.
    bool isOfConvolve() const {
      return isOverLine() && !hasStrides() && (getCausal() || getHeight() % 2 == 1);
    }
  }];
}

def Transformer_VisibilityAttr : AttrDef<Transformer_Dialect, "Visibility"> {
  let mnemonic = "visibility";
  let summary = "which keys of its sequence a query sees";
  let description = [{
    A query at position i, which counts from 0 in its sequence, sees

    - `all`: every key;
    - `causal`: the keys up to position i;
    - `from B to B`: the keys at positions from the first bound on and before the second, of which
      either may be left out. A bound is `i`, or `(i + shift)`, then `/ size`, `* step` and
      `+ offset`, each of which may be left out; a quotient is rounded down.

    `from i - 128 to i + 128` is a window around the query, `from i - 3 to i + 1` the query and
    three keys before it, `from i / 64 * 64 - 64 to i + 1` its block of 64 up to itself, and the
    block before. Sources: Vaswani et al., "Attention is all you need", section 4; local attention
    of tensor2tensor. What lies beyond an end of the sequence is left out.

    Every query sees itself, so no row is without keys. Bounds that are the same at every position
    are one attribute: `causal` is `to i + 1`.
  }];
  let parameters = (ins "::heddle::transformer::Visibility":$value);
  let builders = [
    AttrBuilder<(ins "::heddle::transformer::Visibility":$value), [{
      return $_get($_ctxt, value.normalized());
    }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Transformer_HiddenKind : Transformer_Enum<"HiddenKind", "how a finite mask changes a score", [
  I32EnumAttrCase<"Added", 0, "added">,     // a number is added to it
  I32EnumAttrCase<"Score", 1, "score">,     // a number replaces it
  I32EnumAttrCase<"Product", 2, "product">]>; // a number replaces its product, before the bias

def Transformer_HiddenAttr : AttrDef<Transformer_Dialect, "Hidden"> {
  let mnemonic = "hidden";
  let summary = "the score of a key after the row, if a causal mask is finite";
  let description = [{
    The score of a visible key is `scale * q k + bias`, or with a `#transformer.score` f
    `f(scale * q k) + bias`. A key after the row has instead

    - `added`: that score plus `number`;
    - `score`: `number`;
    - `product`: `number + bias`, or `number` where f takes the bias.

    The number is an f32 of magnitude at most 2^127, half of f32's range, so that a kernel that
    computes powers of two instead of e may multiply it by log2(e).
  }];
  let parameters = (ins EnumParameter<Transformer_HiddenKind>:$kind, "::mlir::FloatAttr":$number);
  let assemblyFormat = "`<` $kind $number `>`";
  let extraClassDeclaration = [{
    static constexpr double largestNumber = 0x1p127;
  }];
  let genVerifyDecl = 1;
}

def Transformer_ScoreAttr : AttrDef<Transformer_Dialect, "Score"> {
  let mnemonic = "score";
  let summary = "scalar maths between the product of a query and a key and the softmax";
  let description = [{
    Steps, each of which makes a number: s0 is `scale * q k`, sn the result of step n, and the last
    result is the score. A step is `add(x, y)`, `multiply(x, y)` or an activation, `tanh(x)`, where x
    and y are earlier numbers, constants, or `bias`: the element of the table of biases by distance,
    which is then not added to the score.

    `tanh(s0), multiply(s1, 5.0e+01)` is a soft cap: 50 tanh(s / 50), with 1 / 50 part of the scale.
    Masks follow: what a row does not see has no weight, whatever its score.

    As the maths of pairs, s0 is the sum of a column of a query and of a key.

    Constraints:
    - C1: there are 1 to 16 steps.
    - C2: a step takes numbers made before it, and finite constants.
  }];
  let parameters = (ins ArrayRefParameter<"::heddle::transformer::ScoreStep">:$steps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// More steps are no model's.
    static constexpr size_t mostSteps = 16;
    /// Whether a step takes the bias by distance.
    bool takesBias() const;
    /// `tanh(s0), multiply(s1, 50)`
    std::string text() const;
  }];
}

def Transformer_ExpressionKind : Transformer_Enum<"ExpressionKind", "how a parameter is derived", [
  I32EnumAttrCase<"Concat", 0, "concat">,       // operands joined along the first axis
  I32EnumAttrCase<"Reshape", 1, "reshape">,     // same elements, the type's shape
  I32EnumAttrCase<"Transpose", 2, "transpose">, // swaps the axes of a matrix
  I32EnumAttrCase<"Pack", 3, "pack">,           // [n, k] to panels [ceil(n/c), k, c], zero filled
  I32EnumAttrCase<"Zeros", 4, "zeros">,         // no operand
  I32EnumAttrCase<"Rows", 5, "rows">,           // rows of its operand, from (first row)
  I32EnumAttrCase<"SinusoidInterleaved", 6, "sinusoid_interleaved">,
  I32EnumAttrCase<"SinusoidSplit", 7, "sinusoid_split">,
  I32EnumAttrCase<"RelativeBuckets", 8, "relative_buckets">,
  I32EnumAttrCase<"OnesFrom", 9, "ones_from">, // (first row of ones), zeros before
  I32EnumAttrCase<"Product", 10, "product">,   // two matrices, or a matrix and a vector
  I32EnumAttrCase<"Scale", 11, "scale">,       // first operand times the others and a constant
  I32EnumAttrCase<"Sum", 12, "sum">,           // element-wise sum of its operands
  I32EnumAttrCase<"ConcatColumns", 13, "concat_columns">, // matrices joined along the second axis
  I32EnumAttrCase<"Columns", 14, "columns">,   // columns of a matrix, from (first column)
  I32EnumAttrCase<"Convert", 15, "convert">,   // operand rounded to the type's elements
  I32EnumAttrCase<"Compensate", 16, "compensate">]>; // the same, with what is multiplied in mind

def Transformer_ParameterExpressionAttr : AttrDef<Transformer_Dialect, "ParameterExpression"> {
  let mnemonic = "expression";
  let summary = "weight algebra on parameters, evaluated tensor by tensor when the binary is written";
  let description = [{
    Parameters come first, then numbers: `rows(@table, 2)`.

    - `pack(@matrix, columns)`, `pack(@matrix, columns, groups)`, `pack(@matrix, columns, groups, together)`: turns
      the rows of a matrix into columns of panels and fills the last panel with zeros. With groups, which divide the rows, each
      group has panels of its own. Of a quantised matrix it makes panels of bytes: of every
      elements that share a scale first the scales of the columns, then their codes, [elements][columns].
      Of codes 4 may lie together, for products of integers: the sums of the codes, i32, come after the
      scales, and codes lie as [elements / 4][columns][4], zero beyond the last element. Of bf16 2 may lie
      together, for products of bf16: panels are [k / 2][columns][2], zero beyond the last of k.
    - `sinusoid_interleaved(first, steps)`, no operand: a table [positions, width] of
      angle(p, i) = (first + p) * 10000^(-i / steps); column 2i is its sine, column 2i + 1 its
      cosine. "Attention is all you need", section 3.5, is (0, width / 2).
    - `sinusoid_split(first, steps)`: the same angles, the sines in the first half of the columns and
      the cosines in the second.
    - `relative_buckets(@table, bidirectional, distance)`: T5's table [buckets, heads] spread to
      [heads, 2 * distance + 1], one column for each distance of a key from its query, from
      -distance on (Raffel et al., section 2.1). Bidirectional, 1 or 0, gives half of the buckets to
      keys after the query; else they share bucket 0.
    - `ones_from(first)`, no operand: zeros in the rows before `first`, ones from it on.
    - `product(@a, @b)`: [m, k] times [k, n] is [m, n], times [k] is [m].
    - `scale(@a, @s, ..., factor)`: every element of @a times one-element parameters and a
      floating-point constant, at least one of these.
    - `sum(@a, @b, ...)`: the element-wise sum of parameters of one shape.
    - `convert(@a)`: rounds every element to the nearest value of the type, ties to even. To quantised
      elements as their type says.
    - `concat_columns(@a, @b, ...)`: [m, k], [m, l], ... to [m, k + l + ...].
    - `compensate(@a, @moments)`: the matrix @a [n, k] in codes with the scales and zeros that `convert` gives them, chosen so that
      products change little: with D the difference and M the moments [k, k] of the rows that are multiplied, the sum of x x^T
      over all of them, D M D^T has a small diagonal. Moments of [groups * k, k] are those of groups of rows of @a, each of which is
      multiplied with columns of its own.

    Sinusoids, products, scales and sums are computed in double precision and rounded once.
  }];
  let parameters = (ins EnumParameter<Transformer_ExpressionKind>:$kind,
                        OptionalArrayRefParameter<"::mlir::FlatSymbolRefAttr">:$operands,
                        OptionalArrayRefParameter<"int64_t">:$numbers,
                        // The constant of `scale`, f64.
                        OptionalParameter<"::mlir::FloatAttr">:$factor);
  let builders = [
    AttrBuilder<(ins "::heddle::transformer::ExpressionKind":$kind,
        "::llvm::ArrayRef<::mlir::FlatSymbolRefAttr>":$operands,
        CArg<"::llvm::ArrayRef<int64_t>", "{}">:$numbers), [{
      return $_get($_ctxt, kind, operands, numbers, ::mlir::FloatAttr());
    }]>];
  let extraClassDeclaration = [{
    /// What the numbers of `pack` mean: the columns of a panel, the groups of the matrix's rows, and how
    /// many elements of a column lie together.
    int64_t getPanelColumns() const;
    int64_t getGroups() const;
    int64_t getElementsTogether() const;
  }];
  let hasCustomAssemblyFormat = 1;
}

#endif
