// SPDX-License-Identifier: Apache-2.0
/// The dataflow level: a graph of dispatches over buffers.
#ifndef HEDDLE_DATAFLOW_DIALECT
#define HEDDLE_DATAFLOW_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Dataflow_Dialect : Dialect {
  let name = "dataflow";
  let cppNamespace = "::heddle::dataflow";
  let summary = "dispatches of kernels over buffers whose sizes are symbols";
  let description = [{
    A `dataflow.graph` is a sequence of dispatches. A dispatch names its kernel, what it reads and
    where its result lies in the arena; every size is a number or an expression in the sizes known
    only at run time: `tokens`, `sequences` and `longest` (rows of the longest sequence).
    A `dataflow.kernel` says what one kernel computes, with its epilogue as a region of scalar
    maths; how, in which instructions, is the next level's concern.
  }];
  // Families have attributes of it.
  let dependentDialects = ["::heddle::transformer::TransformerDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif
