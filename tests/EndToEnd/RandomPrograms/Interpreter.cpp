// SPDX-License-Identifier: Apache-2.0
///
/// The run of an entry, its parameters, and the state that outlives a run.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

using namespace mlir;

namespace heddle {

using namespace transformer;

std::vector<float> featuresOf(const std::vector<int32_t> &ids, int64_t width) {
  std::vector<float> values;
  for (size_t row = 0; row < ids.size(); ++row) {
    for (int64_t column = 0; column < width; ++column) {
      // Multiplication by an odd number spreads the bits of the position.
      uint64_t bits =
          (static_cast<uint64_t>(ids[row]) << 40) + (row << 20) + static_cast<uint64_t>(column) + 1;
      bits *= 0x9E3779B97F4A7C15U;
      bits ^= bits >> 32;
      bits *= 0xD6E8FEB86659FD93U;
      const double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
      values.push_back(static_cast<float>(bits % 50 == 0 ? unit * 100 : unit * 1.7));
    }
  }
  return values;
}

int64_t imageWidthOf(const std::vector<int32_t> &ids) {
  std::vector<int64_t> widths;
  for (size_t width = 1; width <= ids.size(); ++width) {
    if (ids.size() % width == 0) {
      widths.push_back(static_cast<int64_t>(width));
    }
  }
  return widths.at(static_cast<uint32_t>(ids.front()) % widths.size());
}

void Interpreter::bindArguments(const EntryInputs &inputs) {
  imageWidth = inputs.width;
  bool hasRows = false;
  for (BlockArgument argument : entry.getArguments()) {
    auto attribute =
        entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name");
    const std::string name = attribute ? attribute.str() : "";
    if (isa<SegmentsType>(argument.getType())) {
      segments[argument] = hasRows ? inputs.memoryRows : inputs.rows;
      hasRows = true;
    } else if (auto cache = dyn_cast<CacheType>(argument.getType())) {
      const auto filled = inputs.memory.find(name);
      define(argument,
             filled == inputs.memory.end() ? BoundedTensor({0, cache.getWidth()}) : filled->second);
    } else if (auto state = dyn_cast<StateType>(argument.getType())) {
      // Set by another entry, or zeros.
      const auto filled = inputs.memory.find(name);
      const BoundedTensor zeros = state.getKeyed()
                                      ? BoundedTensor({1, state.getWidth(), inputs.memoryRows})
                                      : BoundedTensor({1, state.getWidth()});
      define(argument, filled == inputs.memory.end() ? zeros : filled->second);
    } else if (auto type = cast<RankedTensorType>(argument.getType()); type.getRank() == 2) {
      BoundedTensor rows({inputs.rows, type.getDimSize(1)});
      if (!entry.getArgAttr(argument.getArgNumber(), "transformer.optional")) {
        const std::vector<float> given = featuresOf(inputs.features, type.getDimSize(1));
        std::transform(given.begin(), given.end(), rows.elements.begin(),
                       [](float value) { return Bounded::exact(value); });
      }
      define(argument, std::move(rows));
    } else {
      const auto given = inputs.ids.find(name);
      ids[argument] = given == inputs.ids.end()
                          ? std::vector<int64_t>(static_cast<size_t>(inputs.rows), 0)
                          : std::vector<int64_t>(given->second.begin(), given->second.end());
    }
  }
}

EntryValues Interpreter::results() {
  EntryValues found;
  for (auto [number, value] :
       llvm::enumerate(entry.getBody().front().getTerminator()->getOperands())) {
    const std::string name =
        entry.getResultAttrOfType<StringAttr>(number, "transformer.name").str();
    (isa<CacheType, StateType>(value.getType()) ? found.caches : found.outputs)[name] = of(value);
  }
  return found;
}

// --- Rows that fit ---------------------------------------------------------------------------

bool Interpreter::fits(Operation *op, int64_t found, int64_t expected) {
  if (found != expected && problem.empty()) {
    problem = fmt::format("{} meets {}, expected {}", op->getName().getStringRef().str(), found,
                          expected);
  }
  return found == expected;
}

bool Interpreter::fitTogether(Operation *op, ValueRange rows) {
  return llvm::all_of(rows, [&](Value each) {
    return fits(op, of(each).shape.front(), of(rows.front()).shape.front());
  });
}

// --- Parameters ------------------------------------------------------------------------------

/// Returns an f64 number rounded to f32.
static Bounded stored(const Bounded &exact) {
  const double value = exact.value;
  if (!(std::abs(value) + exact.error <= static_cast<double>(std::numeric_limits<float>::max()))) {
    return Bounded::anything();
  }
  if (exact.error == 0 && static_cast<double>(static_cast<float>(value)) == value) {
    return Bounded::exact(value);
  }
  // Subnormal f32 numbers lose some digits, or all.
  const double rounding =
      unitRoundoff * std::abs(value) + (std::abs(value) < 0x1p-126 ? 0x1p-150 : 0);
  return {value, exact.error + rounding, std::abs(value), false};
}

const BoundedTensor &Interpreter::parameter(llvm::StringRef symbol) {
  const auto [found, isNew] = parameters.try_emplace(symbol.str());
  if (isNew) {
    found->second = composed(symbol);
    for (Bounded &element : found->second.elements) {
      element = stored(element);
    }
  }
  return found->second;
}

const BoundedTensor &Interpreter::composed(llvm::StringRef symbol) {
  const auto [found, isNew] = composedParameters.try_emplace(symbol.str());
  if (isNew) {
    auto op = entry->getParentOfType<ModuleOp>().lookupSymbol<ParameterOp>(symbol);
    found->second = evaluateParameter(op);
  }
  return found->second;
}

/// "Attention is all you need", section 3.5, with columns interleaved or in halves.
static void fillSinusoids(BoundedTensor &table, int64_t first, int64_t steps, bool isSplit) {
  const int64_t half = table.width() / 2;
  for (int64_t position = 0; position < table.rows(); ++position) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(first + position) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(steps));
      const int64_t sine = isSplit ? i : 2 * i;
      const int64_t cosine = isSplit ? half + i : 2 * i + 1;
      table.at(position, sine) = roundResult(std::sin(angle), unitRoundoff);
      table.at(position, cosine) = roundResult(std::cos(angle), unitRoundoff);
    }
  }
}

