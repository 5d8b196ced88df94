// SPDX-License-Identifier: Apache-2.0
///
/// Walks from the contraction back to the sum of each row and key. Operands are distinguished by
/// their axes: rows have `t`, keys `k`, and pairs both and one more.
#include "compiler/Model/Attention/PairScores.h"

#include "compiler/Model/Attention/ScoreMaths.h"
#include "compiler/Model/Attention/WeightContraction.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

/// The most convolutions and biases added to a sum of a row and a key.
static constexpr size_t mostAdded = 16;

static bool hasRowsAndKeys(StringRef axes) { return axes.contains('t') && axes.contains('k'); }

/// Returns whether an element-wise function computes a value from sums of rows and keys, and
/// possibly other operands.
static bool isOfPairs(Value value) {
  // No model has more.
  constexpr size_t most = 64;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(value);
  for (size_t next = 0; next < seen.size() && next < most; ++next) {
    Operation *producer = seen[next].getDefiningOp();
    if (isa_and_nonnull<PairSumOp>(producer)) {
      return true;
    }
    if (isa_and_nonnull<ActivateOp, AddOp, MultiplyOp, ScaleOp, TransposeOp>(producer)) {
      seen.insert(producer->operand_begin(), producer->operand_end());
    }
  }
  return false;
}

bool sumsPairs(ContractOp contract) {
  return hasRowsAndKeys(contract.getResultAxes()) &&
         ((hasRowsAndKeys(contract.getLhsAxes()) && isOfPairs(contract.getLhs())) ||
          (hasRowsAndKeys(contract.getRhsAxes()) && isOfPairs(contract.getRhs())));
}

Value PairScores::queries(OpBuilder &builder, Location location) const {
  Value rows = sum.getQuery();
  for (Value bias : biases) {
    rows = AddOp::create(builder, location, rows, bias);
  }
  return rows;
}

int64_t PairScores::width() const { return sum.getType().getDimSize(2); }

ScoreAttr PairScores::maths() const { return ScoreAttr::get(sum.getContext(), steps); }

namespace {
/// Matches one contraction, walking back to its rows and keys.
class PairMatcher {
public:
  PairMatcher(ContractOp contract, std::string &reason) : contract(contract), reason(reason) {}

  FailureOr<PairScores> run() {
    bool first = hasRowsAndKeys(contract.getLhsAxes()) && isOfPairs(contract.getLhs());
    StringRef axes = first ? contract.getLhsAxes() : contract.getRhsAxes();
    if (axes.size() != 3) {
      return decline("pairs of rows and keys have other axes than row, key and column");
    }
    char column = 0;
    for (auto [axis, letter] : llvm::enumerate(axes)) {
      size_t place = letter == 't' ? 0 : letter == 'k' ? 1 : 2;
      pairOrder[place] = static_cast<int64_t>(axis);
      column = place == 2 ? letter : column;
    }
    if (failed(matchWeights(first ? contract.getRhs() : contract.getLhs(),
                            first ? contract.getRhsAxes() : contract.getLhsAxes(), column)) ||
        failed(matchMaths(first ? contract.getLhs() : contract.getRhs()))) {
      return failure();
    }
    return pairs;
  }

private:
  LogicalResult decline(const Twine &text) {
    reason = text.str();
    return failure();
  }

  /// Matches v, with an axis of columns and optionally one of heads.
  LogicalResult matchWeights(Value value, StringRef axes, char column) {
    WeightView view = viewWeight(value, axes);
    if (!view.weight) {
      Operation *producer = value.getDefiningOp();
      return decline("pairs of rows and keys are summed with numbers that are no weight (" +
                     (producer ? describe(producer) : "an argument") + ")");
    }
    StringRef letters = view.axes;
    size_t columnAxis = letters.find(column);
    if (columnAxis == StringRef::npos || letters.size() > 2) {
      return decline("the weight of pairs has other axes than head and column");
    }
    pairs.weights = view.weight;
    StringRef result = contract.getResultAxes();
    if (result.contains(column)) {
      return decline("the columns of pairs are not summed");
    }
    if (letters.size() == 2) {
      size_t headAxis = 1 - columnAxis;
      if (!result.contains(letters[headAxis])) {
        return decline("pairs are summed over the heads too");
      }
      pairs.order.push_back(static_cast<int64_t>(headAxis));
    }
    pairs.order.push_back(static_cast<int64_t>(columnAxis));
    return success();
  }

