// SPDX-License-Identifier: Apache-2.0
///
/// Bounds composed weights by matrix-vector products; checks single elements only if a bound is not
/// conclusive.
#include "compiler/Model/Branches/EvaluationRange.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

constexpr static double smallestNormal = std::numeric_limits<float>::min();

// The largest allowed composed weight. Activations that would cancel before a product in the
// program are multiplied before they cancel, so there is a large margin to the end of the range.
constexpr static double largestWeight = 0x1p112;

// Elements smaller than this, relative to the largest of their matrix, may lose digits: dead inputs
// of trained models have weights at the end of the range.
constexpr static double smallestShare = 0x1p-64;

// The largest spread of constants beside weights whose values are unknown.
constexpr static double largestUnread = 0x1p96;

// The number of columns that are checked together, and the bytes of tensors that are cached.
constexpr static int64_t columnsAtOnce = 64;
constexpr static size_t mostBytesKept = size_t(64) << 20;

static std::string print(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

/// Returns the absolute value; infinity for NaN.
static double sizeOf(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value);
}

static double largestOf(ArrayRef<double> values) {
  double largest = 0;
  for (double value : values) {
    largest = std::max(largest, sizeOf(value));
  }
  return largest;
}

static bool isVector(const Weight &weight) { return weight.shape().size() == 1; }

/// Returns the rows of the weight's operand; a vector is a matrix of one column.
static int64_t inputsOf(const Weight &weight) { return isVector(weight) ? 1 : weight.columns(); }

static bool isConcat(const Weight &weight) {
  return !weight.symbol() && (weight.kind() == ExpressionKind::Concat ||
                              weight.kind() == ExpressionKind::ConcatColumns);
}

EvaluationRange::Values EvaluationRange::read(FlatSymbolRefAttr symbol) {
  auto found = llvm::find_if(recent, [&](const auto &entry) { return entry.first == symbol; });
  if (found != recent.end()) {
    return found->second;
  }
  std::optional<std::vector<float>> values;
  if (reader) {
    values = reader(parameters.lookUp(symbol));
    unread = values || unread ? unread : symbol;
  }
  if (!values) {
    return nullptr;
  }
  auto kept = std::make_shared<const std::vector<float>>(std::move(*values));
  keep(symbol, kept);
  return kept;
}

void EvaluationRange::keep(Attribute symbol, const Values &values) {
  recent.emplace_front(symbol, values);
  recentSize += values->size() * sizeof(float);
  // The latest tensor is kept whatever its size, because it is read a few columns at a time.
  while (recentSize > mostBytesKept && recent.size() > 1) {
    recentSize -= recent.back().second->size() * sizeof(float);
    recent.pop_back();
  }
}

/// Returns the part of a factor that is known at compile time.
std::optional<double> EvaluationRange::numberOf(const Factor &factor) {
  double number = factor.constant;
  for (FlatSymbolRefAttr symbol : factor.weights) {
    Values values = read(symbol);
    if (!values) {
      return std::nullopt;
    }
    number *= values->front();
  }
  return number;
}

/// Returns the spread of the factor's constants and of its known weights.
double EvaluationRange::spreadOf(const Factor &factor) {
  double spread = factor.spread;
  for (FlatSymbolRefAttr symbol : factor.weights) {
    Values values = read(symbol);
    spread *= values ? Factor::of(values->front()).spread : 1;
  }
  return spread;
}

std::optional<EvaluationRange::Block>
EvaluationRange::applyStored(const Weight &weight, const Block &input, Signs signs) {
  if (input.isOnes) {
    auto known = storedSums.find(weight.symbol());
    if (known != storedSums.end()) {
      return known->second;
    }
  }
  Values values = read(weight.symbol());
  if (!values) {
    return std::nullopt;
  }
  Block result{weight.rows(), input.columns, std::vector<double>(weight.rows() * input.columns)};
  const float *element = values->data();
  for (int64_t row = 0; row < weight.rows(); ++row) {
    double *to = result.values.data() + row * input.columns;
    for (int64_t i = 0; i < input.rows; ++i, ++element) {
      double factor = signs == Signs::Kept ? *element : std::abs(*element);
      const double *from = input.values.data() + i * input.columns;
      for (int64_t column = 0; column < input.columns; ++column) {
        to[column] += factor * from[column];
      }
    }
  }
  return result;
}

