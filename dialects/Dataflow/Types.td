// SPDX-License-Identifier: Apache-2.0
/// The buffer type, kernel kinds and the attributes that configure them.
#ifndef HEDDLE_DATAFLOW_TYPES
#define HEDDLE_DATAFLOW_TYPES

include "dialects/Dataflow/Dialect.td"

def Dataflow_BufferType : TypeDef<Dataflow_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a row-major tensor in memory; a dimension is a number or a run-time symbol";
  let description = [{
    `!dataflow.buffer<[tokens, 384], f32>`. A dimension is positive, or one of the symbols below as a
    negative number in C++. `in 1152` after the shape says that rows are 1152 elements apart: the
    buffer is columns of a wider one.

    Constraints:
    - C1: the rank is 1 to 4, and the constant dimensions have a product of at most 2^40.
    - C2: the elements are f32 or i32.
    - C3: a row stride is given for rank 2 and up, constant dimensions after the first, and is larger
      than their product.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        DefaultValuedParameter<"int64_t", "0">:$rowStride);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The symbolic dimensions.
    static constexpr int64_t kTokens = -1, kSequences = -2, kLongest = -3;
    /// Product of the constant dimensions.
    int64_t getConstantElements() const;
    /// Elements between rows: the stride if given, else the product of the constant dimensions
    /// after the first, which is the width of a buffer [symbol, width].
    int64_t getRowElements() const;
    /// The width of a buffer [symbol, width].
    int64_t getWidth() const { return getShape().back(); }
    bool hasSymbol(int64_t symbol) const { return ::llvm::is_contained(getShape(), symbol); }
  }];
}

class Dataflow_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::dataflow";
  let genSpecializedAttr = 0;
}

def Dataflow_NormKind : Dataflow_Enum<"NormKind", "what is done to a finished row", [
  I32EnumAttrCase<"LayerNorm", 0, "layer_norm">,
  I32EnumAttrCase<"Normalize", 1, "normalize">,
  I32EnumAttrCase<"RmsNorm", 2, "rms_norm">]>;

def Dataflow_CacheLayout : Dataflow_Enum<"CacheLayout", "how a block of a cache lies in memory", [
  I32EnumAttrCase<"Keys", 0, "keys">,   // [width][HEDDLE_BLOCK]
  I32EnumAttrCase<"Rows", 1, "rows">,    // [HEDDLE_BLOCK][width]
  I32EnumAttrCase<"State", 2, "state">]>; // [width]: one row, however many positions

def Dataflow_CacheType : TypeDef<Dataflow_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "positions of every sequence, in blocks, that stay from run to run";
  let description = [{
    `!dataflow.cache<[8, 64], keys>`: the shape is that of one position, the layout says how the
    positions of a block lie (`HeddleCache` in runtime/include/heddle/Abi.h). Elements are f32. Of
    layout `state` it has no positions but one row a sequence, which holds what all of them left.

    Constraints:
    - C1: the rank is 1 to 3, every dimension is positive, and their product is at most 2^40.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        EnumParameter<Dataflow_CacheLayout>:$layout);
  let assemblyFormat = "`<` `[` $shape `]` `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of one position.
    int64_t getWidth() const;
  }];
}

/// What kernels read and write.
def Dataflow_Memory : AnyTypeOf<[Dataflow_BufferType, Dataflow_CacheType], "a buffer or a cache">;

def Dataflow_PoolKind : Dataflow_Enum<"PoolKind", "how the rows of a sequence become one", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Cls", 1, "cls">,
  I32EnumAttrCase<"Max", 2, "max">]>;

def Dataflow_ReductionKind : Dataflow_Enum<"ReductionKind", "how a nest combines its inner axes", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Softmax", 2, "softmax">]>;

class Dataflow_Attr<string name, string attrMnemonic> : AttrDef<Dataflow_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dataflow_NormAttr : Dataflow_Attr<"Norm", "norm"> {
  let summary = "a norm of finished rows; its weight, and a layer norm's bias, are the last operands";
  let parameters = (ins EnumParameter<Dataflow_NormKind>:$kind, "::mlir::FloatAttr":$epsilon);
  let assemblyFormat = "`<` $kind `,` $epsilon `>`";
}

def Dataflow_SizeAttr : Dataflow_Attr<"Size", "size"> {
  let summary = "bytes: tokens * t + sequences * s + tokens * longest * l";
  let parameters = (ins DefaultValuedParameter<"uint64_t", "0">:$tokens,
                        DefaultValuedParameter<"uint64_t", "0">:$sequences,
                        DefaultValuedParameter<"uint64_t", "0">:$tokensLongest);
  let assemblyFormat = "`<` struct(params) `>`";
}

