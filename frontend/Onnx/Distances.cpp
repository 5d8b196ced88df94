// SPDX-License-Identifier: Apache-2.0
///
/// Biases of scores by the distance between key and query. Graphs read them from a table by bucket,
/// which they compute with comparisons, logarithms and minima of the difference of two positions.
/// Any such formula is evaluated for each distance, in f32 as the exporter does; interval
/// arithmetic proves that the bucket is constant beyond the largest distance.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"
#include "heddle/RectangleEntries.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

namespace {

/// The largest distance with a bucket of its own, and a bound that represents any larger distance.
constexpr int64_t mostDistance = int64_t{1} << 16;
constexpr double farthest = 0x1p40;

/// The range of values of a formula.
struct Interval {
  double least = 0, most = 0;

  bool isPoint() const { return least == most; }
};

using Evaluated = std::optional<Interval>;

/// Evaluates a formula of one coordinate, the distance.
class IntervalEvaluator {
public:
  explicit IntervalEvaluator(Interval distance) : distance(distance) {}

  Evaluated evaluate(Expr value) {
    const auto known = done.find(value);
    if (known != done.end()) {
      return known->second;
    }
    Evaluated result = find(value);
    if (result && value->element == Element::Real) {
      // Rounding is monotonic.
      result = Interval{static_cast<float>(result->least), static_cast<float>(result->most)};
    }
    if (result && (std::isnan(result->least) || std::isnan(result->most))) {
      result = std::nullopt;
    }
    done.emplace(value, result);
    return result;
  }

private:
  Evaluated find(Expr value);
  Evaluated sum(Expr value);
  Evaluated select(Expr value);
  Evaluated ofOne(Formula formula, const Interval &x, bool isInteger) const;
  Evaluated ofTwo(Formula formula, const Interval &x, const Interval &y, bool isInteger) const;

  static Interval times(const Interval &x, const Interval &y) {
    const auto [least, most] =
        std::minmax({x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most});
    return {least, most};
  }

