// SPDX-License-Identifier: Apache-2.0
///
/// The dataflow dialect, and the code that TableGen generates for its types, attributes and ops.
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

// --- generated code ------------------------------------------------------------------------------

#include "dialects/Dataflow/Dialect.cpp.inc"
#include "dialects/Dataflow/Enums.cpp.inc"

using heddle::transformer::parseBody;
using heddle::transformer::parseStateKeys;
using heddle::transformer::printBody;
using heddle::transformer::printStateKeys;

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

// --- the text of operations ----------------------------------------------------------------------

/// Parses the region of a kernel and, after `pairs`, the region for pairs.
static ParseResult parseRegions(OpAsmParser &parser, Region &epilogue, Region &pairs) {
  if (parseBody(parser, epilogue)) {
    return failure();
  }
  return succeeded(parser.parseOptionalKeyword("pairs")) ? parseBody(parser, pairs)
                                                         : ParseResult(success());
}

static void printRegions(OpAsmPrinter &printer, Operation *op, Region &epilogue, Region &pairs) {
  printBody(printer, op, epilogue);
  if (!pairs.empty()) {
    printer << " pairs ";
    printBody(printer, op, pairs);
  }
}

/// Parses `@a`, or `[@a, @b]` where targets have different encodings.
static ParseResult parseEncodings(OpAsmParser &parser, ArrayAttr &encodings) {
  SmallVector<Attribute> symbols;
  auto parseSymbol = [&]() -> ParseResult {
    FlatSymbolRefAttr symbol;
    if (parser.parseAttribute(symbol)) {
      return failure();
    }
    symbols.push_back(symbol);
    return success();
  };
  if (succeeded(parser.parseOptionalLSquare())) {
    if (parser.parseCommaSeparatedList(parseSymbol) || parser.parseRSquare()) {
      return failure();
    }
  } else if (parseSymbol()) {
    return failure();
  }
  encodings = parser.getBuilder().getArrayAttr(symbols);
  return success();
}

static void printEncodings(OpAsmPrinter &printer, ParameterOp, ArrayAttr encodings) {
  if (encodings.size() == 1) {
    printer << encodings[0];
  } else {
    printer << encodings;
  }
}

#define GET_OP_CLASSES
#include "dialects/Dataflow/Ops.cpp.inc"
