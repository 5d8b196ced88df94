// SPDX-License-Identifier: Apache-2.0
/// Kernels of rows that choose among columns, and of the rows that are their choices.
#ifndef HEDDLE_DATAFLOW_FAMILIES_CHOICES
#define HEDDLE_DATAFLOW_FAMILIES_CHOICES

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_TopKAttr : Dataflow_Family<"TopK", "top_k"> {
  let summary = "the largest of `columns` elements of each row, and which columns they are in";
  let description = [{
    The results are the elements, [rows, count], and the columns as integers, [choices]: the largest
    first, of equal ones that of the lower column. NaN is larger than any number and equal to NaN.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_OrderAttr : Dataflow_Family<"Order", "order"> {
  let summary = "the rows of inputs[0] in the order of the `groups` numbers there, as integers";
  let description = [{
    Rows of equal numbers stay in their order. Each call counts all numbers and writes its own
    places. A number that is out of range counts as the nearest.
  }];
  let parameters = (ins "int64_t":$groups);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_RepeatAttr : Dataflow_Family<"Repeat", "repeat"> {
  let summary = "rows inputs[0], once for every choice of each";
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_PlaceColumnsAttr : Dataflow_Family<"PlaceColumns", "place_columns"> {
  let summary = "inputs[0] [rows, count] in the columns that inputs[1] [choices] names, else zero";
  let description = [{
    Of columns that are out of range the nearest is taken, and of equal ones the last counts: they
    cannot be, but what lies in memory is not checked.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dataflow_PeaksAttr : Dataflow_Family<"Peaks", "peaks"> {
  let summary =
      "what each piece of a row of `columns` logits has for the normaliser, and its largest";
  let description = [{
    A row of the result has three words for each piece of `piece` columns: the largest element, the
    sum of exp(element - largest), and the column of the largest as the bits of an i32, of equal ones
    the lower (runtime/include/heddle/Selection.h). Minus infinity and NaN are never the largest; minus
    infinity and column 0 stand for one that is missing. NaN makes the sum NaN. A column of work is a
    piece.
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$piece);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The number of pieces.
    int64_t getPieces() const;
  }];
}

def Dataflow_SelectAttr : Dataflow_Family<"Select", "select"> {
  let summary = "what a search needs of each row of `columns` logits: pieces for the normaliser, "
                "and the best";
  let description = [{
    inputs[0] are the logits, and inputs[1] is what #dataflow.peaks finds in them. A row of the result
    has pairs: for each piece of `piece` columns the largest element and the sum of
    exp(element - largest), as inputs[1] has them, then the `count` largest elements and their
    columns, the largest first, of equal ones that of the lower column
    (runtime/include/heddle/Selection.h). Minus infinity and NaN are never among the largest; minus
    infinity and column 0 stand for those that are missing. A column of work is a pair.
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$piece, "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The number of pieces.
    int64_t getPieces() const;
  }];
}

#endif
