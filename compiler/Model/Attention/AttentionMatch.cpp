// SPDX-License-Identifier: Apache-2.0
///
/// Walks from a softmax to the contractions with values and to that of queries and keys.
#include "compiler/Model/Attention/AttentionMatch.h"

#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Model/Attention/ScoreMaths.h"
#include "compiler/Model/Attention/WeightContraction.h"
#include "compiler/Model/Parameters/WeightExpression.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

using Order = std::array<int64_t, 3>;
constexpr Order inOrder = {0, 1, 2};
// Letters with a fixed meaning in a specification: rows of queries, keys.
constexpr char rowLetter = 't';
constexpr char keyLetter = 'k';
// Not a letter: stands for the head axis of a tensor that all heads share.
constexpr char allHeads = 0;

/// Maps axes of a transpose's result to axes of its input.
void moveThrough(TransposeOp transpose, MutableArrayRef<int64_t> order) {
  for (int64_t &axis : order) {
    axis = transpose.getPermutation()[axis];
  }
}

/// The most products whose sum can be the scores of one attention; no model has more.
constexpr size_t mostProducts = 8;

/// A summand of the scores that is still to be analysed, on the walk back from the softmax.
struct Summand {
  Value value;
  /// The factor of the summand before the softmax.
  ScoreFactor factor;
  /// Its axes for row, head and key or, if all heads share it, for row and key.
  SmallVector<int64_t, 3> order;
};

/// Returns the users of a value in program order, each once.
SmallVector<Operation *> usersOf(Value value) {
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : value.getUsers()) {
    users.insert(user);
  }
  // MLIR lists the last use first.
  return llvm::to_vector(llvm::reverse(users));
}

/// A use of the probabilities that is still to be analysed. Axis i of `probabilities` is axis
/// `order[i]` of the softmax; `factor` has been multiplied on the way.
struct Use {
  Operation *user;
  Value probabilities;
  Order order;
  double factor;
  double spread;
};

class AttentionMatcher {
public:
  AttentionMatcher(SoftmaxOp softmax, std::string &reason) : masks(reason), reason(reason) {
    match.softmax = softmax;
  }

  FailureOr<AttentionMatch> run() {
    if (failed(matchScores()) || failed(matchSegments()) || failed(matchUses())) {
      return failure();
    }
    for (ScoreProduct &product : match.products) {
      // A factor of one summand of a pair is not a factor of their sum.
      if (product.pairs) {
        continue;
      }
      strip(product.query, &product.factor.constant, &product.spread);
      strip(product.key, &product.factor.constant, &product.spread);
    }
    for (WeightedSum &sum : match.sums) {
      strip(sum.value, &sum.resultScale, &sum.spread);
    }
    if (failed(checkScales())) {
      return failure();
    }
    return match;
  }

  /// Matches one sum with the given weights.
  FailureOr<AttentionMatch> runAlone(ContractOp contract, Value weights) {
    match.heads = cast<RankedTensorType>(weights.getType()).getDimSize(1);
    if (failed(matchSum(contract, {contract, weights, inOrder, 1.0, 1.0}))) {
      return failure();
    }
    // Does not move the factor of values: weights other than probabilities may be of any magnitude.
    strip(match.sums.front().value, nullptr, nullptr);
    return match;
  }

private:
  LogicalResult decline(const Twine &text) {
    reason = text.str();
    return failure();
  }

  LogicalResult matchScores();
  LogicalResult matchSummand(Summand summand, SmallVectorImpl<Summand> &pending);
  LogicalResult matchMaths(const MathsPiece &piece, Summand &summand);
  LogicalResult matchMasked(Operation *masked, Summand &summand, SmallVectorImpl<Summand> &pending);
  LogicalResult matchProduct(ContractOp contract, const Summand &summand);
  LogicalResult addPairs(ContractOp contract, const ScoreFactor &factor);
  LogicalResult matchSegments();
  LogicalResult matchUses();
  void matchUsers();
  LogicalResult matchSum(ContractOp contract, const Use &use);
  void matchMap(WeightedSum &sum);
  LogicalResult matchOperand(Value tensor, StringRef axes, char row, char head, StringRef what,
                             AttentionOperand &operand, char &sizeLetter, int64_t &size);
  void strip(AttentionOperand &operand, double *factor, double *spread);
  LogicalResult checkScales();