/// Raffel et al., section 2.1: returns the bucket of a key at `distance` after its query. The
/// logarithm is computed in f32, as in the training of the models.
static int64_t bucketOf(int64_t distance, int64_t buckets, bool isBidirectional, int64_t farthest) {
  int64_t offset = 0;
  int64_t away = std::max<int64_t>(-distance, 0);
  if (isBidirectional) {
    buckets /= 2;
    offset = distance > 0 ? buckets : 0;
    away = std::abs(distance);
  }
  const int64_t near = buckets / 2;
  if (away < near) {
    return offset + away;
  }
  const float ratio =
      std::log(static_cast<float>(away) / static_cast<float>(near)) /
      static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(near)));
  const float step = ratio * static_cast<float>(buckets - near);
  const bool isLast = !(step < static_cast<float>(buckets - near));
  return offset + (isLast ? buckets - 1 : near + static_cast<int64_t>(step));
}

BoundedTensor Interpreter::evaluateParameter(ParameterOp op) {
  BoundedTensor result(op.getTensorType().getShape().vec());
  if (op.getSource()) {
    const auto found = tensors.find(op.getSource()->str());
    const std::vector<float> none;
    const std::vector<float> &stored = found == tensors.end() ? none : found->second;
    if (!fits(op, static_cast<int64_t>(stored.size()),
              static_cast<int64_t>(result.elements.size()))) {
      return result;
    }
    for (auto [element, value] : llvm::zip_equal(result.elements, stored)) {
      element = Bounded::exact(value);
    }
    return result;
  }
  const ParameterExpressionAttr expression = *op.getExpression();
  const llvm::ArrayRef<int64_t> numbers = expression.getNumbers();
  const BoundedTensor none;
  const BoundedTensor &operand = expression.getOperands().empty()
                                     ? none
                                     : composed(expression.getOperands().front().getValue());
  switch (expression.getKind()) {
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
    fillSinusoids(result, numbers[0], numbers[1],
                  expression.getKind() == ExpressionKind::SinusoidSplit);
    return result;
  case ExpressionKind::OnesFrom:
    for (size_t i = 0; i < result.elements.size(); ++i) {
      const auto row =
          static_cast<int64_t>(i * static_cast<size_t>(result.shape[0]) / result.elements.size());
      result.elements[i] = Bounded::exact(row >= numbers[0] ? 1 : 0);
    }
    return result;
  case ExpressionKind::Rows:
    std::copy_n(operand.elements.begin() + numbers[0] * operand.strides()[0],
                result.elements.size(), result.elements.begin());
    return result;
  case ExpressionKind::Columns:
    for (int64_t row = 0; row < result.rows(); ++row) {
      for (int64_t column = 0; column < result.width(); ++column) {
        result.at(row, column) = operand.at(row, numbers[0] + column);
      }
    }
    return result;
  case ExpressionKind::RelativeBuckets:
    for (int64_t head = 0; head < result.rows(); ++head) {
      for (int64_t column = 0; column < result.width(); ++column) {
        const int64_t bucket =
            bucketOf(column - numbers[1], operand.shape[0], numbers[0] == 1, numbers[1]);
        result.at(head, column) = operand.at(bucket, head);
      }
    }
    return result;
  default:
    evaluateAlgebra(expression, result);
    return result;
  }
}

