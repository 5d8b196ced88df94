// SPDX-License-Identifier: Apache-2.0
///
/// The dataflow dialect itself, and what the generators emit for its types, attributes and ops.
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

// --- the options of attributes -----------------------------------------------------------------

/// Parses `, name = value` or `, name` as long as there are some; `parse` says whether it knows the
/// name, and reads the rest.
static ParseResult parseOptions(AsmParser &parser,
                                llvm::function_ref<OptionalParseResult(StringRef)> parse) {
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name)) {
      return failure();
    }
    OptionalParseResult parsed = parse(name);
    if (!parsed.has_value()) {
      return parser.emitError(location, "expects the name of an option, got '") << name << "'";
    }
    if (failed(*parsed)) {
      return failure();
    }
  }
  return success();
}

static ParseResult parseGatherOptions(AsmParser &parser, SmallVector<int64_t> &positionOffsets,
                                      DenseF32ArrayAttr &scales) {
  return parseOptions(parser, [&](StringRef name) -> OptionalParseResult {
    if (name == "positions") {
      auto parseOffset = [&] { return parser.parseInteger(positionOffsets.emplace_back()); };
      return ParseResult(
          failure(parser.parseEqual() ||
                  parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOffset)));
    }
    if (name == "scales") {
      return ParseResult(failure(parser.parseEqual() || parser.parseAttribute(scales)));
    }
    return std::nullopt;
  });
}

static void printGatherOptions(AsmPrinter &printer, ArrayRef<int64_t> positionOffsets,
                               DenseF32ArrayAttr scales) {
  if (!positionOffsets.empty()) {
    printer << ", positions = [";
    llvm::interleaveComma(positionOffsets, printer.getStream());
    printer << "]";
  }
  if (scales) {
    printer << ", scales = " << scales;
  }
}

static ParseResult parseNestOptions(AsmParser &parser, FloatAttr &hidden, bool &relative,
                                    bool &keysFrom) {
  return parseOptions(parser, [&](StringRef name) -> OptionalParseResult {
    if (name == "hidden") {
      return ParseResult(failure(parser.parseEqual() || parser.parseAttribute(hidden)));
    }
    if (name == "relative") {
      relative = true;
      return ParseResult(success());
    }
    if (name == "keys_from") {
      keysFrom = true;
      return ParseResult(success());
    }
    return std::nullopt;
  });
}

static void printNestOptions(AsmPrinter &printer, FloatAttr hidden, bool relative, bool keysFrom) {
  if (hidden) {
    printer << ", hidden = " << hidden;
  }
  printer << (relative ? ", relative" : "") << (keysFrom ? ", keys_from" : "");
}

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
