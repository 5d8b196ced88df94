// SPDX-License-Identifier: Apache-2.0
///
/// The transformer dialect: types, attributes and the code generated for them.
#include "dialects/Transformer/Transformer.h"
#include "heddle/Limits.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace heddle::transformer;

#include "dialects/Transformer/Dialect.cpp.inc"
#include "dialects/Transformer/Enums.cpp.inc"

#include "dialects/Transformer/Interfaces.cpp.inc"

/// Parses parameters, then numbers.
static ParseResult parseOperandOrNumber(AsmParser &parser, SmallVector<FlatSymbolRefAttr> &operands,
                                        SmallVector<int64_t> &numbers) {
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
}

/// Parses parameters, then at most one constant, which ends the list.
static ParseResult parseOperandOrFactor(AsmParser &parser, SmallVector<FlatSymbolRefAttr> &operands,
                                        FloatAttr &factor) {
  if (factor) {
    return parser.emitError(parser.getCurrentLocation(), "expected nothing after a constant");
  }
  StringAttr name;
  if (succeeded(parser.parseOptionalSymbolName(name))) {
    operands.push_back(FlatSymbolRefAttr::get(name));
    return success();
  }
  double constant = 0;
  if (parser.parseFloat(constant)) {
    return failure();
  }
  factor = parser.getBuilder().getF64FloatAttr(constant);
  return success();
}

/// Parses `rows(@a, 3)`: a kind, parameters, then numbers, or the constant of `scale`.
static ParameterExpressionAttr parseExpressionText(AsmParser &parser) {
  FailureOr<ExpressionKind> kind = FieldParser<ExpressionKind>::parse(parser);
  if (failed(kind)) {
    return {};
  }
  SmallVector<FlatSymbolRefAttr> operands;
  SmallVector<int64_t> numbers;
  FloatAttr factor;
  ParseResult parsed = parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return *kind == ExpressionKind::Scale ? parseOperandOrFactor(parser, operands, factor)
                                          : parseOperandOrNumber(parser, operands, numbers);
  });
  return parsed
             ? ParameterExpressionAttr()
             : ParameterExpressionAttr::get(parser.getContext(), *kind, operands, numbers, factor);
}

static void printExpressionText(AsmPrinter &printer, ParameterExpressionAttr expression) {
  printer << stringifyExpressionKind(expression.getKind()) << '(';
  llvm::ListSeparator comma;
  for (FlatSymbolRefAttr operand : expression.getOperands()) {
    printer << StringRef(comma) << operand;
  }
  for (int64_t number : expression.getNumbers()) {
    printer << StringRef(comma) << number;
  }
  if (expression.getFactor()) {
    printer << StringRef(comma);
    printer.printFloat(expression.getFactor().getValue());
  }
  printer << ')';
}

ParseResult heddle::transformer::parseStateKeys(AsmParser &parser, bool &keyed) {
  keyed = succeeded(parser.parseOptionalComma());
  return keyed ? parser.parseKeyword("keys") : ParseResult(success());
}

void heddle::transformer::printStateKeys(AsmPrinter &printer, bool keyed) {
  printer << (keyed ? ", keys" : "");
}

/// Parses the number of elements that share a scale, or `row` for a whole row.
static ParseResult parseQuantizedGroup(AsmParser &parser, int64_t &group) {
  group = 0;
  if (succeeded(parser.parseOptionalKeyword("row"))) {
    return success();
  }
  llvm::SMLoc location = parser.getCurrentLocation();
  if (parser.parseInteger(group)) {
    return failure();
  }
  // Zero is the C++ value for the whole row.
  return group != 0 ? success()
                    : parser.emitError(location, "expects 'row' or 1 to 2^40 elements that share "
                                                 "a scale, got 0");
}

static void printQuantizedGroup(AsmPrinter &printer, int64_t group) {
  if (group == 0) {
    printer << "row";
  } else {
    printer << group;
  }
}