// What a kernel computes before its epilogue: one attribute a family.

def Dataflow_ContractAttr : Dataflow_Attr<"Contract", "contract"> {
  let summary = "inputs[0] [rows, k] times packed weights inputs[1] [panels, k, 48]: [rows, n]";
  let description = [{
    With `groups`, inputs[0] is [rows, groups * k] and the result [rows, groups * n]: columns g * n on
    of the result are the product of columns g * k on of the input with panels of their own,
    g * ceil(n / 48) on.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$k, DefaultValuedParameter<"int64_t", "1">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Panels of packed weights: of one group, and of all.
    int64_t getGroupPanels() const;
    int64_t getPanels() const { return getGroups() * getGroupPanels(); }
  }];
}

def Dataflow_AppendAttr : Dataflow_Attr<"Append", "append"> {
  let summary = "inputs[1] [tokens, width] appended to the cache inputs[0], which is the result";
  let description = [{
    Every row goes to the place of its position in its sequence. The result is the same memory as
    inputs[0]: the runtime made room for the rows before the run.
  }];
}

def Dataflow_AccumulateAttr : Dataflow_Attr<"Accumulate", "accumulate"> {
  let summary = "inputs[1] [tokens, width] added to the state inputs[0], which is the result";
  let description = [{
    The rows of a sequence are added one after the other, in their order. What was in the state of a
    sequence whose first row has position 0 does not count: it is zero. The result is the same
    memory as inputs[0].
  }];
}

def Dataflow_PrefixMeanAttr : Dataflow_Attr<"PrefixMean", "prefix_mean"> {
  let summary = "means of the rows inputs[0] [tokens, width] of a sequence, up to and with each";
  let description = [{
    The state inputs[1] is the sum of the rows of earlier runs, and is read as accumulate reads it.
    The sum at each row is divided by the position of the row plus one.
  }];
}