  /// Matches f, down to the sum of rows and keys.
  LogicalResult matchMaths(Value value) {
    ScoreMaths maths;
    while (Operation *producer = value.getDefiningOp()) {
      if (auto transpose = dyn_cast<TransposeOp>(producer)) {
        for (int64_t &axis : pairOrder) {
          axis = transpose.getPermutation()[axis];
        }
        value = transpose.getInput();
      } else if (std::optional<MathsPiece> piece = elementwiseBefore(value)) {
        maths.prepend(piece->steps);
        value = piece->input;
      } else {
        break;
      }
    }
    if (failed(matchSum(value))) {
      return failure();
    }
    if (!llvm::is_sorted(pairOrder)) {
      return decline("rows and keys of pairs change places");
    }
    ValueRange segments = contract.getSegments();
    auto isOfScores = [&](auto op) {
      return areSameSegments(op.getQueries(), segments[0]) &&
             areSameSegments(op.getKeys(), segments[1]);
    };
    if (!isOfScores(pairs.sum) || !llvm::all_of(pairs.locations, isOfScores)) {
      return decline("pairs are of other segments than their scores");
    }
    if (!areWithinLimits(pairs.locations)) {
      return decline("convolutions over more than " + Twine(mostLocationHeads) + " heads or " +
                     Twine(mostNear) + " numbers near a key are added to pairs");
    }
    if (maths.getSteps().size() > ScoreAttr::mostSteps) {
      return decline("the function of pairs has more than " + Twine(ScoreAttr::mostSteps) +
                     " steps");
    }
    pairs.steps.assign(maths.getSteps().begin(), maths.getSteps().end());
    if (pairs.steps.empty()) {
      pairs.steps.push_back(ScoreStep::multiply(ScoreTerm::ofValue(0), ScoreTerm::ofConstant(1)));
    }
    return success();
  }

  static bool areWithinLimits(ArrayRef<ConvolveKeysOp> convolutions) {
    SmallVector<int64_t> heads, taps;
    for (ConvolveKeysOp each : convolutions) {
      auto weight = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(each, each.getWeightAttr());
      heads.push_back(weight.getTensorType().getDimSize(1));
      taps.push_back(weight.getTensorType().getDimSize(2));
    }
    return numbersNear(heads, taps).has_value();
  }

  /// Matches the sum of a row, a key, convolutions over numbers of keys and weights of columns.
  LogicalResult matchSum(Value value) {
    SmallVector<Value> pending = {value};
    while (!pending.empty()) {
      value = pending.pop_back_val();
      Operation *producer = value.getDefiningOp();
      if (auto add = dyn_cast_if_present<AddOp>(producer)) {
        // Weights along the columns, which are the last axis.
        bool isBias = add.getRhs().getDefiningOp<WeightOp>() && pairOrder[2] == 2;
        if (isBias) {
          pairs.biases.push_back(add.getRhs());
        } else {
          pending.push_back(add.getRhs());
        }
        pending.push_back(add.getLhs());
      } else if (auto convolution = dyn_cast_if_present<ConvolveKeysOp>(producer)) {
        pairs.locations.push_back(convolution);
      } else if (auto sum = dyn_cast_if_present<PairSumOp>(producer); sum && !pairs.sum) {
        pairs.sum = sum;
      } else if (isa_and_present<PairSumOp>(producer)) {
        return decline("pairs are a sum of two rows and two keys");
      } else {
        return decline("pairs are no sum of a row and a key (" +
                       (producer ? describe(producer) : "an argument") + ")");
      }
      if (pairs.locations.size() + pairs.biases.size() > mostAdded) {
        return decline("more than " + Twine(mostAdded) +
                       " convolutions and biases are added to pairs");
      }
    }
    assert(pairs.sum && "sumsPairs() found one");
    return success();
  }

  ContractOp contract;
  std::string &reason;
  PairScores pairs;
  /// The axes of the current value for row, key and column.
  std::array<int64_t, 3> pairOrder = {0, 1, 2};
};
} // namespace

FailureOr<PairScores> matchPairs(ContractOp contract, std::string &reason) {
  return PairMatcher(contract, reason).run();
}

FlatSymbolRefAttr derivePairWeights(DerivedParameters &parameters, Location location,
                                    const PairScores &pairs, int64_t heads,
                                    ArrayRef<Value> numbers) {
  WeightOp weights = pairs.weights;
  FlatSymbolRefAttr symbol = weights.getParameterAttr();
  std::string name = symbol.getValue().str();
  int64_t width = pairs.width();
  if (pairs.order.size() == 1) {
    FlatSymbolRefAttr line =
        parameters.derive(location, name + ".head", ExpressionKind::Reshape, symbol, {1, width});
    symbol = heads == 1
                 ? line
                 : parameters.derive(location, name + ".heads", ExpressionKind::Concat,
                                     SmallVector<FlatSymbolRefAttr>(heads, line), {heads, width});
  } else if (pairs.order.front() == 1) {
    symbol = parameters.derive(location, name + ".transposed", ExpressionKind::Transpose, symbol,
                               {heads, width});
  }
  if (numbers.empty()) {
    return symbol;
  }
  SmallVector<FlatSymbolRefAttr> operands = {symbol};
  for (Value number : numbers) {
    operands.push_back(number.getDefiningOp<WeightOp>().getParameterAttr());
  }
  return parameters.derive(location, name + ".scaled", ExpressionKind::Scale, operands,
                           {heads, width});
}

// --- convolutions ----------------------------------------------------------------------------

namespace {
/// A matrix [width, near] as the product of a linear map [width, filters] and columns of the
/// filters, starting at `first`.
struct Factors {
  FlatSymbolRefAttr map, filters;
  int64_t first = 0;
};
} // namespace

