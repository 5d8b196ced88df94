// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates operands one at a time and consumes each immediately, so that few are in memory. A
/// range of rows of an expression is evaluated from ranges of its operands, if the expression keeps
/// the order of rows.
#include "compiler/Link/ParameterValues.h"

#include "compiler/Link/CompensatedValues.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

using namespace mlir;

namespace heddle {

using transformer::ExpressionKind;
using Stored = std::vector<float>;
using Exact = std::vector<double>;
using Values = ParameterValues;

/// A parameter whose operands are being evaluated.
struct ParameterEvaluator::Step {
  Step(transformer::ParameterOp parameter, Window window) : parameter(parameter), window(window) {}

  mutable transformer::ParameterOp parameter; // a handle, its accessors are not const
  Window window;
  /// Operands before this one are consumed.
  size_t next = 0;
  /// The needed window of the last operand, and for concatenations the elements before the next
  /// one.
  Window needed = {0, 0};
  int64_t joined = 0;
  /// The result of the operands so far.
  Values values;
  /// For a scale: the product of its numbers.
  double factor = 1;
  /// For concatenated columns: the number of columns so far.
  int64_t columns = 0;
  /// For calibrated codes: the moments, the last operand.
  Values moments;

  ArrayRef<FlatSymbolRefAttr> operands() const {
    auto expression = parameter.getExpression();
    return expression ? expression->getOperands() : ArrayRef<FlatSymbolRefAttr>();
  }
};

namespace {
/// Which elements of its operands a range of elements of an expression depends on.
enum class Needs {
  Same,    // the same range of every operand
  Shifted, // a range of rows
  Joined,  // the operands that contain the range
  Scaled,  // the same range of the first operand, and the factors
  All
};
} // namespace

static Needs needsOf(ExpressionKind kind) {
  switch (kind) {
  case ExpressionKind::Reshape:
  case ExpressionKind::Sum:
  case ExpressionKind::Convert:
    return Needs::Same;
  case ExpressionKind::Rows:
    return Needs::Shifted;
  case ExpressionKind::Concat:
    return Needs::Joined;
  case ExpressionKind::Scale:
    return Needs::Scaled;
  case ExpressionKind::Transpose:
  case ExpressionKind::Pack:
  case ExpressionKind::Zeros:
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
  case ExpressionKind::RelativeBuckets:
  case ExpressionKind::OnesFrom:
  case ExpressionKind::Product:
  case ExpressionKind::ConcatColumns:
  case ExpressionKind::Columns:
  case ExpressionKind::Compensate:
    return Needs::All;
  }
  llvm_unreachable("the switch has every kind");
}

static int64_t elementsOf(transformer::ParameterOp parameter) {
  return parameter.getTensorType().getNumElements();
}

static int64_t columnsOf(transformer::ParameterOp parameter) {
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  return shape.empty() ? 1 : shape.back();
}

/// Returns the number of elements per index of the first axis.
static int64_t rowOf(RankedTensorType type) {
  return type.getRank() == 0 ? 1 : ShapedType::getNumElements(type.getShape().drop_front());
}

ParameterEvaluator::Window ParameterEvaluator::wholeOf(transformer::ParameterOp parameter) {
  return {0, elementsOf(parameter)};
}

transformer::ParameterOp ParameterEvaluator::lookUp(FlatSymbolRefAttr symbol) {
  if (!symbols) {
    symbols.emplace(module);
  }
  return symbols->lookup<transformer::ParameterOp>(symbol.getAttr());
}

/// Returns the window that a step needs of an operand, the next one to be consumed.
ParameterEvaluator::Window ParameterEvaluator::neededOf(Step &step, size_t index,
                                                        transformer::ParameterOp operand) {
  switch (needsOf(step.parameter.getExpression()->getKind())) {
  case Needs::Shifted: {
    const int64_t skipped = step.parameter.getExpression()->getNumbers()[0];
    return {step.window.first + skipped * rowOf(operand.getTensorType()), step.window.count};
  }
  case Needs::Joined: {
    const int64_t before = std::exchange(step.joined, step.joined + elementsOf(operand));
    const int64_t first = std::max<int64_t>(step.window.first - before, 0);
    const int64_t end =
        std::min(step.window.first + step.window.count - before, elementsOf(operand));
    return {first, std::max<int64_t>(end - first, 0)};
  }
  case Needs::Scaled:
    return index == 0 ? step.window : wholeOf(operand);
  case Needs::Same:
    return step.window;
  case Needs::All:
    return wholeOf(operand);
  }
  llvm_unreachable("the switch has every need");
}

/// Returns the window to evaluate for it: whole rows of codes.
ParameterEvaluator::Window ParameterEvaluator::givenOf(transformer::ParameterOp parameter,
                                                       Window needed) {
  if (!isa<transformer::QuantizedType>(parameter.getTensorType().getElementType())) {
    return needed;
  }
  const int64_t columns = columnsOf(parameter);
  const int64_t first = needed.first / columns * columns;
  return {first, static_cast<int64_t>(llvm::alignTo(needed.first + needed.count, columns)) - first};
}

/// Returns the number of elements; 0 for packed bytes, which are only stored.
static int64_t countOf(const Values &values) {
  struct Count {
    int64_t operator()(const Stored &stored) const { return static_cast<int64_t>(stored.size()); }
    int64_t operator()(const Exact &exact) const { return static_cast<int64_t>(exact.size()); }
    int64_t operator()(const NarrowValues &narrow) const {
      return static_cast<int64_t>(narrow.bits.size());
    }
    int64_t operator()(const QuantizedValues &quantized) const {
      return quantized.rowCount() * quantized.columnCount();
    }
    int64_t operator()(const std::vector<std::byte> & /*bytes*/) const { return 0; }
  };
  return std::visit(Count(), values);
}

/// Converts an operand to the step's type. Rows of codes may be longer than the needed window.
Values ParameterEvaluator::convertNeeded(const Step &step, transformer::ParameterOp operand,
                                         Values values) {
  const int64_t given = countOf(values);
  values = convertTo(step.parameter.getTensorType(), std::move(values));
  if (given != step.needed.count) {
    const int64_t first = givenOf(operand, step.needed).first;
    values = cutValues(std::move(values), step.needed.first - first, step.needed.count);
  }
  return values;
}

void ParameterEvaluator::take(Step &step, Values operand) {
  size_t index = step.next - 1;
  ArrayRef<int64_t> shape = lookUp(step.operands()[index]).getTensorType().getShape();
  RankedTensorType type = step.parameter.getTensorType();
  transformer::ParameterExpressionAttr expression = *step.parameter.getExpression();
  switch (expression.getKind()) {
  case ExpressionKind::Concat:
    return appendValues(step.values, std::move(operand));
  case ExpressionKind::ConcatColumns:
    placeColumns(step.values, std::move(operand), type.getDimSize(1), step.columns, shape[1]);
    step.columns += shape[1];
    return;
  case ExpressionKind::Sum: {
    Exact sums = index == 0 ? Exact(step.window.count) : asExact(std::move(step.values));
    addValues(sums, std::move(operand));
    step.values = std::move(sums);
    return;
  }
  case ExpressionKind::Product:
    if (index == 1) {
      operand = multiplyValues(std::move(step.values), std::move(operand), type.getDimSize(0));
    }
    break;
  case ExpressionKind::Scale:
    if (index > 0) {
      step.factor *= asExact(std::move(operand)).front();
      return;
    }
    break;
  case ExpressionKind::Convert:
    operand = convertNeeded(step, lookUp(step.operands()[index]), std::move(operand));
    break;
  case ExpressionKind::Compensate:
    operand = convertValues(std::move(operand), ElementType::F32);
    if (index == 1) {
      step.moments = std::move(operand);
      return;
    }
    break;
  case ExpressionKind::Reshape:
  case ExpressionKind::Rows: // The operand's window is these rows.
    break;
  case ExpressionKind::Pack:
    operand = packValues(expression, expression.getGroups(), shape[1], std::move(operand));
    break;
  case ExpressionKind::Transpose:
  case ExpressionKind::RelativeBuckets:
  case ExpressionKind::Columns:
    operand = moveValues(step.parameter, shape, std::move(operand));
    break;
  case ExpressionKind::Zeros:
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
  case ExpressionKind::OnesFrom:
    llvm_unreachable("it has no operands");
  }
  step.values = std::move(operand);
}

Result<Values> ParameterEvaluator::finish(Step &step) {
  transformer::ParameterExpressionAttr expression = *step.parameter.getExpression();
  if (expression.getOperands().empty()) {
    return makeValues(expression, step.parameter.getTensorType());
  }
  if (expression.getKind() == ExpressionKind::Compensate) {
    HEDDLE_ASSIGN(Compensated compensated, finishCompensated(step));
    return Values(std::move(compensated.values));
  }
  if (expression.getKind() != ExpressionKind::Scale) {
    return std::move(step.values);
  }
  Exact values = asExact(std::move(step.values));
  double constant = expression.getFactor() ? expression.getFactor().getValueAsDouble() : 1.0;
  for (double &value : values) {
    value *= constant * step.factor;
  }
  return Values(std::move(values));
}

Result<ParameterEvaluator::Compensated> ParameterEvaluator::finishCompensated(Step &step) {
  RankedTensorType type = step.parameter.getTensorType();
  const auto &matrix = std::get<Stored>(step.values);
  QuantizedValues codes(matrix, cast<transformer::QuantizedType>(type.getElementType()),
                        type.getShape().back());
  HEDDLE_ASSIGN(const CompensationGain gain,
                compensate(matrix, std::get<Stored>(step.moments), codes));
  return Compensated{std::move(codes), gain};
}

Status ParameterEvaluator::readPlain(transformer::ParameterOp parameter, Window window,
                                     ElementType element, std::span<std::byte> to) {
  return window.count == elementsOf(parameter)
             ? source(*parameter.getSource(), element, to)
             : source.part(*parameter.getSource(), element, window.first, to);
}

/// Reads all values of a tensor that cannot be read in parts.
Result<Values> ParameterEvaluator::read(transformer::ParameterOp parameter, Window window) {
  RankedTensorType type = parameter.getTensorType();
  if (auto quantized = dyn_cast<transformer::QuantizedType>(type.getElementType())) {
    HEDDLE_ASSIGN(CodeRows rows, source.codes(*parameter.getSource(), quantized));
    return Values(QuantizedValues(std::move(rows), quantized, type.getShape().back()));
  }
  const ElementType element = elementTypeOf(type.getElementType());
  if (window.count != elementsOf(parameter) && !source.hasParts(*parameter.getSource())) {
    window = wholeOf(parameter);
  }
  if (element == ElementType::F32) {
    Stored values(window.count);
    HEDDLE_TRY(readPlain(parameter, window, element, std::as_writable_bytes(std::span(values))));
    return Values(std::move(values));
  }
  NarrowValues values{element, std::vector<uint16_t>(window.count)};
  HEDDLE_TRY(readPlain(parameter, window, element, std::as_writable_bytes(std::span(values.bits))));
  return Values(std::move(values));
}

/// Returns whether the codes of a parameter have been chosen.
bool ParameterEvaluator::isKnown(transformer::ParameterOp parameter) const {
  return source.compensated() != nullptr && source.compensated()->contains(parameter.getSymName());
}

/// Returns the values of a parameter whose operands are consumed.
Result<Values> ParameterEvaluator::valuesOf(Step &step) {
  const auto all = [&]() -> Result<Values> {
    if (isKnown(step.parameter)) {
      HEDDLE_ASSIGN(QuantizedValues values,
                    source.compensated()->read(step.parameter.getSymName()));
      return Values(std::move(values));
    }
    return step.parameter.getExpression() ? finish(step) : read(step.parameter, step.window);
  };
  HEDDLE_ASSIGN(Values values, all());
  const int64_t whole = elementsOf(step.parameter);
  if (step.window.count == whole) {
    return values;
  }
  const int64_t count = countOf(values);
  if (count == whole) {
    return cutValues(std::move(values), step.window.first, step.window.count);
  }
  if (count != step.window.count) {
    return HEDDLE_ERROR(Internal, fmt::format("parameter @{}: {} elements from {} on are {}",
                                              step.parameter.getSymName().str(), step.window.count,
                                              step.window.first, count));
  }
  return values;
}

Result<Values> ParameterEvaluator::evaluateWindow(transformer::ParameterOp parameter,
                                                  Window window) {
  std::vector<Step> steps;
  steps.emplace_back(parameter, window);
  for (;;) {
    Step &step = steps.back();
    if (step.next < step.operands().size() && !isKnown(step.parameter)) {
      const size_t index = step.next++;
      transformer::ParameterOp operand = lookUp(step.operands()[index]);
      step.needed = neededOf(step, index, operand);
      // Concatenated operands without rows in the window are not needed.
      if (step.needed.count > 0 || step.window.count == 0) {
        steps.emplace_back(operand, givenOf(operand, step.needed));
      }
      continue;
    }
    HEDDLE_ASSIGN(Values values, valuesOf(step));
    steps.pop_back();
    if (steps.empty()) {
      return values;
    }
    take(steps.back(), std::move(values));
  }
}

Result<Stored> ParameterEvaluator::evaluate(transformer::ParameterOp parameter) {
  return evaluateRows(parameter, 0, elementsOf(parameter) / rowOf(parameter.getTensorType()));
}

Result<Stored> ParameterEvaluator::evaluateRows(transformer::ParameterOp parameter, int64_t first,
                                                int64_t count) {
  const int64_t row = rowOf(parameter.getTensorType());
  HEDDLE_ASSIGN(Values values, evaluateWindow(parameter, {first * row, count * row}));
  return std::get<Stored>(convertValues(std::move(values), ElementType::F32));
}

/// Returns whether evaluating a range of rows costs only its share.
bool ParameterEvaluator::hasSlices(transformer::ParameterOp parameter) {
  llvm::SmallVector<transformer::ParameterOp> open = {parameter};
  while (!open.empty()) {
    transformer::ParameterOp each = open.pop_back_val();
    if (isKnown(each)) {
      return false;
    }
    std::optional<transformer::ParameterExpressionAttr> expression = each.getExpression();
    if (!expression) {
      if (isa<transformer::QuantizedType>(each.getTensorType().getElementType()) ||
          !source.hasParts(*each.getSource())) {
        return false;
      }
      continue;
    }
    const Needs needs = needsOf(expression->getKind());
    if (needs == Needs::All) {
      return false;
    }
    ArrayRef<FlatSymbolRefAttr> operands = expression->getOperands();
    for (FlatSymbolRefAttr operand : needs == Needs::Scaled ? operands.take_front() : operands) {
      open.push_back(lookUp(operand));
    }
  }
  return true;
}

/// Whole rows of the last axis.
int64_t ParameterEvaluator::elementsOfSlice(transformer::ParameterOp parameter) {
  const int64_t elements = elementsOf(parameter), columns = columnsOf(parameter);
  if (elements <= sliceElements || !hasSlices(parameter)) {
    return elements;
  }
  return std::max<int64_t>(sliceElements / columns, 1) * columns;
}

int64_t ParameterEvaluator::rowsOfSlice(transformer::ParameterOp parameter) {
  const int64_t row = rowOf(parameter.getTensorType());
  return std::max<int64_t>(elementsOfSlice(parameter) / std::max<int64_t>(row, 1), 1);
}

Status
ParameterEvaluator::evaluateStored(transformer::ParameterOp parameter,
                                   llvm::function_ref<Status(std::span<const std::byte>)> sink) {
  std::optional<transformer::ParameterExpressionAttr> expression = parameter.getExpression();
  const bool isPacked = expression && expression->getKind() == ExpressionKind::Pack;
  transformer::ParameterOp rows = isPacked ? lookUp(expression->getOperands()[0]) : parameter;
  const int64_t elements = elementsOf(rows), columns = columnsOf(rows);
  int64_t slice = elementsOfSlice(rows);
  if (slice >= elements) {
    HEDDLE_ASSIGN(Values values, evaluateWindow(parameter, wholeOf(parameter)));
    return sink(storedValues(parameter.getTensorType(), std::move(values)).bytes());
  }
  // Panels do not extend across groups.
  const int64_t part = isPacked ? elements / expression->getGroups() : elements;
  if (isPacked) {
    const int64_t panel = expression->getPanelColumns() * columns;
    slice = std::max<int64_t>(slice / panel, 1) * panel;
  }
  for (int64_t begin = 0; begin < elements; begin += part) {
    for (int64_t first = begin; first < begin + part; first += slice) {
      const Window window{first, std::min(slice, begin + part - first)};
      HEDDLE_ASSIGN(Values values, evaluateWindow(rows, window));
      if (isPacked) {
        values = packValues(*expression, /*groups=*/1, columns, std::move(values));
      }
      HEDDLE_TRY(sink(storedValues(parameter.getTensorType(), std::move(values)).bytes()));
    }
  }
  return {};
}

Result<ParameterEvaluator::Compensated>
ParameterEvaluator::evaluateCompensated(transformer::ParameterOp parameter) {
  assert(parameter.getExpression()->getKind() == ExpressionKind::Compensate &&
         "codes of others are not chosen");
  Step step(parameter, wholeOf(parameter));
  for (FlatSymbolRefAttr symbol : step.operands()) {
    transformer::ParameterOp operand = lookUp(symbol);
    HEDDLE_ASSIGN(Values values, evaluateWindow(operand, wholeOf(operand)));
    ++step.next;
    step.needed = wholeOf(operand);
    take(step, std::move(values));
  }
  return finishCompensated(step);
}

} // namespace heddle
