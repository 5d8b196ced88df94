// SPDX-License-Identifier: Apache-2.0
///
/// Verifies parameters and the expressions that compute them from others.
#include "dialects/Transformer/ParameterChecks.h"
#include "heddle/Limits.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::transformer;

/// An upper limit for the positions, distances and rows of any table.
static constexpr int64_t kMostPositions = int64_t{1} << 32;

/// Returns whether checkpoints can contain this element type; `convert` reads and produces these
/// types.
static bool isReal(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isF32() || element.isF16() || element.isBF16();
}

LogicalResult ParameterOp::verify() {
  // C1
  if (getSource().has_value() == getExpression().has_value()) {
    return emitOpError("expects either a source or an expression, got ")
           << (getSource() ? "both" : "neither");
  }
  // C8
  const bool isMatrixOfCodes =
      getTensorType().getRank() == 2 && isa<QuantizedType>(getTensorType().getElementType());
  if (getSource() && !isReal(getTensorType()) && !isMatrixOfCodes) {
    return emitOpError("expects elements of f32, f16 or bf16 from a checkpoint, or a matrix of "
                       "quantised ones, got ")
           << getTensorType();
  }
  // C2
  RankedTensorType type = getTensorType();
  if (type.getRank() < 1 || type.getRank() > 4 ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size <= 0; })) {
    return emitOpError("expects rank 1 to 4 and positive dimensions, got ") << type;
  }
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    if (llvm::MulOverflow(elements, size, elements) || elements > mostElements) {
      return emitOpError("expects at most 2^40 elements, got ") << type;
    }
  }
  return success();
}

/// A number of an expression: its meaning, for messages, and its range.
struct NumberSpec {
  StringRef name;
  int64_t least, most;

  static NumberSpec index(StringRef name) { return {name, 0, kMostPositions}; }
  static NumberSpec count(StringRef name) { return {name, 1, kMostPositions}; }
  static NumberSpec flag(StringRef name) { return {name, 0, 1}; }
};

/// The operands and numbers of a kind of expression.
struct Signature {
  size_t operands = 1;
  /// In order.
  SmallVector<NumberSpec, 3> numbers;
  /// How many of the last numbers are optional.
  size_t optional = 0;
};

static Signature signatureOf(ExpressionKind kind) {
  switch (kind) {
  case ExpressionKind::Zeros:
    return {0, {}};
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
    return {0, {NumberSpec::index("the first position"), NumberSpec::count("the steps")}};
  case ExpressionKind::OnesFrom:
    return {0, {NumberSpec::index("the first row")}};
  case ExpressionKind::Rows:
    return {1, {NumberSpec::index("the first row")}};
  case ExpressionKind::Columns:
    return {1, {NumberSpec::index("the first column")}};
  case ExpressionKind::RelativeBuckets:
    return {1, {NumberSpec::flag("bidirectional"), NumberSpec::count("the distance")}};
  case ExpressionKind::Product:
  case ExpressionKind::Compensate:
    return {2, {}};
  case ExpressionKind::Pack:
    return {1,
            {NumberSpec::count("the columns"), NumberSpec::count("the groups"),
             NumberSpec::count("the elements together")},
            2};
  case ExpressionKind::Concat:
  case ExpressionKind::Reshape:
  case ExpressionKind::Transpose:
  case ExpressionKind::Scale:
  case ExpressionKind::Sum:
  case ExpressionKind::ConcatColumns:
  case ExpressionKind::Convert:
    return {1, {}};
  }
  llvm_unreachable("every kind is handled");
}

/// Infers the shape of a table of relative buckets spread over distances; fails if it cannot be
/// spread.
static FailureOr<SmallVector<int64_t>> inferDistances(RankedTensorType table,
                                                      ArrayRef<int64_t> numbers) {
  // Each direction needs at least two buckets: one for distance 0 and one for all others.
  int64_t least = numbers[0] == 1 ? 4 : 2;
  if (table.getRank() != 2 || table.getDimSize(0) < least ||
      (numbers[0] == 1 && table.getDimSize(0) % 2 != 0)) {
    return failure();
  }
  return SmallVector<int64_t>{table.getDimSize(1), 2 * numbers[1] + 1};
}

