// SPDX-License-Identifier: Apache-2.0
///
/// The dataflow dialect itself, and what the generators emit for its types, attributes and ops.
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

// --- what the generators emit --------------------------------------------------------------------

#include "dialects/Dataflow/Dialect.cpp.inc"
#include "dialects/Dataflow/Enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Dataflow/Types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dataflow/Attrs.cpp.inc"

void DataflowDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dataflow/Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dataflow/Attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dataflow/Ops.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Dataflow/Ops.cpp.inc"
