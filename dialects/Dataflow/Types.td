// SPDX-License-Identifier: Apache-2.0
/// The types of memory, and attributes that are no kernel family.
#ifndef HEDDLE_DATAFLOW_TYPES
#define HEDDLE_DATAFLOW_TYPES

include "dialects/Dataflow/Dialect.td"

def Dataflow_BufferType : TypeDef<Dataflow_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a row-major tensor in memory; a dimension is a number or a run-time symbol";
  let description = [{
    `!dataflow.buffer<[tokens, 384], f32>`. A dimension is positive, or depends on the batch: it is
    the rows of a row space, `tokens`, `sequences` or `blocks(tokens, 2)`, or the most rows that a
    sequence has in one, `longest` or `longest(blocks(tokens, 2))`. In C++ it is then the negative
    number of a `RowDimension` (runtime/include/heddle/RowSpace.h). `in 1152` after the shape says that rows are 1152 elements apart: the
    buffer is columns of a wider one.

    Constraints:
    - C1: the rank is 1 to 4, and the constant dimensions have a product of at most 2^40.
    - C2: the element type is one of runtime/include/heddle/ElementTypes.def, or
      `!transformer.quantized`.
    - C3: a row stride is given for rank 2 and up, constant dimensions after the first, and is larger
      than their product.
    - C4: of quantised elements every dimension is constant, and no row stride is given.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        DefaultValuedParameter<"int64_t", "0">:$rowStride);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Product of the constant dimensions.
    int64_t getConstantElements() const;
    /// Elements between rows: the stride if given, else the product of the constant dimensions
    /// after the first, which is the width of a buffer [symbol, width].
    int64_t getRowElements() const;
    /// The element type as the table has it, and the bytes of an element.
    ElementType getElement() const { return elementTypeOf(getElementType()); }
    int64_t getElementBytes() const { return infoOf(getElement()).bytes(); }
    /// The width of a buffer [symbol, width].
    int64_t getWidth() const { return getShape().back(); }
    /// Whether element-wise maths over `rows`, [symbol, width], can read this buffer: it has their
    /// shape, or is a vector or a number for each row or for all, which is repeated.
    bool broadcastsTo(BufferType rows) const;
    /// The row space that the first dimension counts; none if it is another dimension.
    std::optional<::heddle::RowSpace> getRowSpace() const {
      return ::heddle::rowSpaceOf(getShape().front());
    }
    /// Whether any dimension counts the rows of a space.
    bool hasRows() const {
      return ::llvm::any_of(getShape(), [](int64_t size) {
        return ::heddle::rowSpaceOf(size).has_value();
      });
    }
    /// Whether any dimension is the most rows of a sequence.
    bool hasLongest() const {
      return ::llvm::any_of(getShape(), [](int64_t size) { return ::heddle::isLongest(size); });
    }
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
  I32EnumAttrCase<"RmsNorm", 2, "rms_norm">,
  I32EnumAttrCase<"Softmax", 3, "softmax">]>;

def Dataflow_CacheLayout : Dataflow_Enum<"CacheLayout", "how a block of a cache lies in memory", [
  I32EnumAttrCase<"Keys", 0, "keys">,   // [width][HEDDLE_BLOCK]
  I32EnumAttrCase<"Rows", 1, "rows">]>;   // [HEDDLE_BLOCK][width]

def Dataflow_Arithmetic : Dataflow_Enum<"Arithmetic", "what a product multiplies", [
  I32EnumAttrCase<"F32", 0, "f32">,
  I32EnumAttrCase<"Integers", 1, "integers">,   // codes of 8 bits, sums of 32
  I32EnumAttrCase<"Bf16", 2, "bf16">]>;   // sums in f32