FailureOr<RankedTensorType> heddle::transformer::packedType(RankedTensorType matrix,
                                                            ParameterExpressionAttr pack) {
  int64_t columns = pack.getPanelColumns(), groups = pack.getGroups();
  if (matrix.getRank() != 2 || matrix.getDimSize(0) % groups != 0) {
    return failure();
  }
  int64_t panels = groups * llvm::divideCeilSigned(matrix.getDimSize(0) / groups, columns);
  int64_t k = matrix.getDimSize(1);
  auto quantized = dyn_cast<QuantizedType>(matrix.getElementType());
  const int64_t together = pack.getElementsTogether();
  const bool isForIntegers = quantized && together == codesTogether && quantized.isForIntegers(k);
  // Pairs are for one instruction of most processors; eight are a row of a core matrix of Hopper.
  constexpr int64_t ofCoreMatrix = 8;
  const bool isForBf16 =
      matrix.getElementType().isBF16() && (together == bf16Together || together == ofCoreMatrix);
  if (together != 1 && !isForIntegers && !isForBf16) {
    return failure();
  }
  if (isForBf16) {
    return RankedTensorType::get({panels, llvm::divideCeilSigned(k, together), columns, together},
                                 matrix.getElementType());
  }
  if (quantized) {
    // In the worst case each element is a group of its own with its own header.
    int64_t mostBytes = 0;
    if (llvm::MulOverflow(columns, int64_t{64} * k, mostBytes)) {
      return failure();
    }
    return RankedTensorType::get({panels, quantized.getPanelBytes(k, columns, together)},
                                 IntegerType::get(matrix.getContext(), 8));
  }
  return RankedTensorType::get({panels, k, columns}, matrix.getElementType());
}

/// Infers the shape of a concatenation along the first axis; fails if the other axes differ.
static FailureOr<SmallVector<int64_t>> inferConcat(ArrayRef<RankedTensorType> operands) {
  SmallVector<int64_t> shape(operands[0].getShape());
  for (RankedTensorType operand : operands.drop_front()) {
    if (operand.getShape().drop_front() != operands[0].getShape().drop_front()) {
      return failure();
    }
    shape[0] += operand.getDimSize(0);
  }
  return shape;
}

/// Infers the shape of a matrix times a matrix or a vector; fails if the operands do not match.
static FailureOr<SmallVector<int64_t>> inferProduct(RankedTensorType left, RankedTensorType right) {
  if (left.getRank() != 2 || right.getRank() > 2 || left.getDimSize(1) != right.getDimSize(0)) {
    return failure();
  }
  SmallVector<int64_t> shape(right.getShape());
  shape[0] = left.getDimSize(0);
  return shape;
}

/// Infers the shape of matrices concatenated along the second axis; fails if their row counts
/// differ.
static FailureOr<SmallVector<int64_t>> inferConcatColumns(ArrayRef<RankedTensorType> operands) {
  SmallVector<int64_t> shape = {operands[0].getDimSize(0), 0};
  for (RankedTensorType operand : operands) {
    if (operand.getRank() != 2 || operand.getDimSize(0) != shape[0]) {
      return failure();
    }
    shape[1] += operand.getDimSize(1);
  }
  return shape;
}

/// Returns the shape of the matrix [n, k]; fails unless the moments are [groups * k, k], where
/// groups divides n.
static FailureOr<SmallVector<int64_t>> inferCompensate(RankedTensorType matrix,
                                                       RankedTensorType moments) {
  if (matrix.getRank() != 2 || moments.getRank() != 2) {
    return failure();
  }
  const int64_t k = matrix.getDimSize(1);
  if (moments.getDimSize(1) != k || moments.getDimSize(0) % k != 0 ||
      matrix.getDimSize(0) % (moments.getDimSize(0) / k) != 0) {
    return failure();
  }
  return SmallVector<int64_t>(matrix.getShape());
}