/// Returns the factors from which the weight [width, heads, taps] of a convolution is derived;
/// nothing if it is derived otherwise.
static std::optional<Factors> factorsOf(const DerivedParameters &parameters,
                                        FlatSymbolRefAttr weight) {
  Factors factors;
  for (FlatSymbolRefAttr symbol = weight;;) {
    ParameterExpressionAttr expression = parameters.lookUp(symbol).getExpressionAttr();
    if (!expression) {
      return std::nullopt;
    }
    ArrayRef<FlatSymbolRefAttr> operands = expression.getOperands();
    switch (expression.getKind()) {
    case ExpressionKind::Reshape: {
      // The map has one row for each row of the width.
      ArrayRef<int64_t> from = parameters.lookUp(operands[0]).getTensorType().getShape();
      ArrayRef<int64_t> to = parameters.lookUp(symbol).getTensorType().getShape();
      if (from.size() != 2 || from[0] != to[0] || to.size() != 3) {
        return std::nullopt;
      }
      break;
    }
    case ExpressionKind::Columns:
      factors.first += expression.getNumbers()[0];
      break;
    case ExpressionKind::Product:
      if (parameters.lookUp(operands[1]).getTensorType().getRank() != 2) {
        return std::nullopt;
      }
      factors.map = operands[0];
      factors.filters = operands[1];
      return factors;
    default:
      return std::nullopt;
    }
    symbol = operands[0];
  }
}

namespace {
/// The convolutions of pairs as matrices.
class LocationMatrices {
public:
  LocationMatrices(DerivedParameters &parameters, Location location, const PairScores &pairs)
      : parameters(parameters), location(location), pairs(pairs), width(pairs.width()) {}

  /// Returns how many numbers near a key one convolution reads.
  int64_t nearOf(ConvolveKeysOp convolution) const {
    ArrayRef<int64_t> shape = shapeOf(convolution);
    return shape[1] * shape[2];
  }
  ArrayRef<int64_t> shapeOf(ConvolveKeysOp convolution) const {
    return parameters.lookUp(convolution.getWeightAttr()).getTensorType().getShape();
  }

  /// Separates the matrix into filters and one map after them. Returns false if the weights are not
  /// derived that way or if it is not less work.
  bool separate(PairLocations &locations) const {
    SmallVector<Factors> factors;
    int64_t near = 0;
    for (ConvolveKeysOp convolution : pairs.locations) {
      std::optional<Factors> each = factorsOf(parameters, convolution.getWeightAttr());
      if (!each || (!factors.empty() && each->map != factors.front().map)) {
        return false;
      }
      factors.push_back(*each);
      near += nearOf(convolution);
    }
    int64_t count = parameters.lookUp(factors.front().map).getTensorType().getDimSize(1);
    if (count * (near + width) >= near * width) {
      return false;
    }
    SmallVector<FlatSymbolRefAttr> filters;
    for (auto [convolution, each] : llvm::zip_equal(pairs.locations, factors)) {
      filters.push_back(parameters.derive(location, each.filters.getValue().str() + ".near",
                                          ExpressionKind::Columns, each.filters,
                                          {count, nearOf(convolution)}, {}, each.first));
    }
    locations.filters = join(filters, count, near);
    locations.weights = factors.front().map;
    return true;
  }

  /// Derives one matrix of all convolutions.
  FlatSymbolRefAttr whole() const {
    SmallVector<FlatSymbolRefAttr> matrices;
    int64_t near = 0;
    for (ConvolveKeysOp convolution : pairs.locations) {
      FlatSymbolRefAttr weight = convolution.getWeightAttr();
      near += nearOf(convolution);
      matrices.push_back(parameters.derive(location, weight.getValue().str() + ".matrix",
                                           ExpressionKind::Reshape, weight,
                                           {width, nearOf(convolution)}));
    }
    return join(matrices, width, near);
  }

private:
  FlatSymbolRefAttr join(ArrayRef<FlatSymbolRefAttr> parts, int64_t rows, int64_t columns) const {
    return parts.size() == 1
               ? parts.front()
               : parameters.derive(location, joinNames(parts), ExpressionKind::ConcatColumns, parts,
                                   {rows, columns});
  }

  DerivedParameters &parameters;
  Location location;
  const PairScores &pairs;
  int64_t width;
};
} // namespace

PairLocations deriveLocations(DerivedParameters &parameters, Location location,
                              const PairScores &pairs) {
  PairLocations locations;
  if (pairs.locations.empty()) {
    return locations;
  }
  LocationMatrices matrices(parameters, location, pairs);
  SmallVector<int64_t> taps;
  for (ConvolveKeysOp convolution : pairs.locations) {
    locations.locations.push_back(convolution.getInput());
    taps.push_back(matrices.shapeOf(convolution)[2]);
  }
  locations.taps = DenseI64ArrayAttr::get(location.getContext(), taps);
  if (!matrices.separate(locations)) {
    locations.weights = matrices.whole();
  }
  return locations;
}

} // namespace heddle