/// Applies concatenations and sums part by part.
std::optional<EvaluationRange::Block> EvaluationRange::applyParts(const Weight &weight,
                                                                  const Block &input, Signs signs) {
  Block result{weight.rows(), input.columns, {}};
  int64_t first = 0;
  for (const Weight &part : weight.operands()) {
    Block ofPart = input;
    if (weight.kind() == ExpressionKind::ConcatColumns) {
      auto begin = input.values.begin() + first * input.columns;
      ofPart.rows = part.columns();
      ofPart.values.assign(begin, begin + ofPart.rows * input.columns);
      first += ofPart.rows;
    }
    std::optional<Block> values = apply(part, ofPart, signs);
    if (!values) {
      return std::nullopt;
    }
    if (weight.kind() == ExpressionKind::Concat) {
      llvm::append_range(result.values, values->values);
      continue;
    }
    result.values.resize(values->values.size());
    for (auto [sum, value] : llvm::zip_equal(result.values, values->values)) {
      sum += value;
    }
  }
  return result;
}

std::optional<EvaluationRange::Block> EvaluationRange::apply(const Weight &weight,
                                                             const Block &input, Signs signs) {
  if (weight.symbol()) {
    return applyStored(weight, input, signs);
  }
  switch (weight.kind()) {
  case ExpressionKind::Zeros:
    return Block{weight.rows(), input.columns, std::vector<double>(weight.rows() * input.columns)};
  case ExpressionKind::Product: {
    std::optional<Block> inner = apply(weight.operands()[1], input, signs);
    return inner ? apply(weight.operands()[0], *inner, signs) : std::nullopt;
  }
  case ExpressionKind::Scale: {
    std::optional<double> number = numberOf(weight.factor());
    std::optional<Block> result = apply(weight.operands().front(), input, signs);
    if (!number || !result) {
      return std::nullopt;
    }
    for (double &value : result->values) {
      value *= signs == Signs::Kept ? *number : std::abs(*number);
    }
    return result;
  }
  case ExpressionKind::Reshape:
    return apply(weight.operands().front(), input, signs);
  default:
    return applyParts(weight, input, signs);
  }
}

/// Returns the absolute row sums: the bound of the result for activations of magnitude one.
std::optional<EvaluationRange::Block> EvaluationRange::sumsOf(const Weight &weight) {
  int64_t inputs = inputsOf(weight);
  return apply(weight, {inputs, 1, std::vector<double>(inputs, 1.0), true}, Signs::Dropped);
}

namespace {
/// The effect of rounding elements to f32.
struct Rounding {
  double largest = 0;
  double largestBound = 0;
  /// An element that loses more digits than the program would, unless some bound of its matrix
  /// exceeds `needed`.
  double lost = 0;
  double needed = 0;

  /// `bound` is the sum of the absolute values of the products that add up to the element.
  void add(double element, double bound) {
    constexpr double half = 0x1p-24;
    largest = std::max(largest, sizeOf(element));
    largestBound = std::max(largestBound, bound);
    double error = std::abs(double(static_cast<float>(element)) - element);
    // The rounding error of a normal element is relative to its own size.
    if (std::abs(element) >= smallestNormal || error <= half * bound) {
      return;
    }
    if (double need = error / (half * smallestShare); need > needed) {
      needed = need;
      lost = std::abs(element);
    }
  }
};
} // namespace

/// Checks every element, some columns at a time.
std::string EvaluationRange::judgeElements(Judged &subject, bool isVector) {
  const Weight &weight = subject.weight;
  int64_t inputs = inputsOf(weight);
  Rounding rounding;
  std::vector<float> all(weight.rows() * inputs);
  std::fill(subject.sums.values.begin(), subject.sums.values.end(), 0.0);
  for (int64_t first = 0; first < inputs; first += columnsAtOnce) {
    int64_t count = std::min(columnsAtOnce, inputs - first);
    Block unit{inputs, count, std::vector<double>(inputs * count)};
    for (int64_t column = 0; column < count; ++column) {
      unit.values[(first + column) * count + column] = 1;
    }
    std::optional<Block> elements = apply(weight, unit, Signs::Kept);
    std::optional<Block> bounds = apply(weight, unit, Signs::Dropped);
    if (!elements || !bounds) {
      return {};
    }
    for (int64_t index = 0; index < weight.rows() * count; ++index) {
      double element = elements->values[index];
      rounding.add(element, bounds->values[index]);
      subject.sums.values[index / count] += std::abs(element);
      all[index / count * inputs + first + index % count] = static_cast<float>(element);
    }
  }
  subject.values = std::make_shared<const std::vector<float>>(std::move(all));
  if (rounding.largest > largestWeight) {
    return "composed weights would reach " + print(rounding.largest) + ", expected at most " +
           print(largestWeight);
  }
  if (!isVector && rounding.needed > rounding.largestBound) {
    return "composed weights would be as small as " + print(rounding.lost) +
           " and lose digits, expected at least " + print(smallestNormal);
  }
  return {};
}