  AttentionMatch match;
  AttentionMasks masks;
  ScoreMaths maths;
  std::string &reason;
};

/// Walks from the softmax to the contractions, over factors, maths, masks and transposes. Other
/// users keep these: products in the kernel are cheaper than scores in memory.
LogicalResult AttentionMatcher::matchScores() {
  match.heads = match.softmax.getType().getDimSize(1);
  SmallVector<Summand> pending = {{match.softmax.getInput(), {}, {0, 1, 2}}};
  while (!pending.empty()) {
    if (failed(matchSummand(pending.pop_back_val(), pending))) {
      return failure();
    }
  }
  return success();
}

/// Walks to the contraction of one summand. Appends summands met on the way to `pending`.
LogicalResult AttentionMatcher::matchSummand(Summand summand, SmallVectorImpl<Summand> &pending) {
  while (true) {
    Operation *producer = summand.value.getDefiningOp();
    if (isNumberTimes(producer)) {
      // A number of each row belongs to the first axis here: queries or keys.
      bool isOfRows = producer->getNumOperands() == 2 &&
                      cast<RankedTensorType>(producer->getOperand(1).getType()).getRank() == 2;
      if (isOfRows && summand.order.front() != 0) {
        summand.factor.keyNumbers.push_back(producer->getOperand(1));
      } else {
        summand.factor = summand.factor.times(producer);
      }
      summand.value = producer->getOperand(0);
    } else if (auto transpose = dyn_cast_if_present<TransposeOp>(producer)) {
      moveThrough(transpose, summand.order);
      summand.value = transpose.getInput();
    } else if (std::optional<MathsPiece> piece = mathsBefore(summand.value)) {
      if (!match.products.empty() || !pending.empty()) {
        return decline("a function is applied to one of several products whose sum the scores are "
                       "(" +
                       describe(producer) + ")");
      }
      if (failed(matchMaths(*piece, summand))) {
        return failure();
      }
    } else if (isa_and_nonnull<SelectOp, AddOp>(producer)) {
      if (failed(matchMasked(producer, summand, pending))) {
        return failure();
      }
    } else if (auto contract = dyn_cast_if_present<ContractOp>(producer)) {
      return matchProduct(contract, summand);
    } else if (!match.products.empty()) {
      return decline("something other than a mask is added to the scores (" +
                     (producer ? describe(producer) : "an argument") + ")");
    } else if (!producer) {
      return decline("the scores are an argument of the function");
    } else {
      return decline("the scores are not a contraction of queries and keys (" + describe(producer) +
                     ")");
    }
  }
}

/// Records a function of the scores and moves to its input. The factors met so far are applied
/// after it.
LogicalResult AttentionMatcher::matchMaths(const MathsPiece &piece, Summand &summand) {
  if (Value number = summand.factor.unknown()) {
    return decline("a factor that only a run knows follows a function of the scores (" +
                   (number.getDefiningOp() ? describe(number.getDefiningOp()) : "an argument") +
                   ")");
  }
  auto factor = static_cast<float>(summand.factor.constant);
  if (!std::isfinite(factor)) {
    return decline("the product of the factors is not finite in f32");
  }
  SmallVector<ScoreStep> steps = piece.steps;
  if (factor != 1) {
    auto last = static_cast<int64_t>(steps.size());
    steps.push_back(ScoreStep::multiply(ScoreTerm::ofValue(last), ScoreTerm::ofConstant(factor)));
  }
  maths.prepend(steps);
  masks.enterMaths();
  summand.value = piece.input;
  summand.factor = {};
  summand.factor.constant = maths.takeFactor();
  return success();
}