/// Infers the shape of the rows of a table from a given row on, as many as the type says.
static FailureOr<SmallVector<int64_t>>
inferRows(RankedTensorType table, ParameterExpressionAttr expression, ArrayRef<int64_t> shape) {
  int64_t first = expression.getNumbers()[0];
  if (first > table.getDimSize(0) || shape[0] > table.getDimSize(0) - first) {
    return failure();
  }
  SmallVector<int64_t> cut(table.getShape());
  cut[0] = shape[0];
  return cut;
}

/// Infers the shape of the columns of a matrix from a given column on, as many as the type says.
static FailureOr<SmallVector<int64_t>>
inferColumns(RankedTensorType matrix, ParameterExpressionAttr expression, ArrayRef<int64_t> shape) {
  int64_t first = expression.getNumbers()[0];
  if (matrix.getRank() != 2 || shape.size() != 2 || first > matrix.getDimSize(1) ||
      shape[1] > matrix.getDimSize(1) - first) {
    return failure();
  }
  return SmallVector<int64_t>{matrix.getDimSize(0), shape[1]};
}

/// Infers the shape of an expression from those of its operands; fails if they do not match. The
/// counts of operands and numbers, and the ranges of numbers, have been checked.
static FailureOr<SmallVector<int64_t>> inferShape(ParameterExpressionAttr expression,
                                                  ArrayRef<RankedTensorType> operands,
                                                  RankedTensorType result) {
  SmallVector<int64_t> shape(result.getShape());
  switch (expression.getKind()) {
  case ExpressionKind::Zeros:
  case ExpressionKind::OnesFrom:
    return shape;
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
    if (shape.size() != 2 || shape[1] % 2 != 0) {
      return failure();
    }
    return shape;
  case ExpressionKind::Reshape:
    if (operands[0].getNumElements() != result.getNumElements()) {
      return failure();
    }
    return shape;
  case ExpressionKind::Transpose:
    if (operands[0].getRank() != 2) {
      return failure();
    }
    return SmallVector<int64_t>{operands[0].getDimSize(1), operands[0].getDimSize(0)};
  case ExpressionKind::Pack: {
    FailureOr<RankedTensorType> packed = packedType(operands[0], expression);
    return failed(packed) ? FailureOr<SmallVector<int64_t>>(failure())
                          : SmallVector<int64_t>(packed->getShape());
  }
  case ExpressionKind::Concat:
    return inferConcat(operands);
  case ExpressionKind::Rows:
    return inferRows(operands[0], expression, shape);
  case ExpressionKind::RelativeBuckets:
    return inferDistances(operands[0], expression.getNumbers());
  case ExpressionKind::Convert:
    return SmallVector<int64_t>(operands[0].getShape());
  case ExpressionKind::Compensate:
    return inferCompensate(operands[0], operands[1]);
  case ExpressionKind::Columns:
    return inferColumns(operands[0], expression, shape);
  case ExpressionKind::Product:
    return inferProduct(operands[0], operands[1]);
  case ExpressionKind::Scale:
    if (llvm::any_of(operands.drop_front(),
                     [](RankedTensorType factor) { return factor.getNumElements() != 1; })) {
      return failure();
    }
    return SmallVector<int64_t>(operands[0].getShape());
  case ExpressionKind::Sum:
    if (!llvm::all_equal(operands)) {
      return failure();
    }
    return SmallVector<int64_t>(operands[0].getShape());
  case ExpressionKind::ConcatColumns:
    return inferConcatColumns(operands);
  }
  llvm_unreachable("every kind is handled");
}