/// Parses what follows a group: the type of scales unless it is f32, whether groups have minimums,
/// and whether codes may be -128.
static ParseResult parseQuantizedScales(AsmParser &parser, Type &scales, bool &minimums,
                                        bool &full) {
  scales = parser.getBuilder().getF32Type();
  minimums = full = false;
  for (bool isFirst = true; !full && succeeded(parser.parseOptionalComma()); isFirst = false) {
    if (!minimums && succeeded(parser.parseOptionalKeyword("minimums"))) {
      minimums = true;
      continue;
    }
    full = succeeded(parser.parseOptionalKeyword("full"));
    if (full) {
      continue;
    }
    if (!isFirst) {
      return parser.emitError(parser.getCurrentLocation(),
                              minimums ? "expects 'full' or '>'"
                                       : "expects 'minimums', 'full' or '>'");
    }
    if (parser.parseType(scales)) {
      return failure();
    }
  }
  return success();
}

static void printQuantizedScales(AsmPrinter &printer, Type scales, bool minimums, bool full) {
  if (!scales.isF32()) {
    printer << ", " << scales;
  }
  printer << (minimums ? ", minimums" : "") << (full ? ", full" : "");
}

/// Returns whether an operation outside a region uses a value that the region defines.
static bool isUsedOutside(Region &body) {
  auto isOutside = [&](Operation *user) {
    // A block that is still being parsed has no parent region.
    Region *region = user->getParentRegion();
    return !region || !body.isAncestor(region);
  };
  auto areUsed = [&](auto values) {
    return llvm::any_of(values,
                        [&](Value value) { return llvm::any_of(value.getUsers(), isOutside); });
  };
  bool areArguments =
      llvm::any_of(body, [&](Block &block) { return areUsed(block.getArguments()); });
  return areArguments || body.walk([&](Operation *op) {
                               return areUsed(op->getResults()) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
                             })
                             .wasInterrupted();
}

ParseResult heddle::transformer::parseBody(OpAsmParser &parser, Region &body) {
  SMLoc location = parser.getCurrentLocation();
  ParseResult parsed = parser.parseRegion(body);
  if (succeeded(parsed) && isUsedOutside(body)) {
    parsed = parser.emitError(location, "defines a name that an operation before it uses");
  }
  if (failed(parsed)) {
    for (Block &block : body) {
      block.dropAllDefinedValueUses();
    }
  }
  return parsed;
}

void heddle::transformer::printBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer.printRegion(body);
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Transformer/Types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Transformer/Attrs.cpp.inc"

Attribute ParameterExpressionAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  ParameterExpressionAttr expression = parseExpressionText(parser);
  return expression && succeeded(parser.parseGreater()) ? expression : Attribute();
}

void ParameterExpressionAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printExpressionText(printer, *this);
  printer << '>';
}

int64_t ParameterExpressionAttr::getPanelColumns() const { return getNumbers().front(); }

int64_t ParameterExpressionAttr::getGroups() const {
  return getNumbers().size() > 1 ? getNumbers()[1] : 1;
}

int64_t ParameterExpressionAttr::getElementsTogether() const {
  return getNumbers().size() > 2 ? getNumbers()[2] : 1;
}

LogicalResult QuantizedType::verify(function_ref<InFlightDiagnostic()> emitError, Type codes,
                                    int64_t group, Type scales, bool, bool full) {
  // C1
  if (!codes.isSignlessInteger(8) && !codes.isSignlessInteger(4)) {
    return emitError() << "expects codes of i8 or i4, got " << codes;
  }
  // C2
  if (group < 0 || group > mostElements) {
    return emitError() << "expects 'row' or 1 to 2^40 elements that share a scale, got " << group;
  }
  if (codes.isInteger(4) && group % (2 * codesTogether) != 0) {
    return emitError() << "expects 'row' or a multiple of " << 2 * codesTogether
                       << " elements of i4 that share a scale, got " << group;
  }
  // C3
  if (!scales.isF32() && !scales.isF16() && !scales.isBF16()) {
    return emitError() << "expects scales of f32, f16 or bf16, got " << scales;
  }
  // C4
  if (full && !codes.isInteger(8)) {
    return emitError() << "expects codes of i8 to be full, got " << codes;
  }
  return success();
}