/// Returns whether an operand is the weight of an evaluation that was taken before.
bool EvaluationRange::readsTaken(const Weight &weight) const {
  return weight.symbol()
             ? storedSums.contains(weight.symbol())
             : llvm::any_of(weight.operands(), [&](const Weight &it) { return readsTaken(it); });
}

bool EvaluationRange::keepsDigits(const Weight &weight, const Block &sums) {
  double largest = largestOf(sums.values);
  // The largest element is at least the mean of its row; losses below `smallestShare` of it do not
  // matter.
  double least = largest / static_cast<double>(inputsOf(weight));
  return largest == 0 || least * smallestShare >= 2 * smallestNormal;
}

/// Returns the absolute row sums of a sum. Each addend is checked by its own size: digits that it
/// loses beside a larger addend are all digits of the result where that addend is zero.
std::optional<EvaluationRange::Block> EvaluationRange::judgeAddends(const Weight &weight,
                                                                    std::string &lost) {
  std::optional<Block> total =
      Block{weight.rows(), 1, std::vector<double>(static_cast<size_t>(weight.rows()))};
  for (const Weight &addend : weight.operands()) {
    std::optional<Block> sums = sumsOf(addend);
    if (!sums) {
      total.reset();
      continue;
    }
    for (size_t row = 0; total && row < sums->values.size(); ++row) {
      total->values[row] += sums->values[row];
    }
    if (!addend.symbol() && !keepsDigits(addend, *sums)) {
      Judged subject{addend, std::move(*sums), nullptr};
      lost = judgeElements(subject, false);
      if (!lost.empty()) {
        return std::nullopt;
      }
    }
  }
  return total;
}

std::string EvaluationRange::judgeWeight(const Weight &weight, bool isVector) {
  if (weight.symbol()) {
    return {};
  }
  if (isConcat(weight)) {
    for (const Weight &part : weight.operands()) {
      if (std::string obstacle = judgeWeight(part, isVector); !obstacle.empty()) {
        return obstacle;
      }
    }
    return {};
  }
  std::string lost;
  std::optional<Block> sums = weight.kind() == ExpressionKind::Sum && !isVector
                                  ? judgeAddends(weight, lost)
                                  : sumsOf(weight);
  if (!lost.empty()) {
    return lost;
  }
  if (!sums) {
    return {};
  }
  judged.push_back({weight, std::move(*sums), nullptr});
  const Block &own = judged.back().sums;
  bool isSafe = largestOf(own.values) <= largestWeight && (isVector || keepsDigits(weight, own));
  // Weights made of composed weights are evaluated now. Otherwise each later evaluation would
  // evaluate the whole chain again.
  return isSafe && !readsTaken(weight) ? std::string() : judgeElements(judged.back(), isVector);
}

std::string EvaluationRange::judgeFactor(const Factor &factor) {
  std::optional<double> number = numberOf(factor);
  if (!number || *number == 0) {
    return {};
  }
  double size = std::abs(*number);
  if (size >= smallestNormal && size <= std::numeric_limits<float>::max()) {
    return {};
  }
  return "the product of its numbers is " + print(*number) + ", expected " + print(smallestNormal) +
         " to " + print(std::numeric_limits<float>::max());
}

