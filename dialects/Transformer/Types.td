// SPDX-License-Identifier: Apache-2.0
/// Types and type constraints of the model level.
#ifndef HEDDLE_TRANSFORMER_TYPES
#define HEDDLE_TRANSFORMER_TYPES

include "dialects/Transformer/Dialect.td"

def Transformer_SegmentsType : TypeDef<Transformer_Dialect, "Segments"> {
  let mnemonic = "segments";
  let summary = "which rows of a batch form one sequence, and the position of each row in it";
  let description = [{
    Segments name a row space: the rows of an entry, the positions of a cache, or blocks of rows,
    which `transformer.blocks` derives.
  }];
}

def Transformer_CacheType : TypeDef<Transformer_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "the values of one tensor, keys or values, at all positions so far of every sequence";
  let description = [{
    `!transformer.cache<512>`: rows of width 512 that outlive a run of an entry. A cache is a value
    like any other: `append` returns the cache with more rows, `cached` reads it.

    `!transformer.cache<512, bf16>` keeps rows in bf16: `append` rounds each element to the nearest
    number of that type, ties to even, and `cached` reads what is kept, in f32, rows of this run
    among them.

    `!transformer.cache<512, !transformer.quantized<i8, 64>>` keeps codes: of every row by itself,
    each 64 elements have a scale.

    Constraints:
    - C1: the width is positive.
    - C2: elements are kept in f32, bf16 or codes of i8 with scales in f32.
    - C3: as many codes as share a scale divide the width.
  }];
  let parameters = (ins "int64_t":$width,
                        DefaultValuedParameter<"::mlir::Type",
                                               "::mlir::Float32Type::get($_ctxt)">:$elementType);
  let builders = [TypeBuilder<(ins "int64_t":$width), [{
    return $_get($_ctxt, width, ::mlir::Float32Type::get($_ctxt));
  }]>];
  let assemblyFormat = "`<` $width (`,` $elementType^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of a position.
    int64_t getPositionBytes() const;
  }];
}

def Transformer_StateType : TypeDef<Transformer_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "what all positions of a sequence so far left: their sum, or the last of their rows";
  let description = [{
    `!transformer.state<512>`: 512 numbers for each sequence that outlive a run of an entry. Like a
    cache it is a value: `accumulate` and `keep` return the state as it is after the rows of a run,
    `prefix_mean` and `convolve` read what it was before.

    `!transformer.state<1, keys>` has that many numbers for each key of the memory that the sequence
    sees: where a step has looked.

    Constraints:
    - C1: the width is positive.
  }];
  let parameters = (ins "int64_t":$width, DefaultValuedParameter<"bool", "false">:$keyed);
  let assemblyFormat = "`<` $width `` custom<StateKeys>($keyed) `>`";
  let builders = [TypeBuilder<(ins "int64_t":$width), [{
    return $_get($_ctxt, width, /*keyed=*/false);
  }]>];
  let extraClassDeclaration = [{
    /// The value of a state: rows, or numbers of keys.
    ::mlir::RankedTensorType getRows() const;
  }];
  let genVerifyDecl = 1;
}