/// Records a mask or bias and moves to the scores that it applies to. The factors met so far are
/// applied after it.
LogicalResult AttentionMatcher::matchMasked(Operation *masked, Summand &summand,
                                            SmallVectorImpl<Summand> &pending) {
  bool isInOrder = ArrayRef(summand.order) == ArrayRef(inOrder);
  if (auto select = dyn_cast<SelectOp>(masked)) {
    // The mask's axes are query and key, and the scores must have them in this order.
    if (!isInOrder) {
      return decline("the mask is applied to scores with their axes in another order");
    }
    if (!match.products.empty() || !pending.empty()) {
      return decline("a mask is applied to one of several products whose sum the scores are");
    }
    summand.value = select.getScores();
    return masks.addSelection(select, summand.factor);
  }
  auto add = cast<AddOp>(masked);
  // Scores and bias may be either operand.
  bool isRight = !AttentionMasks::isBias(add.getRhs()) && AttentionMasks::isBias(add.getLhs());
  Value added = isRight ? add.getLhs() : add.getRhs();
  summand.value = isRight ? add.getRhs() : add.getLhs();
  if (AttentionMasks::isBias(added)) {
    if (!isInOrder) {
      return decline("the mask is applied to scores with their axes in another order");
    }
    bool isFirst = masks.getBiases().empty();
    if (failed(masks.addBias(added, summand.factor))) {
      return failure();
    }
    if (isFirst && !masks.getBiases().empty() && !maths.empty()) {
      maths.prepend(ScoreStep::add(ScoreTerm::ofValue(0), ScoreTerm::ofBias()));
    }
    return success();
  }
  if (match.products.size() + pending.size() + 1 == mostProducts) {
    return decline("the scores are a sum of more than " + Twine(mostProducts) + " products");
  }
  bool isOfAllHeads = cast<RankedTensorType>(added.getType()).getRank() == 2;
  if (isOfAllHeads && !isInOrder) {
    return decline("what all heads have is added to scores with their axes in another order");
  }
  pending.push_back(
      {added, summand.factor, isOfAllHeads ? SmallVector<int64_t, 3>{0, 1} : summand.order});
  return success();
}

LogicalResult AttentionMatcher::matchProduct(ContractOp contract, const Summand &summand) {
  StringRef result = contract.getResultAxes();
  char row = result[summand.order.front()];
  char head = summand.order.size() == 3 ? result[summand.order[1]] : allHeads;
  char key = result[summand.order.back()];
  if (key == rowLetter) {
    return decline("the softmax is over the queries, not over the keys");
  }
  if (key != keyLetter || row != rowLetter) {
    return decline("the softmax is not over the keys of a row");
  }
  if (sumsPairs(contract)) {
    return addPairs(contract, summand.factor);
  }
  bool queryFirst = contract.getLhsAxes().contains(rowLetter);
  StringRef queryAxes = queryFirst ? contract.getLhsAxes() : contract.getRhsAxes();
  StringRef keyAxes = queryFirst ? contract.getRhsAxes() : contract.getLhsAxes();
  Value query = queryFirst ? contract.getLhs() : contract.getRhs();
  Value keys = queryFirst ? contract.getRhs() : contract.getLhs();
  ScoreProduct product;
  product.contract = contract;
  product.factor = summand.factor;
  char querySize = 0;
  char keySize = 0;
  int64_t size = 0;
  if (failed(
          matchOperand(query, queryAxes, row, head, "queries", product.query, querySize, size)) ||
      failed(matchOperand(keys, keyAxes, key, head, "keys", product.key, keySize, product.size))) {
    return failure();
  }
  if (querySize != keySize) {
    return decline("queries and keys are not contracted over one axis");
  }
  product.key.numbers = std::move(product.factor.keyNumbers);
  product.factor.keyNumbers.clear();
  match.products.push_back(product);
  return success();
}

/// Returns a sum over pairs as a product: all heads share its rows and keys.
static FailureOr<ScoreProduct> productOf(ContractOp contract, int64_t heads, std::string &reason) {
  FailureOr<PairScores> pairs = matchPairs(contract, reason);
  if (failed(pairs)) {
    return failure();
  }
  ScoreProduct product;
  product.contract = contract;
  product.size = pairs->width();
  product.query = {pairs->sum.getQuery(), {0, 1}, heads, {}};
  product.key = {pairs->sum.getKey(), {0, 1}, heads, {}};
  product.pairs = std::move(*pairs);
  return product;
}