/// Checks all weights that an evaluation composes.
std::string EvaluationRange::judgeNode(const Evaluation &evaluation) {
  std::string obstacle;
  if (evaluation->weight) {
    obstacle = judgeWeight(*evaluation->weight, false);
  }
  if (obstacle.empty() && evaluation->bias) {
    obstacle = judgeWeight(*evaluation->bias, true);
  }
  for (const Addend &part : evaluation->parts) {
    obstacle = obstacle.empty() ? judgeFactor(part.factor) : obstacle;
    obstacle = obstacle.empty() ? judgeNode(part.evaluation) : obstacle;
  }
  return obstacle;
}

/// Returns whether a product reads another product or a sum of the same form.
static bool isStaged(const Evaluation &evaluation) {
  if (evaluation->kind == EvaluationNode::Kind::Activate) {
    return false;
  }
  return llvm::any_of(evaluation->parts, [&](const Addend &part) {
    bool isMade = part.evaluation->kind == EvaluationNode::Kind::Linear ||
                  part.evaluation->kind == EvaluationNode::Kind::Sum;
    return (evaluation->kind == EvaluationNode::Kind::Linear && isMade) ||
           isStaged(part.evaluation);
  });
}

/// Checks that the weights of an evaluation are of ordinary magnitude, because row numbers are
/// moved past them.
std::string EvaluationRange::judgeSizes(const Evaluation &evaluation) {
  if (evaluation->weight) {
    std::optional<Block> sums = sumsOf(*evaluation->weight);
    double largest = sums ? largestOf(sums->values) : 0;
    if (largest != 0 && !(largest <= largestPassed && largest >= 1 / largestPassed)) {
      return "numbers of each row would be multiplied after weights whose rows add up to " +
             print(largest) + ", expected " + print(1 / largestPassed) + " to " +
             print(largestPassed);
    }
  }
  for (const Addend &part : evaluation->parts) {
    if (std::string obstacle = judgeSizes(part.evaluation); !obstacle.empty()) {
      return obstacle;
    }
  }
  return {};
}

/// Checks the numbers that are multiplied in another place than in the program.
std::string EvaluationRange::judgeMoves(const AffineForm &form, const Evaluation &evaluation) {
  bool staged = isStaged(evaluation);
  auto hasRows = [](const Term &term) { return !term.factor.rows.empty(); };
  if (form.movesRows || (staged && llvm::any_of(form.terms, hasRows))) {
    if (std::string obstacle = judgeSizes(evaluation); !obstacle.empty()) {
      return obstacle;
    }
  }
  for (const Term &term : form.terms) {
    if (double spread = staged ? spreadOf(term.factor) : 1; !(spread <= largestSpread)) {
      return "numbers that change sizes by " + print(spread) +
             " would be multiplied after another product, expected at most " + print(largestSpread);
    }
  }
  return {};
}

std::string EvaluationRange::judgeConstants(const AffineForm &form) {
  auto judge = [&](const auto &term) -> std::string {
    double size = std::abs(term.factor.constant);
    if (size != 0 && !(size >= smallestNormal && size <= std::numeric_limits<float>::max())) {
      return "its constants leave the range of f32";
    }
    if (!reader && !term.chain.empty() && !(term.factor.spread <= largestUnread)) {
      return "constants that change sizes by " + print(term.factor.spread) +
             " stand beside weights that are not known, expected at most " + print(largestUnread);
    }
    return {};
  };
  std::string obstacle;
  for (const Term &term : form.terms) {
    obstacle = obstacle.empty() ? judge(term) : obstacle;
  }
  for (const ConstantTerm &constant : form.constants) {
    obstacle = obstacle.empty() ? judge(constant) : obstacle;
  }
  return obstacle;
}

std::string EvaluationRange::obstacleOf(const AffineForm &form, const Evaluation &evaluation) {
  judged.clear();
  unread = {};
  std::string obstacle = judgeConstants(form);
  obstacle = obstacle.empty() ? judgeMoves(form, evaluation) : obstacle;
  obstacle = obstacle.empty() ? judgeNode(evaluation) : obstacle;
  if (obstacle.empty() && unread) {
    return "the values of @" + unread.getValue().str() + " cannot be read";
  }
  return obstacle;
}

void EvaluationRange::keepTaken(DerivedParameters &derived) {
  for (Judged &subject : judged) {
    FlatSymbolRefAttr symbol = subject.weight.derive(derived);
    storedSums[symbol] = std::move(subject.sums);
    if (subject.values) {
      keep(symbol, subject.values);
    }
  }
  judged.clear();
}

} // namespace heddle