template <> void Interpreter::evaluate(WeightOp op) { define(op, parameter(op.getParameter())); }

// --- Caches and states -----------------------------------------------------------------------

template <> void Interpreter::evaluate(AppendOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  BoundedTensor rows = of(op.getCache());
  const BoundedTensor &added = of(op.getInput());
  rows.shape[0] += added.shape[0];
  rows.elements.insert(rows.elements.end(), added.elements.begin(), added.elements.end());
  define(op, std::move(rows));
}

template <> void Interpreter::evaluate(CachedOp op) {
  if (fitsIn(op, op.getCache(), op.getRows())) {
    define(op, of(op.getCache()));
  }
}

// Nothing precedes the run.
template <> void Interpreter::evaluate(HistoryOp op) {
  const int64_t rows = segments.at(op.getRows());
  segments[op] = rows;
}

template <> void Interpreter::evaluate(PrefixMeanOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  BoundedTensor result(input.shape);
  for (int64_t column = 0; column < input.width(); ++column) {
    ProductSum total;
    for (int64_t row = 0; row < input.rows(); ++row) {
      total.add(input.at(row, column), Bounded::exact(1));
      result.at(row, column) =
          product(total.finish(), Bounded::exact(1.0 / static_cast<double>(row + 1)));
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(AccumulateOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  BoundedTensor result({1, input.width()});
  for (int64_t column = 0; column < input.width(); ++column) {
    ProductSum total;
    for (int64_t row = 0; row < input.rows(); ++row) {
      total.add(input.at(row, column), Bounded::exact(1));
    }
    result.at(0, column) = total.finish();
  }
  define(op, std::move(result));
}

/// Keeps the last rows, each at its position modulo their number; positions that no row has reached
/// are zero.
template <> void Interpreter::evaluate(KeepOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  const int64_t places = op.getState().getType().getWidth() / input.width();
  BoundedTensor result({places, input.width()});
  for (int64_t row = std::max<int64_t>(0, input.rows() - places); row < input.rows(); ++row) {
    for (int64_t column = 0; column < input.width(); ++column) {
      result.at(row % places, column) = input.at(row, column);
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(LoadOp op) {
  const BoundedTensor &state = of(op.getState());
  // A row, with values for each key if it has keys.
  if (fits(op, state.shape.front(), 1) &&
      (!op.getKeys() || fits(op, state.width(), segments.at(op.getKeys())))) {
    define(op, state);
  }
}

template <> void Interpreter::evaluate(StoreOp op) {
  if (fits(op, of(op.getInput()).shape.front(), 1)) {
    define(op, of(op.getInput()));
  }
}

// --- Recurrences ---------------------------------------------------------------------------------

/// Returns one row as a separate tensor.
static BoundedTensor rowOf(const BoundedTensor &rows, int64_t row) {
  BoundedTensor one({1, rows.width()});
  for (int64_t column = 0; column < rows.width(); ++column) {
    one.at(0, column) = rows.at(row, column);
  }
  return one;
}

template <> void Interpreter::evaluate(RecurrenceOp op) {
  if (!fitTogether(op, op.getInputs()) || !fitsIn(op, op.getInputs().front(), op.getRows()) ||
      !llvm::all_of(op.getInitial(),
                    [&](Value each) { return fits(op, of(each).shape.front(), 1); })) {
    return;
  }
  Block &step = op.getBody().front();
  const auto inputs = static_cast<unsigned>(op.getInputs().size());
  const int64_t rows = of(op.getInputs().front()).rows();
  for (unsigned i = 0; i < op.getNumCarried(); ++i) {
    const auto type = cast<RankedTensorType>(step.getArgument(inputs + i).getType());
    define(step.getArgument(inputs + i), op.getInitial().empty()
                                             ? BoundedTensor({1, type.getDimSize(1)})
                                             : of(op.getInitial()[i]));
  }
  // In the step, its segments stand for one row.
  const int64_t all = std::exchange(segments[op.getRows()], 1);
  for (int64_t number = 0; number < rows; ++number) {
    const int64_t row = op.getReversed() ? rows - 1 - number : number;
    for (unsigned i = 0; i < inputs; ++i) {
      define(step.getArgument(i), rowOf(of(op.getInputs()[i]), row));
    }
    evaluateBlock(step);
    std::vector<BoundedTensor> left;
    for (Value value : step.getTerminator()->getOperands()) {
      if (!problem.empty() || !fits(op, of(value).shape.front(), 1)) {
        return;
      }
      left.push_back(of(value));
    }
    for (OpResult result : op->getResults()) {
      const unsigned index = result.getResultNumber();
      if (number == 0) {
        // A step determines the number of keys.
        std::vector<int64_t> shape = left[index].shape;
        shape.front() = op.isGiven(index) ? rows : 1;
        define(result, BoundedTensor(std::move(shape)));
      }
      const size_t first = op.isGiven(index) ? static_cast<size_t>(row) : 0;
      std::copy(left[index].elements.begin(), left[index].elements.end(),
                values[result].elements.begin() +
                    static_cast<std::ptrdiff_t>(first * left[index].elements.size()));
    }
    for (unsigned i = 0; i < op.getNumCarried(); ++i) {
      define(step.getArgument(inputs + i), std::move(left[i]));
    }
  }
  segments[op.getRows()] = all;
}

template <> void Interpreter::evaluate(SpreadOp op) {
  if (!fits(op, of(op.getInput()).rows(), 1)) {
    return;
  }
  const BoundedTensor row = of(op.getInput());
  BoundedTensor result({segments.at(op.getRows()), row.width()});
  for (int64_t at = 0; at < result.rows(); ++at) {
    for (int64_t column = 0; column < row.width(); ++column) {
      result.at(at, column) = row.at(0, column);
    }
  }
  define(op, std::move(result));
}

/// The recurrence reads the operands of the terminator.
template <> void Interpreter::evaluate(NextOp) {}

template <> void Interpreter::evaluate(ConcatOp op) {
  if (!fitTogether(op, op.getInputs())) {
    return;
  }
  BoundedTensor result({of(op.getInputs().front()).rows(), op.getType().getDimSize(1)});
  int64_t first = 0;
  for (Value input : op.getInputs()) {
    const BoundedTensor &rows = of(input);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      for (int64_t column = 0; column < rows.width(); ++column) {
        result.at(row, first + column) = rows.at(row, column);
      }
    }
    first += rows.width();
  }
  define(op, std::move(result));
}

// --- The run of an entry, after the specialised rules ---------------------------------------

template <typename Op> void Interpreter::addRule(Rules &rules) {
  // Symbols are in the module, never in an entry.
  if constexpr (!Op::template hasTrait<SymbolOpInterface::Trait>()) {
    rules[Op::getOperationName().str()] = apply<Op>;
  }
}

template <typename... Ops> Interpreter::Rules Interpreter::makeRules() {
  Rules rules;
  (addRule<Ops>(rules), ...);
  return rules;
}

const Interpreter::Rules &Interpreter::rules() {
  static const Rules all = makeRules<
#define GET_OP_LIST
#include "dialects/Transformer/Ops.cpp.inc"
      >();
  return all;
}

std::vector<std::string> Interpreter::operations() {
  std::vector<std::string> names = {ParameterOp::getOperationName().str()};
  for (const auto &[name, rule] : rules()) {
    names.push_back(name);
  }
  return names;
}

void Interpreter::evaluateBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    const auto rule = rules().find(op.getName().getStringRef().str());
    if (rule == rules().end()) {
      llvm::report_fatal_error("the interpreter has no rule for " + op.getName().getStringRef());
    }
    rule->second(*this, &op);
    if (!problem.empty()) {
      return;
    }
  }
}

Result<EntryValues> Interpreter::run(const EntryInputs &inputs) {
  bindArguments(inputs);
  evaluateBlock(entry.getBody().front());
  if (!problem.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("@{}: {}", entry.getSymName().str(), problem));
  }
  return results();
}

} // namespace heddle
