// SPDX-License-Identifier: Apache-2.0
/// Windows that slide over the rows of sequences: convolutions with strides, over places in a line or
/// pixels of an image, and pooling.
#ifndef HEDDLE_TRANSFORMER_WINDOW_OPS
#define HEDDLE_TRANSFORMER_WINDOW_OPS

include "dialects/Transformer/ParameterOps.td"

def Transformer_StridedOp : Transformer_Op<"strided", [Pure, DeclareOpInterfaceMethods<Transformer_DerivedRowsInterface, ["deriveSpace"]>]> {
  let summary = "every n-th row of each sequence, or every n-th pixel of each image, as rows of their own";
  let description = [{
    The rows of a sequence are the pixels of an image, row by row, `across` in each, of which every
    `down`th row and every `right`th column is left: an axis of n places has ceil(n / stride). Without
    `across` they are places in a line. What the new rows hold a window says: `slide`.

    Images of one batch may have any height. With `across ?` they may have any width too, which the
    caller says beside the number of their pixels. The rows of every sequence must be whole rows of
    pixels; the runtime refuses others.

    Constraints:
    - C1: strides are 1 to 255, and over a line `down` is above 1.
    - C2: rows of pixels have 2 to 65535, or any number. Where `rows` are pixels already they have as
      many as these leave in a row, or any number if those do, and all strides together are at most 255
      down and 255 to the right.

    ```mlir
    %half = transformer.strided %rows down 2
    %pixels = transformer.strided %rows down 2 right 2 across 29
    %photo = transformer.strided %rows down 2 right 2 across ?
    ```
  }];
  let arguments = (ins Transformer_SegmentsType:$rows, DefaultValuedAttr<I64Attr, "1">:$down,
                       DefaultValuedAttr<I64Attr, "1">:$right,
                       DefaultValuedAttr<I64Attr, "1">:$across);
  let results = (outs Transformer_SegmentsType:$result);
  let assemblyFormat = [{
    $rows (`down` $down^)? (`right` $right^)? `` custom<AcrossClause>($across) attr-dict
  }];
  let hasVerifier = 1;
}

def Transformer_SlideOp : Transformer_Op<"slide", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Transformer_CostInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what a window sees of a sequence's rows: side by side, their weighted sum, or the largest";
  let description = [{
    A row of the result is made of the rows of `in` that the window sees where it stands (see
    `#transformer.window`); those outside the sequence are zero. Elements of the window count row by
    row.

    - `patches`: all of them, side by side: element j is columns j * width on. A convolution of all
      channels is a linear map of patches. With `groups` the columns of the input are so many equal
      parts, each with its own patches, one part after the other: a grouped convolution is a linear
      map of each group.
    - `depthwise`: column c is the sum over j of weight[c, j] times column c of element j.
    - `max`: column c is the largest of column c of all elements. A window that is not causal leaves
      out what is outside the sequence; for a causal one it is zero.

    Like a `convolve`, a causal window over a line may continue an earlier run, whose last rows are in
    the state `after`.

    Sources: tensor2tensor's `conv_block` and `xception`, whose margins these are; Chollet, "Xception:
    deep learning with depthwise separable convolutions".

    Constraints:
    - C1: the result is as wide as the input, or its patches are.
    - C2: exactly `depthwise` has a weight, a parameter of shape [width, elements].
    - C3: only `patches` have groups, a number that divides the width.
    - C4: the result's rows are those that the window's strides leave of `in`: `to`, which may be left
      out where they are those of `in`.
    - C5: only a causal window over a line, without strides, continues an earlier run; the state has
      (height - 1) * dilation rows, and is not the result of a `keep`.
    - C6: `max` has no dilation: then every window sees the row that it stands at.

    ```mlir
    %p = transformer.slide patches %x in(%rows) window<height = 3, causal = true> : tensor<?x32xf32> -> tensor<?x96xf32>
    %d = transformer.slide depthwise %x, @depthwise.weight in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x32xf32>
    %m = transformer.slide max %x in(%rows) to(%half) window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 29> : tensor<?x32xf32> -> tensor<?x32xf32>
    ```
  }];
  let arguments = (ins Transformer_SlideKindAttr:$kind, Transformer_Rows:$input,
                       Transformer_SegmentsType:$rows, Optional<Transformer_SegmentsType>:$to,
                       Optional<Transformer_RowState>:$state,
                       OptionalAttr<FlatSymbolRefAttr>:$weight, Transformer_WindowAttr:$window,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    `` $kind $input (`,` $weight^)? `in` `(` $rows `)` (`to` `(` $to^ `)`)?
    (`after` `(` $state^ `:` qualified(type($state)) `)`)? `window` `` $window attr-dict `:`
    type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The segments of the result's rows.
    ::mlir::Value getResultRows() { return getTo() ? getTo() : ::mlir::Value(getRows()); }
  }];
}

#endif