LogicalResult AttentionMatcher::addPairs(ContractOp contract, const ScoreFactor &factor) {
  FailureOr<ScoreProduct> product = productOf(contract, match.heads, reason);
  if (failed(product)) {
    return failure();
  }
  product->factor = factor;
  product->key.numbers = std::move(product->factor.keyNumbers);
  product->factor.keyNumbers.clear();
  match.products.push_back(std::move(*product));
  return success();
}

/// Matches an operand whose axes are row, head and one other, the head size. Without a head axis,
/// or with one of size 1, all heads share the operand.
LogicalResult AttentionMatcher::matchOperand(Value tensor, StringRef axes, char row, char head,
                                             StringRef what, AttentionOperand &operand,
                                             char &sizeLetter, int64_t &size) {
  auto type = cast<RankedTensorType>(tensor.getType());
  size_t rowAxis = axes.find(row);
  size_t headAxis = axes.find(head);
  if (headAxis == StringRef::npos) {
    operand.share = match.heads;
    // One of three axes may be a head axis of size 1, shared by all heads.
    for (size_t axis = 0; axes.size() == 3 && axis < axes.size(); ++axis) {
      headAxis = type.getDimSize(axis) == 1 ? axis : headAxis;
    }
  }
  if (rowAxis == StringRef::npos || axes.size() != (headAxis == StringRef::npos ? 2 : 3)) {
    return decline("the " + what + " are not split into the heads of the scores");
  }
  operand.tensor = tensor;
  operand.order = {int64_t(rowAxis)};
  if (headAxis != StringRef::npos) {
    operand.order.push_back(int64_t(headAxis));
  }
  int64_t sizeAxis = int64_t(axes.size() * (axes.size() - 1) / 2) -
                     std::accumulate(operand.order.begin(), operand.order.end(), int64_t(0));
  operand.order.push_back(sizeAxis);
  sizeLetter = axes[sizeAxis];
  size = type.getDimSize(sizeAxis);
  // Dynamic axes are not sizes, and a letter that occurs twice is not a third axis.
  if (ShapedType::isDynamic(size) || sizeLetter == rowLetter || sizeLetter == keyLetter ||
      sizeLetter == row || sizeLetter == head) {
    return decline("the heads of the " + what + " have no constant size");
  }
  return success();
}

LogicalResult AttentionMatcher::matchSegments() {
  ValueRange segments = match.products.front().contract.getSegments();
  if (!areSameSegments(match.softmax.getKeys(), segments[1])) {
    return decline("the softmax is over the keys of other segments than the scores");
  }
  for (ScoreProduct &product : match.products) {
    if (!llvm::equal(product.contract.getSegments(), segments, areSameSegments)) {
      return decline("the scores are a sum of products of other segments");
    }
  }
  if (failed(masks.checkSegments(segments)) || failed(masks.resolve())) {
    return failure();
  }
  match.visibility = masks.getVisibility();
  match.hidden = masks.getHidden();
  match.biases.assign(masks.getBiases().begin(), masks.getBiases().end());
  match.score.assign(maths.getSteps().begin(), maths.getSteps().end());
  return match.score.size() <= ScoreAttr::mostSteps
             ? success()
             : decline("the function of the scores has more than " + Twine(ScoreAttr::mostSteps) +
                       " steps");
}

LogicalResult AttentionMatcher::matchUses() {
  if (match.softmax.getResult().use_empty()) {
    return decline("nothing uses the probabilities");
  }
  matchUsers();
  return success();
}