def Dataflow_AttendAttr : Dataflow_Attr<"Attend", "attend"> {
  let summary = "P V for every head, of weights P [tokens, heads, longest] and values V";
  let description = [{
    The sum over the keys that a row sees of weights times values. Values are rows of the same
    sequences as the weights, or a cache of layout `rows`. Weights of keys that the row does not see
    are not read: a causal row sees the positions up to its own. `valueShare` neighbouring heads of
    weights have one head of values.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$valueSize, "bool":$causal,
                        DefaultValuedParameter<"int64_t", "1">:$valueShare);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_AttentionAttr : Dataflow_Attr<"Attention", "attention"> {
  let summary = "softmax(scale * Q K^T + bias) V of inputs Q, K, V, over the keys of the row";
  let description = [{
    Keys and values are rows of the same sequences as the queries, or both caches: K of layout
    `keys`, V of layout `rows`. A causal query sees the positions up to its own.

    With a `biasDistance` D above 0, inputs[3] is a table [heads, 2 D + 1], and the score of key k
    for row t has bias[h, min(max(position(k) - position(t), -D), D) + D] added after scaling.

    With `hidden` a causal query sees the keys after it too, with the scores of
    `#transformer.hidden`.

    `keyShare` neighbouring heads of queries have one head of keys, `valueShare` one of values.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$keySize, "int64_t":$valueSize,
                        "::mlir::FloatAttr":$scale, "bool":$causal,
                        DefaultValuedParameter<"int64_t", "0">:$biasDistance,
                        OptionalParameter<"::heddle::transformer::HiddenAttr">:$hidden,
                        DefaultValuedParameter<"int64_t", "1">:$keyShare,
                        DefaultValuedParameter<"int64_t", "1">:$valueShare);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_AttentionWeightsAttr : Dataflow_Attr<"AttentionWeights", "attention_weights"> {
  let summary = "softmax(scale * Q K^T + bias) of inputs Q and K: [tokens, heads, longest]";
  let description = [{
    Keys, their share, visibility, bias and `hidden` are as for `attention`; the table of biases is
    inputs[2]. Keys that a row does not see have weight zero; entries beyond the keys of its sequence are not
    written.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$keySize, "::mlir::FloatAttr":$scale,
                        "bool":$causal, DefaultValuedParameter<"int64_t", "0">:$biasDistance,
                        OptionalParameter<"::heddle::transformer::HiddenAttr">:$hidden,
                        DefaultValuedParameter<"int64_t", "1">:$keyShare);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_RowsAttr : Dataflow_Attr<"Rows", "rows"> {
  let summary = "inputs[0] [rows, width], element by element";
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_GatherAttr : Dataflow_Attr<"Gather", "gather"> {
  let summary = "the sum of table rows: ids and table for each id input, then a table by position";
  let description = [{
    Inputs: ids [rows] and table [entries, width], `lookups` times; then one table for each position
    offset, looked up by the row's position in its sequence plus the offset. `scales` has a factor
    for each of the lookups; without it all are 1.
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$lookups,
                        OptionalArrayRefParameter<"int64_t">:$positionOffsets,
                        OptionalParameter<"::mlir::DenseF32ArrayAttr">:$scales);
  let assemblyFormat = "`<` `width` `=` $width `,` `lookups` `=` $lookups "
                       "`` custom<GatherOptions>($positionOffsets, $scales) `>`";
  let extraClassDeclaration = [{
    /// The factor of a lookup.
    float getScale(int64_t lookup) const {
      return getScales() ? getScales().asArrayRef()[lookup] : 1.0f;
    }
  }];
}

def Dataflow_PoolAttr : Dataflow_Attr<"Pool", "pool"> {
  let summary = "inputs[0] [tokens, width] to one row a sequence";
  let parameters = (ins EnumParameter<Dataflow_PoolKind>:$kind, "int64_t":$width);
  let assemblyFormat = "`<` $kind `,` `width` `=` $width `>`";
}

def Dataflow_NestAttr : Dataflow_Attr<"Nest", "nest"> {
  let summary = "a plain loop nest over named axes: any mathematics, one element at a time";
  let description = [{
    `axes` names the axes of every input and of the result, as in `transformer.contract`:
    "thd,khd->thk". The axes the result lacks are reduced by `reduction`, in order. The region maps
    the inputs' elements to the term, one argument for each input; it has no element-wise operands.
    `softmax` is over the last axis of the result.
    `t` is the row whose result is computed, `k` a row of the same sequence. Where such an axis meets
    a dimension `tokens` or `sequences` it counts rows of the batch, where it meets `longest` it
    counts from the first row of the sequence. Entries beyond the row's own sequence are not written.
    With `hidden`, the term is that number wherever row k comes after row t: a causal mask.
    With `relative`, the axis `r` of an input, of size 2 D + 1, is no loop: it is the distance
    min(max(position(k) - position(t), -D), D) + D.

    An input may be a cache: its axes are `k`, then those of a position, and k runs over the
    positions that row t sees in it. With `keys_from`, a cache that none of the axes names is the
    last input: k runs over its positions.

    Axes t and k are run-time sizes; every other axis has one constant size. The result has axis t
    if any operand has it, and else axis k: of tokens, or of sequences, which is then the only
    run-time size. The last axis of a softmax is another than that.

    The unfused twin of every fast kernel: slow, and obviously right.
  }];
  let parameters = (ins "::mlir::StringAttr":$axes, EnumParameter<Dataflow_ReductionKind>:$reduction,
                        OptionalParameter<"::mlir::FloatAttr">:$hidden,
                        DefaultValuedParameter<"bool", "false">:$relative,
                        DefaultValuedParameter<"bool", "false">:$keysFrom);
  let assemblyFormat = "`<` $axes `,` $reduction `` custom<NestOptions>($hidden, $relative, "
                       "$keysFrom) `>`";
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$axes, "ReductionKind":$reduction,
                                   "::mlir::FloatAttr":$hidden), [{
    return $_get($_ctxt, axes, reduction, hidden, false, false);
  }]>];
  let extraClassDeclaration = [{
    /// Whether keys after the row are hidden.
    bool getCausal() const { return static_cast<bool>(getHidden()); }
    /// The letters of input `i`, and of the result.
    ::llvm::StringRef getInputAxes(unsigned i) const;
    ::llvm::StringRef getResultAxes() const { return getAxes().getValue().split("->").second; }
    /// How many inputs the specification names: none before an arrow at its beginning. They are
    /// the arguments of the region; a cache of `keys_from` is one more input of the kernel.
    unsigned getNumInputs() const;
    /// Checks the constraints on axes against the buffers and caches, one for each input.
    ::llvm::LogicalResult verifyOperands(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::llvm::ArrayRef<::mlir::Type> inputs, BufferType result) const;
  }];
}

#endif