/// C3: checks the number of operands.
static LogicalResult verifyOperandCount(ParameterOp parameter, ParameterExpressionAttr expression) {
  size_t count = expression.getOperands().size();
  ExpressionKind kind = expression.getKind();
  if (kind == ExpressionKind::Concat || kind == ExpressionKind::ConcatColumns ||
      kind == ExpressionKind::Scale || kind == ExpressionKind::Sum) {
    if (count == 0) {
      return parameter.emitOpError("expects '")
             << stringifyExpressionKind(kind) << "' of at least one parameter, got none";
    }
    return success();
  }
  size_t expected = signatureOf(kind).operands;
  if (count != expected) {
    return parameter.emitOpError("expects '")
           << stringifyExpressionKind(kind) << "' of " << expected
           << (expected == 1 ? " parameter" : " parameters") << ", got " << count;
  }
  return success();
}

/// C6: checks the number of numbers and the range of each.
static LogicalResult verifyNumbers(ParameterOp parameter, ParameterExpressionAttr expression) {
  ExpressionKind kind = expression.getKind();
  ArrayRef<int64_t> numbers = expression.getNumbers();
  Signature signature = signatureOf(kind);
  size_t most = signature.numbers.size();
  if (numbers.size() > most || numbers.size() < most - signature.optional) {
    return parameter.emitOpError("expects '")
           << stringifyExpressionKind(kind) << "' with "
           << (signature.optional > 0 ? "at most " : "") << most
           << (most == 1 ? " number" : " numbers") << ", got " << numbers.size();
  }
  for (auto [spec, number] : llvm::zip(signature.numbers, numbers)) {
    if (number < spec.least || number > spec.most) {
      return parameter.emitOpError("expects ")
             << spec.name << " of '" << stringifyExpressionKind(kind) << "' from " << spec.least
             << " to " << spec.most << ", got " << number;
    }
  }
  return success();
}

/// C7
static LogicalResult verifyFactors(ParameterOp parameter, ParameterExpressionAttr expression) {
  FloatAttr factor = expression.getFactor();
  if (factor && !factor.getValue().isFinite()) {
    return parameter.emitOpError("expects a finite constant, got ") << factor;
  }
  bool isScale = expression.getKind() == ExpressionKind::Scale;
  if (isScale && expression.getOperands().size() == 1 && !factor) {
    return parameter.emitOpError("expects 'scale' by at least one factor, got none");
  }
  return success();
}

/// C5. An operand in another block is in an enclosing one, whose parameters cannot refer to this
/// one.
static LogicalResult verifyOrder(ParameterOp parameter, ParameterOp operand) {
  if (operand->getBlock() != parameter->getBlock() || operand->isBeforeInBlock(parameter)) {
    return success();
  }
  InFlightDiagnostic error = parameter.emitOpError("expects operands that are declared before it, "
                                                   "got '@")
                             << operand.getSymName() << "'";
  if (operand != parameter) {
    error.attachNote(operand.getLoc()) << "it is declared here";
  }
  return error;
}

/// C8: checks that an expression on quantised rows leaves each row unchanged.
static LogicalResult verifyCodes(ParameterOp parameter, ExpressionKind kind,
                                 ArrayRef<RankedTensorType> operands) {
  auto type = cast<QuantizedType>(parameter.getTensorType().getElementType());
  for (RankedTensorType operand : operands) {
    auto codes = dyn_cast<QuantizedType>(operand.getElementType());
    // Codes that exclude -128 are valid where -128 is allowed.
    if (!codes || codes.withFull(codes.getFull() || type.getFull()) != type ||
        operand.getShape().back() != parameter.getTensorType().getShape().back()) {
      return parameter.emitOpError("expects rows of ")
             << type << " of '" << stringifyExpressionKind(kind) << "', as long as its own, got "
             << operand;
    }
  }
  return success();
}

/// C8: groups with minimums only come from files; no expression produces them.
static LogicalResult verifyMade(ParameterOp parameter, ExpressionKind kind) {
  auto made = dyn_cast<QuantizedType>(parameter.getTensorType().getElementType());
  return !made || !made.getMinimums()
             ? success()
             : parameter.emitOpError("expects elements without minimums of '")
                   << stringifyExpressionKind(kind) << "', got " << parameter.getTensorType();
}