  Interval distance;
  std::map<Expr, Evaluated> done;
};

Evaluated IntervalEvaluator::find(Expr value) {
  if (value->isConstant()) {
    return Interval{value->value(), value->value()};
  }
  const auto &operands = value->operands;
  switch (value->formula) {
  case Formula::Axis:
    return value->integer == static_cast<int64_t>(Expressions::boundAxis) ? Evaluated(distance)
                                                                          : std::nullopt;
  case Formula::Sum:
    return sum(value);
  case Formula::Select:
    return select(value);
  default:
    break;
  }
  if (operands.empty() || operands.size() > 2 || value->formula == Formula::Read ||
      value->formula == Formula::RunningSum) {
    return std::nullopt;
  }
  const Evaluated x = evaluate(operands.front());
  const Evaluated y = evaluate(operands.back());
  if (!x || !y) {
    return std::nullopt;
  }
  const bool isInteger = value->element != Element::Real;
  return operands.size() == 1 ? ofOne(value->formula, *x, isInteger)
                              : ofTwo(value->formula, *x, *y, isInteger);
}

Evaluated IntervalEvaluator::sum(Expr value) {
  Interval total;
  for (const Term &term : value->terms) {
    const auto coefficient = static_cast<double>(term.coefficient);
    Interval product{coefficient, coefficient};
    for (const Expr factor : term.factors) {
      const Evaluated each = evaluate(factor);
      if (!each) {
        return std::nullopt;
      }
      product = times(product, *each);
    }
    total = {total.least + product.least, total.most + product.most};
  }
  return total;
}

/// The side that is not selected need not have a value.
Evaluated IntervalEvaluator::select(Expr value) {
  const Evaluated condition = evaluate(value->operands[0]);
  if (!condition) {
    return std::nullopt;
  }
  if (condition->isPoint()) {
    return evaluate(value->operands[condition->least != 0 ? 1 : 2]);
  }
  const Evaluated x = evaluate(value->operands[1]), y = evaluate(value->operands[2]);
  return x && y ? Evaluated({std::min(x->least, y->least), std::max(x->most, y->most)})
                : std::nullopt;
}

Evaluated IntervalEvaluator::ofOne(Formula formula, const Interval &x, bool isInteger) const {
  const auto rising = [&](auto function) {
    return Evaluated({function(x.least), function(x.most)});
  };
  switch (formula) {
  case Formula::Cast:
    return isInteger ? rising([](double each) { return std::trunc(each); }) : Evaluated(x);
  case Formula::Not:
    return Interval{1 - x.most, 1 - x.least};
  case Formula::Negate:
    return Interval{-x.most, -x.least};
  case Formula::Absolute:
    return x.least >= 0  ? x
           : x.most <= 0 ? Interval{-x.most, -x.least}
                         : Interval{0, std::max(-x.least, x.most)};
  case Formula::Logarithm:
    return rising([](double each) { return double{std::log(static_cast<float>(each))}; });
  case Formula::Root:
    return rising([](double each) { return double{std::sqrt(static_cast<float>(each))}; });
  case Formula::Exponential:
    return rising([](double each) { return double{std::exp(static_cast<float>(each))}; });
  case Formula::Floor:
    return rising([](double each) { return std::floor(each); });
  case Formula::Relu:
    return rising([](double each) { return std::max(each, 0.0); });
  default:
    return std::nullopt;
  }
}

Evaluated IntervalEvaluator::ofTwo(Formula formula, const Interval &x, const Interval &y,
                                   bool isInteger) const {
  switch (formula) {
  case Formula::Add:
    return Interval{x.least + y.least, x.most + y.most};
  case Formula::Multiply:
    return times(x, y);
  case Formula::Divide: {
    if (!y.isPoint() || y.least == 0) {
      return std::nullopt;
    }
    const double a = x.least / y.least, b = x.most / y.least;
    const Interval quotient{std::min(a, b), std::max(a, b)};
    return isInteger ? Interval{std::trunc(quotient.least), std::trunc(quotient.most)} : quotient;
  }
  case Formula::Least:
    return Interval{std::min(x.least, y.least), std::min(x.most, y.most)};
  case Formula::Largest:
    return Interval{std::max(x.least, y.least), std::max(x.most, y.most)};
  case Formula::Less:
    return Interval{x.most < y.least ? 1.0 : 0.0, x.least < y.most ? 1.0 : 0.0};
  case Formula::Equal: {
    const bool mayBe = x.least <= y.most && y.least <= x.most;
    const bool must = x.isPoint() && y.isPoint() && x.least == y.least;
    return Interval{must ? 1.0 : 0.0, mayBe ? 1.0 : 0.0};
  }
  case Formula::And:
    return Interval{std::min(x.least, y.least), std::min(x.most, y.most)};
  default:
    return std::nullopt;
  }
}

/// The bucket of each distance from -n to n; those at the ends apply to larger distances.
struct Buckets {
  std::vector<int64_t> indices;
  /// Whether the buckets at the ends apply to larger distances. Otherwise the table ends there.
  bool isComplete = true;
};

std::optional<int64_t> pointOf(Expr bucket, double least, double most) {
  const Evaluated value = IntervalEvaluator({least, most}).evaluate(bucket);
  return value && value->isPoint() && std::abs(value->least) < 0x1p31
             ? std::optional(static_cast<int64_t>(value->least))
             : std::nullopt;
}

/// Returns nullopt if distance 0 or 1 has no bucket within `count`, or if a distance has none
/// although a larger one has. As everywhere in ONNX, negative indices count from the end.
std::optional<Buckets> bucketsOf(Expr bucket, int64_t count) {
  const auto end = [&](int64_t distance) {
    const auto near = static_cast<double>(distance);
    return pointOf(bucket, near, farthest) && pointOf(bucket, -farthest, -near);
  };
  int64_t reach = 1;
  while (reach < mostDistance && !end(reach)) {
    reach *= 2;
  }
  Buckets result;
  result.isComplete = end(reach);
  const auto at = [&](int64_t distance) {
    const auto point = static_cast<double>(distance);
    const std::optional<int64_t> index = pointOf(bucket, point, point);
    return index && *index >= -count && *index < count
               ? std::optional(*index < 0 ? *index + count : *index)
               : std::nullopt;
  };
  std::vector<int64_t> after, before;
  for (int64_t distance = 0; distance <= reach; ++distance) {
    const std::optional<int64_t> later = at(distance), earlier = at(-distance);
    if (!later || !earlier) {
      // Sequences can be no longer than the table.
      if (result.isComplete || distance <= 1) {
        return std::nullopt;
      }
      break;
    }
    after.push_back(*later);
    before.push_back(*earlier);
  }
  const auto isRepeated = [](const std::vector<int64_t> &side) {
    return side.size() > 1 && side[side.size() - 2] == side.back();
  };
  while (result.isComplete && after.size() > 2 && isRepeated(after) && isRepeated(before)) {
    after.pop_back();
    before.pop_back();
  }
  result.indices.assign(before.rbegin(), before.rend());
  result.indices.insert(result.indices.end(), after.begin() + 1, after.end());
  return result;
}

} // namespace

