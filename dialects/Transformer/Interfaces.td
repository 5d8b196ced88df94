// SPDX-License-Identifier: Apache-2.0
/// What operations say about themselves: their costs, and the rows that they derive from others.
#ifndef HEDDLE_TRANSFORMER_INTERFACES
#define HEDDLE_TRANSFORMER_INTERFACES

include "mlir/IR/Interfaces.td"

def Transformer_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An operation that computes something counts its floating-point operations. Those without the
    interface, views, look-ups and masks, compute nothing.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations of a row, and of a row and each key that it sees: two "
                    "for each product, one for each element of element-wise mathematics.",
      "::heddle::transformer::OperationFlops", "getFlops">,
  ];
}

def Transformer_DerivedRowsInterface : OpInterface<"DerivedRowsInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An operation that gives segments whose rows derive from those of other segments: blocks of them,
    for example. Its only result are these segments.
  }];
  let methods = [
    InterfaceMethod<"The segments from which they derive.", "::mlir::Value", "getRows">,
    InterfaceMethod<"The row space of the result where those segments are of `space`; nothing if "
                    "there is none.",
      "std::optional<::heddle::RowSpace>", "deriveSpace", (ins "::heddle::RowSpace":$space)>,
  ];
}

#endif