def Dataflow_CacheType : TypeDef<Dataflow_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "positions of every sequence, in blocks, that stay from run to run";
  let description = [{
    `!dataflow.cache<[8, 64], f32, keys>`: the shape and the element type are those of one position,
    the layout says how the positions of a block lie (`HeddleCache` in runtime/include/heddle/Abi.h).

    Constraints:
    - C1: the rank is 1 to 3, every dimension is positive, and their product is at most 2^40.
    - C2: the element type is one of runtime/include/heddle/ElementTypes.def with whole bytes, or
      `!transformer.quantized`.
    - C3: quantised elements are codes of i8 with scales in f32, of which each is of as many
      elements.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        EnumParameter<Dataflow_CacheLayout>:$layout);
  let assemblyFormat = "`<` `[` $shape `]` `,` $elementType `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of one position, and its bytes.
    int64_t getWidth() const;
    int64_t getPositionBytes() const;
    /// The element type as the table has it.
    ElementType getElement() const { return elementTypeOf(getElementType()); }
    /// What names of kernels say of it: "_bf16", and nothing of f32.
    std::string getElementText() const;
  }];
}

def Dataflow_StateType : TypeDef<Dataflow_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "one tensor for every sequence that stays from run to run, however long it gets";
  let description = [{
    `!dataflow.state<[512], f32>`: what all rows of a sequence so far left, such as their sum. It
    has no positions, and no place for each row as a cache has: a run changes it as a whole.

    `!dataflow.state<[1], f32, keys>` has so many numbers for each key of the memory that a sequence
    sees, in blocks as those of a cache that lie as keys do, `[heads][HEDDLE_BLOCK]`.

    Constraints:
    - C1: the rank is 1 to 3, every dimension is positive, and their product is at most 2^40.
    - C2: the element type is one of runtime/include/heddle/ElementTypes.def with whole bytes.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        DefaultValuedParameter<"bool", "false">:$keyed);
  let assemblyFormat = "`<` `[` $shape `]` `,` $elementType `` custom<StateKeys>($keyed) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of a sequence, or of each of its keys.
    int64_t getWidth() const;
    /// Bytes of these.
    int64_t getBytes() const { return getWidth() * infoOf(getElement()).bytes(); }
    /// The element type as the table has it.
    ElementType getElement() const { return elementTypeOf(getElementType()); }
  }];
}

/// What kernels read and write. Caches and states outlive a run; a buffer does not.
def Dataflow_Memory : AnyTypeOf<[Dataflow_BufferType, Dataflow_CacheType, Dataflow_StateType],
                                "a buffer, a cache or a state">;

class Dataflow_Attr<string name, string attrMnemonic> : AttrDef<Dataflow_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dataflow_NormAttr : Dataflow_Attr<"Norm", "norm"> {
  let summary = "a norm of finished rows; its weight, and a layer norm's bias, are the last operands";
  let parameters = (ins EnumParameter<Dataflow_NormKind>:$kind, "::mlir::FloatAttr":$epsilon);
  let assemblyFormat = "`<` $kind `,` $epsilon `>`";
}

def Dataflow_SizeAttr : Dataflow_Attr<"Size", "size"> {
  let summary = "bytes, a sum of numbers times run-time sizes";
  let description = [{
    `#dataflow.size<tokens = 1536, blocks(tokens, 2) = 64, tokens * longest = 48>`: for each row of a
    space, or for each row of one and each of the most rows that a sequence has in one.
  }];
  let parameters = (ins ArrayRefParameter<"::heddle::dataflow::SizeTerm">:$terms);
  let assemblyFormat = "`<` custom<SizeTerms>($terms) `>`";
}

def Dataflow_RowLimitsAttr : Dataflow_Attr<"RowLimits", "row_limits"> {
  let summary = "the most rows of a sequence in some spaces";
  let description = [{
    `#dataflow.row_limits<grid(tokens, ?, 16, 16) = 4096>`: where the most tokens of a sequence do not
    say it, as for images of any width.
  }];
  let parameters = (ins ArrayRefParameter<"::heddle::dataflow::SizeTerm">:$terms);
  let assemblyFormat = "`<` custom<SizeTerms>($terms) `>`";
  let extraClassDeclaration = [{
    /// That of a space; 0: none.
    int64_t getMost(RowSpace space) const;
  }];
}

#endif