bool Evaluation::isOfPairs(const Symbolic &value) {
  const auto isOfRows = [&](Expr size) {
    return (sequenceSize && size == sizeOf(*sequenceSize)) ||
           (other && other->sequenceSize && size == sizeOf(*other->sequenceSize));
  };
  return std::count_if(value.shape.begin(), value.shape.end(), isOfRows) > 1;
}

/// Returns a row of a table of buckets, [1, heads].
Parameter Evaluation::bucketRow(const Parameter &table, int64_t index) {
  return root().rows(fmt::format("{}.bucket {}", table.symbol(), index), table, index, 1);
}

/// Emits the bias for distances between positions; `buckets` holds the table row of each distance.
mlir::Value Evaluation::biasByPositions(const Parameter &table, std::span<const int64_t> buckets,
                                        mlir::Value queries, mlir::Value keys) {
  std::vector<Parameter> parts;
  for (const int64_t index : buckets) {
    parts.push_back(bucketRow(table, index));
  }
  const std::string name = fmt::format("{}.distances to {}", table.symbol(), buckets.size() / 2);
  const Parameter distances =
      root().transposed(name, root().concat(fmt::format("{} by row", name), parts));
  return make<transformer::RelativeBiasOp>(
      tensorType({ShapedType::kDynamic, table.shape()[1], ShapedType::kDynamic}),
      FlatSymbolRefAttr::get(context, distances.symbol()), queries, keys);
}

/// Emits the bias for distances between original columns: a step function at each distance where
/// the bucket changes, times the difference of the two buckets. The first bucket is left out: it
/// adds the same number to all scores of a row, which does not change the softmax.
mlir::Value Evaluation::biasByColumns(const Parameter &table, std::span<const int64_t> buckets) {
  const auto reach = static_cast<int64_t>(buckets.size() / 2);
  const mlir::Value before = make<transformer::ScaleOp>(columnNumbers, f32(-1));
  std::vector<Parameter> differences;
  llvm::SmallVector<mlir::Value> starts;
  for (size_t i = 1; i < buckets.size(); ++i) {
    const int64_t from = buckets[i - 1], to = buckets[i];
    if (from == to) {
      continue;
    }
    const std::string name = fmt::format("{}.from bucket {} to {}", table.symbol(), from, to);
    const Parameter parts[] = {
        bucketRow(table, to),
        root().scaled(fmt::format("{}.bucket {} negated", table.symbol(), from),
                      bucketRow(table, from), -1)};
    differences.push_back(root().sum(name, parts));
    // 1 where the key's column is at least `least` after the row's; otherwise at most 0.
    const auto least = static_cast<double>(static_cast<int64_t>(i) - reach);
    starts.push_back(make<transformer::ShiftOp>(before, f32(1 - least)));
  }
  const auto count = static_cast<int64_t>(starts.size());
  if (count == 0) {
    return {};
  }
  const mlir::Value queries = count == 1 ? starts.front()
                                         : mlir::Value(make<transformer::ConcatOp>(
                                               tensorType({ShapedType::kDynamic, count}), starts));
  const mlir::Value sums = make<transformer::PairSumOp>(
      tensorType({ShapedType::kDynamic, ShapedType::kDynamic, count}), queries,
      sideBySide(*this, columnNumbers, count), segments(), segments());
  const mlir::Value steps = make<transformer::ClampOp>(sums, f32(0), f32(1));
  const std::string name = fmt::format("{}.by columns to {}", table.symbol(), reach);
  const Parameter weights =
      root().transposed(name, root().concat(fmt::format("{} by row", name), differences));
  const mlir::Value rowsAndKeys[] = {segments(), segments()};
  return make<transformer::ContractOp>(
      tensorType({ShapedType::kDynamic, table.shape()[1], ShapedType::kDynamic}), "tkw,hw->thk",
      steps, weight(weights), ValueRange(rowsAndKeys));
}

