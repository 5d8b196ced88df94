// SPDX-License-Identifier: Apache-2.0
/// The model level: a Transformer variant as plain mathematics.
#ifndef HEDDLE_TRANSFORMER_DIALECT
#define HEDDLE_TRANSFORMER_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Transformer_Dialect : Dialect {
  let name = "transformer";
  let cppNamespace = "::heddle::transformer";
  let summary = "Transformer variants as mathematics over ragged rows";
  let description = [{
    Activations are `tensor<?xWxf32>`: the rows of all sequences of a batch laid end to end, never
    padded. A value of type `!transformer.segments` says which rows belong together. Layouts, tiles,
    buffers and batch padding do not exist here.

    Frontends write the primitive operations; the fused ones are only ever made by passes.
    Weights are symbols (`transformer.parameter`), never constants in the program.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif
