// SPDX-License-Identifier: Apache-2.0
/// What an operation costs: operations that compute something say it themselves.
#ifndef HEDDLE_TRANSFORMER_COST
#define HEDDLE_TRANSFORMER_COST

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

#endif
