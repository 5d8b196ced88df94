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

/// `(@a, @b)`, empty for an expression without operands.
static ParseResult parseExpressionOperands(AsmParser &parser,
                                           SmallVector<FlatSymbolRefAttr> &operands) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    StringAttr name;
    if (parser.parseSymbolName(name)) {
      return failure();
    }
    operands.push_back(FlatSymbolRefAttr::get(name));
    return success();
  });
}

static void printExpressionOperands(AsmPrinter &printer, ArrayRef<FlatSymbolRefAttr> operands) {
  printer << '(';
  llvm::interleaveComma(operands, printer.getStream(),
                        [&](FlatSymbolRefAttr operand) { printer << operand; });
  printer << ')';
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Transformer/Types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Transformer/Attrs.cpp.inc"

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
  if (failed(kind) || parseExpressionOperands(parser, operands)) {
    return failure();
  }
  expression = ParameterExpressionAttr::get(parser.getContext(), *kind, operands);
  return success();
}

static void printExpression(OpAsmPrinter &printer, Operation *,
                            ParameterExpressionAttr expression) {
  printer << stringifyExpressionKind(expression.getKind());
  printExpressionOperands(printer, expression.getOperands());
}

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.cpp.inc"