/// Walks from the softmax to the contractions with values, over factors and transposes. Uses a
/// worklist, because recursion could be as deep as the program is long.
void AttentionMatcher::matchUsers() {
  SmallVector<Use> pending;
  // Pushes the first user last, so that sums and views are found in program order.
  auto addUsers = [&](Value probabilities, const Order &order, double factor, double spread) {
    SmallVector<Operation *> users = usersOf(probabilities);
    for (Operation *user : llvm::reverse(users)) {
      pending.push_back({user, probabilities, order, factor, spread});
    }
  };
  addUsers(match.softmax.getResult(), inOrder, 1.0, 1.0);
  while (!pending.empty()) {
    const Use use = pending.pop_back_val();
    auto [user, probabilities, order, factor, spread] = use;
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      match.isResult = true;
      continue;
    }
    LogicalResult matched = success();
    if (auto scale = dyn_cast<ScaleOp>(user); scale || isNanGuard(user)) {
      match.views.push_back(user);
      double constant = scale ? scale.getFactor().convertToFloat() : 1.0;
      addUsers(user->getResult(0), order, factor * constant, spread * Factor::of(constant).spread);
    } else if (auto transpose = dyn_cast<TransposeOp>(user)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      match.views.push_back(user);
      addUsers(transpose.getResult(),
               {order[permutation[0]], order[permutation[1]], order[permutation[2]]}, factor,
               spread);
    } else if (auto contract = dyn_cast<ContractOp>(user)) {
      matched = matchSum(contract, use);
    } else {
      matched =
          decline("the probabilities are not contracted with values (" + describe(user) + ")");
    }
    if (failed(matched) && match.others.empty()) {
      match.others = reason;
    }
  }
}

LogicalResult AttentionMatcher::matchSum(ContractOp contract, const Use &use) {
  bool first = contract.getLhs() == use.probabilities;
  StringRef axes = first ? contract.getLhsAxes() : contract.getRhsAxes();
  StringRef valueAxes = first ? contract.getRhsAxes() : contract.getLhsAxes();
  Value values = first ? contract.getRhs() : contract.getLhs();
  std::array<char, 3> letters = {};
  for (size_t axis = 0; axis < letters.size(); ++axis) {
    letters[use.order[axis]] = axes[axis];
  }
  auto [row, head, key] = letters;
  StringRef result = contract.getResultAxes();
  if (row != rowLetter || key != keyLetter || result.contains(key)) {
    return decline("the contraction with values is not over the keys");
  }
  WeightedSum sum;
  sum.contract = contract;
  sum.resultScale = use.factor;
  sum.spread = use.spread;
  char size = 0;
  if (failed(
          matchOperand(values, valueAxes, key, head, "values", sum.value, size, sum.valueSize))) {
    return failure();
  }
  sum.sumsHeads = !result.contains(head);
  if (!result.contains(row) || !result.contains(size)) {
    return decline("the contraction with values sums over more than the keys");
  }
  if (result.size() != (sum.sumsHeads ? 2 : 3)) {
    return decline("the contraction with values has other axes than row, head and size");
  }
  for (char axis : result) {
    int64_t last = sum.sumsHeads ? 1 : 2;
    sum.resultOrder.push_back(axis == row ? 0 : axis == size ? last : 1);
  }
  if (!match.products.empty() &&
      !llvm::equal(contract.getSegments(), match.products.front().contract.getSegments(),
                   areSameSegments)) {
    return decline("the contraction with values is over other segments than the scores");
  }
  if (match.softmax) {
    matchMap(sum);
  }
  match.sums.push_back(sum);
  return success();
}

