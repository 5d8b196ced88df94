// SPDX-License-Identifier: Apache-2.0
/// Kernels that go over rows once: element-wise maths, look-ups, convolutions, pooling.
#ifndef HEDDLE_DATAFLOW_FAMILIES_ROWS
#define HEDDLE_DATAFLOW_FAMILIES_ROWS

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_PoolKind : Dataflow_Enum<"PoolKind", "how several rows become one", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Cls", 1, "cls">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Sum", 3, "sum">]>;

def Dataflow_ReduceKind : Dataflow_Enum<"ReduceKind", "how the columns of a row become one number", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">]>;

def Dataflow_RowsAttr : Dataflow_Family<"Rows", "rows"> {
  let summary = "inputs[0] [rows, width], element by element";
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_ReduceAttr : Dataflow_Family<"Reduce", "reduce"> {
  let summary = "the columns of inputs[0] [rows, width] to one number: [rows, 1]";
  let description = [{
    A row with a NaN gives NaN. Terms are added in an order that the width alone fixes.
  }];
  let parameters = (ins EnumParameter<Dataflow_ReduceKind>:$kind, "int64_t":$width);
  let assemblyFormat = "`<` $kind `,` `width` `=` $width `>`";
}

def Dataflow_ConvolveAttr : Dataflow_Family<"Convolve", "convolve"> {
  let summary = "rows inputs[0] of a sequence times a kernel inputs[1] [kernel, width], depthwise";
  let description = [{
    Column c of a row is the sum over j of inputs[1][j, c] times column c of the row
    (j - center) * dilation after it; rows outside the sequence are zero. The center is
    (kernel - 1) / 2 rounded down, with `causal` it is kernel - 1.

    With `resumes`, rows are tokens, and the state inputs[2] has the (kernel - 1) * dilation rows
    before the run, as `keep` leaves them: rows before position 0 are those outside the sequence.
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$kernel, "int64_t":$dilation, "bool":$causal,
                        DefaultValuedParameter<"bool", "false">:$resumes);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The element of the kernel that a row itself is multiplied with.
    int64_t getCenter() const { return getCausal() ? getKernel() - 1 : (getKernel() - 1) / 2; }
    /// How many rows the kernel reaches before a row, and how many after it.
    int64_t getRowsBefore() const { return getCenter() * getDilation(); }
    int64_t getRowsAfter() const { return (getKernel() - 1 - getCenter()) * getDilation(); }
  }];
}

def Dataflow_CollectAttr : Dataflow_Family<"Collect", "collect"> {
  let summary = "rows of several inputs side by side, each of the same sequence and position";
  let description = [{
    Inputs: [rows, widths[i]] each; the result is [rows, sum of the widths]. An input has the rows of
    the result, or those of `tokens` in another order: so rows are brought into the order of time,
    and back. Rows of sequences may be those of the last step of rows in the order of time; rows
    of `ranks` are those of sequences, and all rows of a sequence may have that of `sequences`. One
    input may be numbers of keys, [rows, widths[0], longest], as the result is then.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$widths);
  let assemblyFormat = "`<` `[` $widths `]` `>`";
}

def Dataflow_GatherAttr : Dataflow_Family<"Gather", "gather"> {
  let summary = "the sum of table rows: ids and table for each id input, then a table by position";
  let description = [{
    Inputs: ids [rows] and table [entries, width], `lookups` times; then one table for each position
    offset, looked up by the row's position in its sequence plus the offset. `scales` has a factor
    for each of the lookups; without it all are 1. `encoded` are the lookups whose table lies as the
    target stores the matrix of a product, as one that is both does; with `integers` or `bf16`, of a
    product of these.
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$lookups,
                        OptionalArrayRefParameter<"int64_t">:$positionOffsets,
                        OptionalParameter<"::mlir::DenseF32ArrayAttr">:$scales,
                        OptionalArrayRefParameter<"int64_t">:$encoded,
                        DefaultValuedParameter<"Arithmetic", "Arithmetic::F32">:$arithmetic);
  let assemblyFormat = "`<` `width` `=` $width `,` `lookups` `=` $lookups "
                       "`` custom<GatherOptions>($positionOffsets, $scales, $encoded, $arithmetic) "
                       "`>`";
  let extraClassDeclaration = [{
    /// Whether the table of a lookup lies as the target stores matrices.
    bool isEncoded(int64_t lookup) const { return ::llvm::is_contained(getEncoded(), lookup); }
    /// The same look-ups, these of them encoded for products of an arithmetic.
    GatherAttr withEncoded(::llvm::ArrayRef<int64_t> lookups, Arithmetic arithmetic) const {
      return get(getContext(), getWidth(), getLookups(), getPositionOffsets(), getScales(), lookups,
                 arithmetic);
    }
    /// The factor of a lookup.
    float getScale(int64_t lookup) const {
      return getScales() ? getScales().asArrayRef()[lookup] : 1.0f;
    }
  }];
}

def Dataflow_AnglesAttr : Dataflow_Family<"Angles", "angles"> {
  let summary = "the position of each row times each of the frequencies: [rows, frequencies]";
  let parameters = (ins "::mlir::DenseF32ArrayAttr":$frequencies);
  let assemblyFormat = "`<` $frequencies `>`";
}

def Dataflow_RotateAttr : Dataflow_Family<"Rotate", "rotate"> {
  let summary = "inputs[0] [rows, heads * size] with `pairs` pairs of columns of each head turned";
  let description = [{
    Inputs[1] and inputs[2] [rows, pairs] are the cosines c and sines s of the angles. In each head
    columns x[j] and x[j + pairs] become x[j] c[j] - x[j + pairs] s[j] and
    x[j + pairs] c[j] + x[j] s[j]; columns from 2 pairs on stay.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$size, "int64_t":$pairs);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_PoolAttr : Dataflow_Family<"Pool", "pool"> {
  let summary = "inputs[0] [rows, width] to one row for each sequence, or for each of its blocks";
  let description = [{
    The result has the rows of another space, each made of whole rows of the input: `sequences`, or
    `blocks(tokens, 6)` of `tokens` or of `blocks(tokens, 2)`, or `tokens` of `choices(tokens, 2)`.
  }];
  let parameters = (ins EnumParameter<Dataflow_PoolKind>:$kind, "int64_t":$width);
  let assemblyFormat = "`<` $kind `,` `width` `=` $width `>`";
}

#endif
