// SPDX-License-Identifier: Apache-2.0
///
/// The transformer dialect itself: its types, its attributes and what the generators emit for them.
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

#include "dialects/Transformer/Dialect.cpp.inc"
#include "dialects/Transformer/Enums.cpp.inc"

/// `(@a, @b, 3)`: parameters, then numbers; empty for an expression without any.
static ParseResult parseExpressionOperands(AsmParser &parser,
                                           SmallVector<FlatSymbolRefAttr> &operands,
                                           SmallVector<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    int64_t number = 0;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      numbers.push_back(number);
      return *isNumber;
    }
    if (!numbers.empty()) {
      return parser.emitError(parser.getCurrentLocation(), "expected a number after numbers");
    }
    StringAttr name;
    if (parser.parseSymbolName(name)) {
      return failure();
    }
    operands.push_back(FlatSymbolRefAttr::get(name));
    return success();
  });
}

static void printExpressionOperands(AsmPrinter &printer, ArrayRef<FlatSymbolRefAttr> operands,
                                    ArrayRef<int64_t> numbers) {
  printer << '(';
  llvm::interleaveComma(operands, printer.getStream(),
                        [&](FlatSymbolRefAttr operand) { printer << operand; });
  if (!operands.empty() && !numbers.empty()) {
    printer << ", ";
  }
  llvm::interleaveComma(numbers, printer.getStream());
  printer << ')';
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Transformer/Types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Transformer/Attrs.cpp.inc"

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t width) {
  // C1
  if (width < 1) {
    return emitError() << "expects a cache of positive width, got " << width;
  }
  return success();
}

void TransformerDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Transformer/Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Transformer/Attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Transformer/Ops.cpp.inc"
      >();
}

/// `all` or `causal` as a bare word.
static ParseResult parseVisibility(OpAsmParser &parser, VisibilityAttr &visibility) {
  FailureOr<Visibility> value = FieldParser<Visibility>::parse(parser);
  if (failed(value)) {
    return failure();
  }
  visibility = VisibilityAttr::get(parser.getContext(), *value);
  return success();
}

static void printVisibility(OpAsmPrinter &printer, Operation *, VisibilityAttr visibility) {
  printer << stringifyVisibility(visibility.getValue());
}

/// `concat(@a, @b)`, without the brackets an attribute has elsewhere.
static ParseResult parseExpression(OpAsmParser &parser, ParameterExpressionAttr &expression) {
  FailureOr<ExpressionKind> kind = FieldParser<ExpressionKind>::parse(parser);
  SmallVector<FlatSymbolRefAttr> operands;
  SmallVector<int64_t> numbers;
  if (failed(kind) || parseExpressionOperands(parser, operands, numbers)) {
    return failure();
  }
  expression = ParameterExpressionAttr::get(parser.getContext(), *kind, operands, numbers);
  return success();
}

static void printExpression(OpAsmPrinter &printer, Operation *,
                            ParameterExpressionAttr expression) {
  printer << stringifyExpressionKind(expression.getKind());
  printExpressionOperands(printer, expression.getOperands(), expression.getNumbers());
}

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.cpp.inc"