int64_t QuantizedType::getGroupOf(int64_t columns) const {
  return getGroup() == 0 ? columns : std::min(getGroup(), columns);
}

int64_t QuantizedType::getScalesOf(int64_t columns) const {
  return llvm::divideCeilSigned(columns, getGroupOf(columns));
}

bool QuantizedType::isForLookUps(int64_t columns) const {
  return getScalesOf(columns) == 1 || getGroupOf(columns) % mostLanes == 0;
}

bool QuantizedType::isForIntegers(int64_t columns) const {
  const int64_t shared = getGroupOf(columns);
  return !getMinimums() && shared <= mostIntegersInSum &&
         (shared == columns || shared % codesTogether == 0);
}

/// Returns the bytes of `count` integers of `bits` bits, rounded up to whole words.
static int64_t bytesInWords(int64_t count, unsigned bits) {
  return static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(count * bits, 8), sizeof(float)));
}

int64_t QuantizedType::getZerosOffset(int64_t columns) const {
  return bytesInWords(getScalesOf(columns), getScales().getIntOrFloatBitWidth());
}

int64_t QuantizedType::getCodesOffset(int64_t columns) const {
  const int64_t afterScales = getZerosOffset(columns);
  if (getMinimums()) {
    return 2 * afterScales;
  }
  return afterScales + (hasZeros() ? bytesInWords(getScalesOf(columns), 4) : 0);
}

int64_t QuantizedType::getRowBytes(int64_t columns) const {
  return getCodesOffset(columns) + bytesInWords(columns, getCodes().getIntOrFloatBitWidth());
}

int64_t QuantizedType::getHeadBytes(int64_t panelColumns, int64_t together) const {
  const int64_t scaleBytes = panelColumns * getScaleBytes() * (getMinimums() ? 2 : 1);
  if (hasHalves()) {
    // Aligns vectors of codes so that no load crosses a cache line.
    constexpr int64_t alignment = 16;
    const int64_t zeroBytes = hasZeros() ? llvm::divideCeilSigned(panelColumns, 2) : 0;
    return static_cast<int64_t>(llvm::alignTo(scaleBytes + zeroBytes, alignment));
  }
  return scaleBytes + (together > 1 ? panelColumns * int64_t(sizeof(int32_t)) : 0);
}

int64_t QuantizedType::getPanelBytes(int64_t k, int64_t panelColumns, int64_t together) const {
  const auto steps = static_cast<int64_t>(llvm::alignTo(k, getRowsTogether(together)));
  return getScalesOf(k) * getHeadBytes(panelColumns, together) +
         steps * panelColumns * getCodes().getIntOrFloatBitWidth() / 8;
}

std::string QuantizedType::describe() const {
  std::string text;
  llvm::raw_string_ostream(text) << getCodes() << ", one scale"
                                 << (hasZeros()      ? " and code of zero"
                                     : getMinimums() ? " and minimum"
                                                     : "");
  return text + (getGroup() == 0 ? " for each row"
                                 : " for every " + std::to_string(getGroup()) + " of a row");
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t width,
                                Type elementType) {
  // C1
  if (width < 1) {
    return emitError() << "expects a cache of positive width, got " << width;
  }
  // C2
  auto codes = dyn_cast<QuantizedType>(elementType);
  const bool areCodes = codes && codes.isBytesWithScales();
  if (!elementType.isF32() && !elementType.isBF16() && !areCodes) {
    return emitError() << "expects a cache that keeps f32, bf16 or codes of i8 with scales in f32, "
                       << "got " << elementType;
  }
  // C3
  if (codes && width % codes.getGroupOf(width) != 0) {
    return emitError() << "expects a scale for as many elements as divide the width " << width
                       << ", got " << codes.getGroup();
  }
  return success();
}

int64_t CacheType::getPositionBytes() const {
  return storedAs(getElementType(), getWidth()).bytes();
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t width, bool) {
  // C1
  if (width < 1) {
    return emitError() << "expects a state of positive width, got " << width;
  }
  return success();
}