/// Looks for a weight that maps, for each head, a sum of rows that all heads share. Mapping the
/// rows first makes that a separate product, and the kernel sums only one head's columns.
void AttentionMatcher::matchMap(WeightedSum &sum) {
  Value rows = sum.contract.getResult();
  auto outer = rows.hasOneUse() ? dyn_cast<ContractOp>(*rows.user_begin()) : ContractOp();
  if (!outer || sum.sumsHeads || sum.value.order.size() != 2 || cachedSource(sum.value.tensor)) {
    return;
  }
  bool first = outer.getLhs() == rows;
  StringRef axes = first ? outer.getLhsAxes() : outer.getRhsAxes();
  WeightView view = viewWeight(first ? outer.getRhs() : outer.getLhs(),
                               first ? outer.getRhsAxes() : outer.getLhsAxes());
  std::array<char, 3> letters = {};
  for (auto [axis, place] : llvm::enumerate(sum.resultOrder)) {
    letters[place] = axes[axis];
  }
  auto [row, head, summed] = letters;
  StringRef result = outer.getResultAxes();
  if (!view.weight || view.axes.size() != 3 || result.size() != 3 || !result.contains(row) ||
      !result.contains(head) || result.contains(summed)) {
    return;
  }
  for (auto [axis, letter] : llvm::enumerate(view.axes)) {
    int64_t place = letter == head ? 0 : letter == summed ? 2 : 1;
    if (place == 1 && !result.contains(letter)) {
      return;
    }
    sum.mapOrder[place] = int64_t(axis);
  }
  bool areAll = sum.mapOrder[0] + sum.mapOrder[1] + sum.mapOrder[2] == 3 &&
                StringRef(view.axes).contains(head) && StringRef(view.axes).contains(summed);
  // The made or summed axis is last; axes between are not heads.
  if (!areAll || sum.mapOrder[0] == 2) {
    return;
  }
  sum.map = view.weight;
  sum.contract = outer;
  sum.valueSize = view.weight.getType().getDimSize(sum.mapOrder[1]);
  sum.value.share = 1;
  for (auto [axis, letter] : llvm::enumerate(result)) {
    sum.resultOrder[axis] = letter == row ? 0 : letter == head ? 1 : 2;
  }
}

/// Walks from a contraction's operand towards its rows, over factors too if `factor` is given.
/// Operations with other users remain.
void AttentionMatcher::strip(AttentionOperand &operand, double *factor, double *spread) {
  while (Operation *producer = operand.tensor.getDefiningOp()) {
    bool isInOrder = ArrayRef(operand.order) == ArrayRef(inOrder);
    if (auto scale = dyn_cast<ScaleOp>(producer); scale && factor) {
      *factor *= scale.getFactor().convertToFloat();
      *spread *= Factor::of(scale.getFactor().convertToFloat()).spread;
      operand.tensor = scale.getInput();
    } else if (auto transpose = dyn_cast<TransposeOp>(producer)) {
      moveThrough(transpose, operand.order);
      operand.tensor = transpose.getInput();
    } else if (auto split = dyn_cast<SplitHeadsOp>(producer); split && isInOrder) {
      operand.tensor = split.getInput();
      operand.order = {0, 1};
    } else if (auto repeat = dyn_cast<RepeatHeadsOp>(producer); repeat && isInOrder) {
      operand.share *= repeat.getType().getDimSize(1) / repeat.getInput().getType().getDimSize(1);
      operand.tensor = repeat.getInput();
    } else {
      return;
    }
  }
}

LogicalResult AttentionMatcher::checkScales() {
  bool isFinite = true;
  for (const ScoreProduct &product : match.products) {
    auto scale = static_cast<float>(product.factor.constant);
    if (scale == 0.0F) {
      return decline("the scale is zero");
    }
    isFinite &= std::isfinite(scale);
  }
  for (const WeightedSum &sum : match.sums) {
    isFinite &= std::isfinite(static_cast<float>(sum.resultScale));
  }
  return isFinite ? success() : decline("the product of the factors is not finite in f32");
}

} // namespace

FailureOr<AttentionMatch> matchPairScores(ContractOp contract, std::string &reason) {
  StringRef axes = contract.getResultAxes();
  if (axes.size() != 3 || axes.front() != rowLetter || axes.back() != keyLetter) {
    reason = "the scores of pairs have their axes in another order than row, head and key";
    return failure();
  }
  AttentionMatch match;
  match.heads = contract.getType().getDimSize(1);
  FailureOr<ScoreProduct> product = productOf(contract, match.heads, reason);
  if (failed(product)) {
    return failure();
  }
  match.products.push_back(std::move(*product));
  return match;
}

FailureOr<AttentionMatch> matchWeightedSum(ContractOp contract, std::string &reason) {
  Value weights = changedWeights(contract);
  if (!areOfRowsFirst(weights)) {
    reason = "its weights were turned, or more than 64 operations make them";
    return failure();
  }
  return AttentionMatcher(SoftmaxOp(), reason).runAlone(contract, weights);
}

FailureOr<AttentionMatch> matchAttention(SoftmaxOp softmax, std::string &reason) {
  return AttentionMatcher(softmax, reason).run();
}

} // namespace heddle