def Transformer_QuantizedType : TypeDef<Transformer_Dialect, "Quantized"> {
  let mnemonic = "quantized";
  let summary = "an element of a row that is stored as integers with scales";
  let description = [{
    `tensor<72x40x!transformer.quantized<i8, 32>>`: an element is code * scale, rounded to f32. The
    codes are integers from -127 to 127, and every 32 elements of a row, or the rest at its end, have
    a scale in f32. `!transformer.quantized<i8, row>` has one for each row. `convert` makes the codes: scale
    is the largest magnitude over 127, and code the element over that, to the nearest, ties to even. Where an
    element is infinite or no number, or the scale is beyond its type, so is the whole group: the scale is a NaN.

    `!transformer.quantized<i4, 32, bf16>`: codes are integers from 0 to 15, and every group has a
    code of zero beside its scale, here in bf16: an element is (code - zero) * scale. `convert`
    takes the least and the largest element of a group and 0, `lo` and `hi`, and a part p of their range: scale is p (hi - lo) / 15,
    rounded up to the type of scales, zero is -p lo / scale, and code the element over the scale, to the nearest, ties to even,
    plus zero, within 0 to 15. Of p = 1, 39/40, ..., 33/40 it takes that with the least squared error, the largest of several.

    Files that are quantised already have codes of their own making, and scales of either sign. Theirs may be -128 as
    well: `!transformer.quantized<i8, row, full>`. `convert` never makes that code. Nor does it make groups with a
    minimum, `!transformer.quantized<i4, 32, f16, minimums>`: beside its scale each has a number of the same type, of
    either sign, and no code of zero; an element is code * scale + minimum, rounded to f32 once.

    Weights have this type, in a parameter and in the buffer that a kernel reads, and caches. A row of weights lies in
    memory as its scales, its codes of zero or minimums, and then its codes, each filled up to whole words; of 4 bits two
    lie in a byte, the first in the lower half. How a matrix lies is for a target to choose.

    Constraints:
    - C1: codes are i8 or i4.
    - C2: the number of elements that share a scale is positive and, of i4, a multiple of 8.
    - C3: scales are f32, f16 or bf16.
    - C4: only codes of i8 are `full`: those of i4 have no sign.
  }];
  let parameters = (ins "::mlir::Type":$codes,
                        // 0: the whole row.
                        "int64_t":$group,
                        DefaultValuedParameter<"::mlir::Type", "::mlir::Float32Type::get($_ctxt)">:$scales,
                        // Whether groups have a minimum beside their scale.
                        DefaultValuedParameter<"bool", "false">:$minimums,
                        // Whether a code may be -128.
                        DefaultValuedParameter<"bool", "false">:$full);
  let assemblyFormat = [{
    `<` $codes `,` custom<QuantizedGroup>($group) `` custom<QuantizedScales>($scales, $minimums, $full) `>`
  }];
  let builders = [TypeBuilder<(ins "::mlir::Type":$codes, "int64_t":$group, "::mlir::Type":$scales), [{
    return $_get($_ctxt, codes, group, scales, /*minimums=*/false, /*full=*/false);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How many elements of a row of `columns` share a scale, and how many scales it has.
    int64_t getGroupOf(int64_t columns) const;
    int64_t getScalesOf(int64_t columns) const;
    /// Whether two codes share a byte: those of 4 bits.
    bool hasHalves() const { return getCodes().isInteger(4); }
    /// Whether groups have a code of zero beside their scale: those of 4 bits without minimums.
    bool hasZeros() const { return hasHalves() && !getMinimums(); }
    /// Whether a code is a byte, and a group has a scale in f32 and nothing else.
    bool isBytesWithScales() const { return !hasHalves() && !getMinimums() && getScales().isF32(); }
    /// The same with or without the code -128.
    QuantizedType withFull(bool full) const {
      return get(getContext(), getCodes(), getGroup(), getScales(), getMinimums(), full);
    }
    int64_t getScaleBytes() const { return getScales().getIntOrFloatBitWidth() / 8; }
    /// Bytes of a row of `columns`, and where its codes begin and what a group has beside its scale: codes of zero or
    /// minimums.
    int64_t getRowBytes(int64_t columns) const;
    int64_t getZerosOffset(int64_t columns) const;
    int64_t getCodesOffset(int64_t columns) const;
    /// Bytes that a row of `columns` has at least, however it lies: its scales and codes.
    int64_t getLeastRowBytes(int64_t columns) const {
      return getScalesOf(columns) * getScaleBytes() + columns * getCodes().getIntOrFloatBitWidth() / 8;
    }
    /// Bytes of a panel of so many columns and `k` rows, of which `together` elements of a column lie side by side,
    /// and of what is before the codes of a group: scales, minimums, codes of zero or, of i8 with several elements
    /// together, sums of codes.
    int64_t getPanelBytes(int64_t k, int64_t panelColumns, int64_t together) const;
    int64_t getHeadBytes(int64_t panelColumns, int64_t together) const;
    /// Rows of a panel that lie together, so that their codes fill bytes and `together` of a column are side by side.
    int64_t getRowsTogether(int64_t together) const { return hasHalves() ? 2 * together : together; }
    /// What it is in words: "i8, one scale for each row", "i4, one scale and minimum for every 32 of a row".
    std::string describe() const;
    /// Whether rows of `columns` are as look-ups read them: one scale for any vector of elements.
    bool isForLookUps(int64_t columns) const;
    /// Whether codes of rows of `columns` can be multiplied with those of other numbers as integers: four
    /// of one scale at a time, without minimums, and sums of 32 bits.
    bool isForIntegers(int64_t columns) const;
  }];
}

/// A state of rows: as many numbers for every sequence.
def Transformer_RowState : Type<And<[Transformer_StateType.predicate,
    CPred<"!::llvm::cast<::heddle::transformer::StateType>($_self).getKeyed()">]>,
  "a state without keys", "::heddle::transformer::StateType">;
/// f32 values of any rank, for example rows `tensor<?x384xf32>` or scores `tensor<?x12x?xf32>`.
def Transformer_Tensor : RankedTensorOf<[F32]>;
/// The values of a parameter, in the type they are stored in.
def Transformer_StoredTensor : Type<And<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::heddle::findElementType(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
  "tensor of an element type of ElementTypes.def", "::mlir::RankedTensorType">;
/// Rows of activations: `tensor<?xWxf32>`, W the width.
def Transformer_Rows : Type<And<[Transformer_Tensor.predicate,
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 2">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(1) > 0">]>,
  "rows of activations, tensor<?xWxf32>", "::mlir::RankedTensorType">;
/// Rows split into heads: `tensor<?xHxDxf32>`.
def Transformer_Heads : Type<And<[Transformer_Tensor.predicate,
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 3">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(1) > 0">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(2) > 0">]>,
  "rows split into heads, tensor<?xHxDxf32>", "::mlir::RankedTensorType">;
/// One number for each query row, head and key: `tensor<?xHx?xf32>`.
def Transformer_Scores : Type<And<[Transformer_Tensor.predicate,
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 3">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(1) > 0">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(2)">]>,
  "numbers of queries, heads and keys, tensor<?xHx?xf32>", "::mlir::RankedTensorType">;
/// What steps of a recurrence hand on: rows, or numbers of keys.
def Transformer_RowsOrScores : Type<Or<[Transformer_Rows.predicate, Transformer_Scores.predicate]>,
  "rows of activations, tensor<?xWxf32>, or numbers of keys, tensor<?xHx?xf32>",
  "::mlir::RankedTensorType">;
/// One integer for each row: `tensor<?xi32>`.
def Transformer_Ids : Type<And<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 1">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(32)">]>,
  "one integer a row, tensor<?xi32>", "::mlir::RankedTensorType">,
  BuildableType<"::mlir::RankedTensorType::get({::mlir::ShapedType::kDynamic}, "
                "$_builder.getI32Type())">;
/// Which keys a query sees: `tensor<?x?xi1>`.
def Transformer_Mask : Type<And<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 2">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(1)">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(1)">]>,
  "which keys a query sees, tensor<?x?xi1>", "::mlir::RankedTensorType">,
  BuildableType<"::mlir::RankedTensorType::get({::mlir::ShapedType::kDynamic, "
                "::mlir::ShapedType::kDynamic}, $_builder.getI1Type())">;

#endif