/// Adds an element of a table [buckets, heads], selected by distance, to the scores.
Result<Rows> Evaluation::withDistance(Rows scores, Expr bias, const ScoreAxes &axes) {
  const auto refuse = [&](const std::string &what) {
    return failure(StatusCode::Unsupported,
                   fmt::format("adds {} to scores, expected one that is read from a table of "
                               "[buckets, heads] by the distance of a key",
                               what));
  };
  if (bias->formula != Formula::Read || bias->operands.size() != 2) {
    return refuse("a bias that is computed from a table");
  }
  const auto number = static_cast<size_t>(bias->integer);
  const Parameter table = parameter(number);
  const int64_t count = table.shape()[0], heads = table.shape()[1];
  const Expr head = bias->operands[1];
  const bool isOfHead = axes.head && head == expressions.axis(*axes.head) &&
                        scores.physical.front() == scores.axes[*axes.head];
  if (widthOf(scores.physical.front()) != heads ||
      !(isOfHead || (heads == 1 && head->isConstant(0)))) {
    return refuse(fmt::format("a bias of {} heads", heads));
  }
  // Rewrites the key as the query plus a distance. Only the distance may remain.
  expressions.within({});
  const Expr query = expressions.axis(axes.row), key = expressions.axis(axes.key);
  const Expr bucket = expressions.replace(bias->operands[0], [&](Expr part) {
    return part == key ? expressions.add(expressions.add(query, earlier()), expressions.bound())
                       : nullptr;
  });
  const std::optional<Buckets> buckets = bucketsOf(bucket, count);
  if (!buckets) {
    return refuse(fmt::format("a bias from {} by what is no distance, or a bucket of none of its "
                              "{} rows,",
                              quote(table.symbol()), count));
  }
  const auto reach = static_cast<int64_t>(buckets->indices.size() / 2);
  if (!buckets->isComplete) {
    noteLongest(reach + 1);
    if (plan.hasColumns) {
      entry.limit(columnsInput, static_cast<int32_t>(reach + 1));
    }
  }
  const mlir::Value added = plan.hasColumns
                                ? biasByColumns(table, buckets->indices)
                                : biasByPositions(table, buckets->indices, segmentsOf(scores),
                                                  segmentsOf(scores.axes[axes.key].front()));
  found.usesDistances = true;
  if (!added) {
    return scores;
  }
  scores.value = make<transformer::AddOp>(scores.value, added);
  return scores;
}

/// Replaces a comparison of the key's column with the number of visible keys by the mask of that
/// key. The two are equivalent where the visible keys come first.
Expr Evaluation::withoutLengths(Expr bias, const ScoreAxes &axes) {
  const Expr key = expressions.axis(axes.key);
  return expressions.replace(bias, [&](Expr part) -> Expr {
    if (part->formula != Formula::Less || part->operands[0] != key ||
        part->operands[1]->formula != Formula::RunningSum) {
      return nullptr;
    }
    const Expr sum = part->operands[1];
    const Expr last = expressions.subtract(sizeOf(axes.keySize), integer(1));
    if (sum->operands[0] != last || sum->operands[1]->formula != Formula::Read) {
      return nullptr;
    }
    noteNeighbours();
    const Expr own = expressions.replace(
        sum->operands[1], [&](Expr each) { return each == expressions.bound() ? key : nullptr; });
    return expressions.equal(own, integer(1));
  });
}

Result<Rows> Evaluation::biased(Rows scores, Expr bias) {
  std::optional<size_t> row, key, head;
  for (size_t axis = 0; axis < scores.axes.size(); ++axis) {
    const Atoms &atoms = scores.axes[axis];
    row = isAxisOf(atoms, Atom::Kind::Row) ? axis : row;
    key = isAxisOf(atoms, Atom::Kind::Key) ? axis : key;
    const bool isInner = !atoms.empty() && atoms.front().kind == Atom::Kind::Inner;
    head = isInner ? axis : head;
  }
  if (!row || !key) {
    return hidden(std::move(scores), bias);
  }
  const ScoreAxes axes{*row, *key, head, scores.axes[*key].front().size};
  // Decomposes sums and selects between a bias and a number that hides the key.
  std::vector<Expr> terms{bias};
  Expr mask = expressions.real(0);
  while (!terms.empty()) {
    const Expr term = terms.back();
    terms.pop_back();
    const bool isChoice = term->formula == Formula::Select &&
                          expressions.readsTable(term) != expressions.readsTable(term->operands[0]);
    const size_t constant = isChoice && term->operands[1]->isConstant() ? 1 : 2;
    if (!expressions.readsTable(term)) {
      mask = expressions.add(mask, term);
    } else if (term->formula == Formula::Add) {
      terms.insert(terms.end(), {term->operands[1], term->operands[0]});
    } else if (isChoice && term->operands[constant]->isConstant() &&
               term->operands[constant]->value() <= hides) {
      const Expr hiding = term->operands[constant], none = expressions.real(0);
      terms.push_back(term->operands[3 - constant]);
      terms.push_back(expressions.select(term->operands[0], constant == 1 ? hiding : none,
                                         constant == 1 ? none : hiding));
    } else {
      HEDDLE_ASSIGN(scores, withDistance(std::move(scores), term, axes));
    }
  }
  return hidden(std::move(scores), withoutLengths(mask, axes));
}

} // namespace heddle::onnx