RankedTensorType StateType::getRows() const {
  SmallVector<int64_t> shape = {ShapedType::kDynamic, getWidth()};
  if (getKeyed()) {
    shape.push_back(ShapedType::kDynamic);
  }
  return RankedTensorType::get(shape, Float32Type::get(getContext()));
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

// --- Visibility

/// Parses `i / 4 * 4 - 3`, the form of a bound in Visibility.h.
static ParseResult parseBound(AsmParser &parser, std::optional<PositionBound> &result) {
  PositionBound bound;
  // Parses a sign and a number, if present.
  auto parseSum = [&](int64_t &number) -> ParseResult {
    if (succeeded(parser.parseOptionalPlus())) {
      return parser.parseInteger(number);
    }
    if (failed(parser.parseOptionalMinus())) {
      return success();
    }
    uint32_t magnitude = 0;
    ParseResult parsed = parser.parseInteger(magnitude);
    number = -int64_t{magnitude};
    return parsed;
  };
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseKeyword("i") || parseSum(bound.shift) || parser.parseRParen()) {
      return failure();
    }
  } else if (parser.parseKeyword("i")) {
    return failure();
  }
  if ((succeeded(parser.parseOptionalSlash()) && parser.parseInteger(bound.size)) ||
      (succeeded(parser.parseOptionalStar()) && parser.parseInteger(bound.step)) ||
      parseSum(bound.offset)) {
    return failure();
  }
  result = bound;
  return success();
}

/// Parses `all`, `causal`, or bounds, without the brackets of an attribute, as in operations.
static VisibilityAttr parseVisibilityText(AsmParser &parser) {
  Visibility value;
  llvm::SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word)) {
    return {};
  }
  if (word == "causal") {
    value = Visibility::causal();
  } else if (word == "from") {
    if (parseBound(parser, value.from) ||
        (succeeded(parser.parseOptionalKeyword("to")) && parseBound(parser, value.to))) {
      return {};
    }
  } else if (word == "to") {
    if (parseBound(parser, value.to)) {
      return {};
    }
  } else if (word != "all") {
    parser.emitError(place, "expected 'all', 'causal', 'from' or 'to', got '") << word << "'";
    return {};
  }
  return parser.getChecked<VisibilityAttr>(place, parser.getContext(), value);
}

Attribute VisibilityAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  VisibilityAttr visibility = parseVisibilityText(parser);
  return visibility && succeeded(parser.parseGreater()) ? visibility : VisibilityAttr();
}

void VisibilityAttr::print(AsmPrinter &printer) const {
  printer << "<" << getValue().text() << ">";
}

LogicalResult VisibilityAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                     Visibility value) {
  std::string problem = value.problem();
  return problem.empty() ? success() : LogicalResult(emitError() << "expects " << problem);
}

static ParseResult parseVisibility(OpAsmParser &parser, VisibilityAttr &visibility) {
  visibility = parseVisibilityText(parser);
  return success(static_cast<bool>(visibility));
}

static void printVisibility(OpAsmPrinter &printer, Operation *, VisibilityAttr visibility) {
  printer << visibility.getValue().text();
}

/// Parses one type if both operands have the same type, else two.
static ParseResult parseOperandTypes(OpAsmParser &parser, Type &left, Type &right) {
  if (parser.parseType(left)) {
    return failure();
  }
  right = left;
  return succeeded(parser.parseOptionalComma()) ? parser.parseType(right) : success();
}

static void printOperandTypes(OpAsmPrinter &printer, Operation *, Type left, Type right) {
  printer << left;
  if (left != right) {
    printer << ", " << right;
  }
}

/// Parses `concat(@a, @b)`, without the brackets of an attribute.
static ParseResult parseExpression(OpAsmParser &parser, ParameterExpressionAttr &expression) {
  expression = parseExpressionText(parser);
  return success(static_cast<bool>(expression));
}

static void printExpression(OpAsmPrinter &printer, Operation *,
                            ParameterExpressionAttr expression) {
  printExpressionText(printer, expression);
}

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.cpp.inc"