/// C8
static LogicalResult verifyElements(ParameterOp parameter, ExpressionKind kind,
                                    ArrayRef<RankedTensorType> operands) {
  SmallVector<RankedTensorType> types = {parameter.getTensorType()};
  llvm::append_range(types, operands);
  if (kind == ExpressionKind::Convert) {
    // One side has codes, the other numbers.
    const bool areMade = isa<QuantizedType>(types.front().getElementType());
    const bool areWidened = isa<QuantizedType>(types.back().getElementType());
    if (areMade != areWidened) {
      types = {types[areMade ? 1 : 0]};
    }
    const auto *other = llvm::find_if_not(types, isReal);
    return other == types.end()
               ? verifyMade(parameter, kind)
               : parameter.emitOpError("expects elements of f32, f16 or bf16 of 'convert', or "
                                       "quantised ones, and of its operand, got ")
                     << *other;
  }
  const bool movesRows = kind == ExpressionKind::Concat || kind == ExpressionKind::Rows ||
                         kind == ExpressionKind::Reshape;
  if (movesRows && isa<QuantizedType>(types.front().getElementType())) {
    return verifyCodes(parameter, kind, operands);
  }
  Type expected = Float32Type::get(parameter.getContext());
  if (kind == ExpressionKind::Compensate) {
    if (isa<QuantizedType>(types[0].getElementType()) && isReal(types[1]) &&
        types[2].getElementType() == expected) {
      return verifyMade(parameter, kind);
    }
    return parameter.emitOpError("expects quantised elements of 'compensate', f32, f16 or bf16 of "
                                 "its matrix and f32 of its moments, got ")
           << types[0] << ", " << types[1] << " and " << types[2];
  }
  if (kind == ExpressionKind::Pack) {
    expected = operands[0].getElementType();
    if (auto quantized = dyn_cast<QuantizedType>(expected)) {
      expected = IntegerType::get(parameter.getContext(), 8);
      types.pop_back();
    }
  }
  for (RankedTensorType type : types) {
    if (type.getElementType() != expected) {
      return parameter.emitOpError("expects elements of ")
             << expected << " of '" << stringifyExpressionKind(kind) << "' and its operands, got "
             << type;
    }
  }
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getExpression()) {
    return success();
  }
  ParameterExpressionAttr expression = *getExpression();
  if (failed(verifyOperandCount(*this, expression)) || failed(verifyNumbers(*this, expression)) ||
      failed(verifyFactors(*this, expression))) {
    return failure();
  }
  SmallVector<RankedTensorType> operands;
  for (FlatSymbolRefAttr symbol : expression.getOperands()) {
    // C3
    ParameterOp operand = lookUpParameter(*this, "operand", symbol, symbolTable);
    if (!operand || failed(verifyOrder(*this, operand))) {
      return failure();
    }
    operands.push_back(operand.getTensorType());
  }
  if (failed(verifyElements(*this, expression.getKind(), operands))) {
    return failure();
  }
  // C4
  FailureOr<SmallVector<int64_t>> shape = inferShape(expression, operands, getTensorType());
  if (failed(shape) && operands.empty()) {
    return emitOpError("expects a table of even width for '")
           << stringifyExpressionKind(expression.getKind()) << "', got "
           << printShape(getTensorType().getShape());
  }
  if (failed(shape)) {
    InFlightDiagnostic error = emitOpError("expects operands that '")
                               << stringifyExpressionKind(expression.getKind())
                               << "' takes, got shapes ";
    llvm::interleaveComma(operands, error, [&](RankedTensorType operand) {
      error << printShape(operand.getShape());
    });
    error << " for " << printShape(getTensorType().getShape());
    return error;
  }
  if (ArrayRef<int64_t>(*shape) != getTensorType().getShape()) {
    return emitOpError("expects shape ") << printShape(*shape) << " of its expression, got "
                                         << printShape(getTensorType().getShape());
  }
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyParameterShape(*this, "weight", getParameterAttr(), getType().getShape(),
                              symbolTable);
}
