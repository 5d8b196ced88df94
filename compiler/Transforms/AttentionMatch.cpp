// SPDX-License-Identifier: Apache-2.0
///
/// From a softmax forwards to the contractions with values, backwards to that of queries and keys.
#include "compiler/Transforms/AttentionMatch.h"

#include "compiler/Report/Report.h"
#include "compiler/Transforms/AttentionMasks.h"

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
// The letters with a meaning of their own in a specification: rows of queries, keys.
constexpr char rowLetter = 't';
constexpr char keyLetter = 'k';

/// `order` of a transpose's result, seen on its input.
Order through(TransposeOp transpose, const Order &order) {
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  return {permutation[order[0]], permutation[order[1]], permutation[order[2]]};
}

/// The scores of a sum, and what is added to them: a bias by distance may stand on either side.
std::pair<Value, Value> summandsOf(AddOp add) {
  if (add.getLhs().getDefiningOp<RelativeBiasOp>()) {
    return {add.getRhs(), add.getLhs()};
  }
  return {add.getLhs(), add.getRhs()};
}

/// The users of a value in the order in which the program was written, each once.
SmallVector<Operation *> usersOf(Value value) {
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : value.getUsers()) {
    users.insert(user);
  }
  // Users are listed last first.
  return llvm::to_vector(llvm::reverse(users));
}

class AttentionMatcher {
public:
  AttentionMatcher(SoftmaxOp softmax, std::string &reason) : masks(reason), reason(reason) {
    match.softmax = softmax;
  }

  FailureOr<AttentionMatch> run() {
    if (failed(matchScores()) || failed(matchSegments()) || failed(matchUses())) {
      return failure();
    }
    stripFactors(match.query, match.scale);
    stripFactors(match.key, match.scale);
    for (WeightedSum &sum : match.sums) {
      stripFactors(sum.value, sum.resultScale);
    }
    if (failed(checkScales())) {
      return failure();
    }
    return match;
  }

private:
  LogicalResult decline(const Twine &text) {
    reason = text.str();
    return failure();
  }

  LogicalResult matchScores();
  LogicalResult matchMasked(Operation *masked, const Order &order);
  LogicalResult matchScoreAxes(const Order &order);
  LogicalResult matchSegments();
  LogicalResult matchUses();
  void matchUsers(Value probabilities, const Order &order, double factor);
  LogicalResult matchSum(ContractOp contract, Value probabilities, const Order &order,
                         double factor);
  LogicalResult matchOperand(Value tensor, StringRef axes, char row, char head, StringRef what,
                             AttentionOperand &operand, char &sizeLetter, int64_t &size);
  void stripFactors(AttentionOperand &operand, double &factor);
  LogicalResult checkScales();

  AttentionMatch match;
  AttentionMasks masks;
  std::string &reason;
};

/// Walks from the softmax to the contraction, over factors, masks and transposes. Other users of
/// what is passed over keep it: products in the kernel cost less than scores in memory.
LogicalResult AttentionMatcher::matchScores() {
  Value current = match.softmax.getInput();
  Order order = inOrder;
  while (true) {
    Operation *producer = current.getDefiningOp();
    if (!producer) {
      return decline("the scores are an argument of the function");
    }
    if (auto scale = dyn_cast<ScaleOp>(producer)) {
      match.scale *= scale.getFactor().convertToFloat();
      current = scale.getInput();
    } else if (auto transpose = dyn_cast<TransposeOp>(producer)) {
      order = through(transpose, order);
      current = transpose.getInput();
    } else if (isa<SelectOp, AddOp>(producer)) {
      if (failed(matchMasked(producer, order))) {
        return failure();
      }
      current = isa<SelectOp>(producer) ? cast<SelectOp>(producer).getScores()
                                        : summandsOf(cast<AddOp>(producer)).first;
    } else if (auto contract = dyn_cast<ContractOp>(producer)) {
      match.scores = contract;
      return matchScoreAxes(order);
    } else {
      return decline("the scores are not a contraction of queries and keys (" + describe(producer) +
                     ")");
    }
  }
}

/// The factors met so far are those that follow the mask.
LogicalResult AttentionMatcher::matchMasked(Operation *masked, const Order &order) {
  // The mask's axes are query and key: where it is applied, the scores must have them so.
  if (order != inOrder) {
    return decline("the mask is applied to scores with their axes in another order");
  }
  if (auto select = dyn_cast<SelectOp>(masked)) {
    return masks.addSelection(select, match.scale);
  }
  return masks.addBias(summandsOf(cast<AddOp>(masked)).second, match.scale);
}

LogicalResult AttentionMatcher::matchScoreAxes(const Order &order) {
  ContractOp contract = match.scores;
  StringRef result = contract.getResultAxes();
  char row = result[order[0]];
  char head = result[order[1]];
  char key = result[order[2]];
  if (key == rowLetter) {
    return decline("the softmax is over the queries, not over the keys");
  }
  if (key != keyLetter || row != rowLetter) {
    return decline("the softmax is not over the keys of a row");
  }
  match.heads = match.softmax.getType().getDimSize(1);
  bool queryFirst = contract.getLhsAxes().contains(rowLetter);
  StringRef queryAxes = queryFirst ? contract.getLhsAxes() : contract.getRhsAxes();
  StringRef keyAxes = queryFirst ? contract.getRhsAxes() : contract.getLhsAxes();
  Value query = queryFirst ? contract.getLhs() : contract.getRhs();
  Value keys = queryFirst ? contract.getRhs() : contract.getLhs();
  char querySize = 0;
  char keySize = 0;
  int64_t size = 0;
  if (failed(matchOperand(query, queryAxes, row, head, "queries", match.query, querySize, size)) ||
      failed(matchOperand(keys, keyAxes, key, head, "keys", match.key, keySize, match.keySize))) {
    return failure();
  }
  if (querySize != keySize) {
    return decline("queries and keys are not contracted over one axis");
  }
  return success();
}

/// An operand with exactly the axes row, head and one other, the size of a head. Without heads, or
/// with an axis of one in their place, it is the same for all of them.
LogicalResult AttentionMatcher::matchOperand(Value tensor, StringRef axes, char row, char head,
                                             StringRef what, AttentionOperand &operand,
                                             char &sizeLetter, int64_t &size) {
  auto type = cast<RankedTensorType>(tensor.getType());
  size_t rowAxis = axes.find(row);
  size_t headAxis = axes.find(head);
  if (headAxis == StringRef::npos) {
    operand.share = match.heads;
    // One of three axes may stand for the head that all have.
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
  // Rows of queries or of keys are no size; a letter that is there twice is no third axis.
  if (ShapedType::isDynamic(size) || sizeLetter == rowLetter || sizeLetter == keyLetter ||
      sizeLetter == row || sizeLetter == head) {
    return decline("the heads of the " + what + " have no constant size");
  }
  return success();
}

LogicalResult AttentionMatcher::matchSegments() {
  ValueRange segments = match.scores.getSegments();
  if (!areSameSegments(match.softmax.getKeys(), segments[1])) {
    return decline("the softmax is over the keys of other segments than the scores");
  }
  if (failed(masks.checkSegments(segments)) || failed(masks.resolve())) {
    return failure();
  }
  match.visibility = masks.getVisibility();
  match.hidden = masks.getHidden();
  match.bias = masks.getBias();
  return success();
}

LogicalResult AttentionMatcher::matchUses() {
  if (match.softmax.getResult().use_empty()) {
    return decline("nothing uses the probabilities");
  }
  matchUsers(match.softmax.getResult(), inOrder, 1.0);
  return success();
}

/// Walks from the softmax to the contractions with values, over factors and transposes. Axis i of
/// `probabilities` is axis `order[i]` of the softmax.
void AttentionMatcher::matchUsers(Value probabilities, const Order &order, double factor) {
  for (Operation *user : usersOf(probabilities)) {
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      match.isResult = true;
      continue;
    }
    LogicalResult matched = success();
    if (auto scale = dyn_cast<ScaleOp>(user)) {
      match.views.push_back(user);
      matchUsers(scale.getResult(), order, factor * scale.getFactor().convertToFloat());
    } else if (auto transpose = dyn_cast<TransposeOp>(user)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      match.views.push_back(user);
      matchUsers(transpose.getResult(),
                 {order[permutation[0]], order[permutation[1]], order[permutation[2]]}, factor);
    } else if (auto contract = dyn_cast<ContractOp>(user)) {
      matched = matchSum(contract, probabilities, order, factor);
    } else {
      matched =
          decline("the probabilities are not contracted with values (" + describe(user) + ")");
    }
    if (failed(matched) && match.others.empty()) {
      match.others = reason;
    }
  }
}

LogicalResult AttentionMatcher::matchSum(ContractOp contract, Value probabilities,
                                         const Order &order, double factor) {
  bool first = contract.getLhs() == probabilities;
  StringRef axes = first ? contract.getLhsAxes() : contract.getRhsAxes();
  StringRef valueAxes = first ? contract.getRhsAxes() : contract.getLhsAxes();
  Value values = first ? contract.getRhs() : contract.getLhs();
  std::array<char, 3> letters = {};
  for (size_t axis = 0; axis < letters.size(); ++axis) {
    letters[order[axis]] = axes[axis];
  }
  auto [row, head, key] = letters;
  StringRef result = contract.getResultAxes();
  if (row != rowLetter || key != keyLetter || result.contains(key)) {
    return decline("the contraction with values is not over the keys");
  }
  WeightedSum sum;
  sum.contract = contract;
  sum.resultScale = factor;
  char size = 0;
  if (failed(
          matchOperand(values, valueAxes, key, head, "values", sum.value, size, sum.valueSize))) {
    return failure();
  }
  if (!result.contains(head)) {
    return decline("the contraction with values sums over the heads");
  }
  if (!result.contains(row) || !result.contains(size)) {
    return decline("the contraction with values sums over more than the keys");
  }
  if (result.size() != sum.resultOrder.size()) {
    return decline("the contraction with values has other axes than row, head and size");
  }
  for (size_t axis = 0; axis < sum.resultOrder.size(); ++axis) {
    sum.resultOrder[axis] = result[axis] == row ? 0 : result[axis] == head ? 1 : 2;
  }
  if (!llvm::equal(contract.getSegments(), match.scores.getSegments(), areSameSegments)) {
    return decline("the contraction with values is over other segments than the scores");
  }
  match.sums.push_back(sum);
  return success();
}

/// Walks from a contraction's operand towards its rows. Users of what is passed over keep it.
void AttentionMatcher::stripFactors(AttentionOperand &operand, double &factor) {
  while (Operation *producer = operand.tensor.getDefiningOp()) {
    if (auto scale = dyn_cast<ScaleOp>(producer)) {
      factor *= scale.getFactor().convertToFloat();
      operand.tensor = scale.getInput();
    } else if (auto transpose = dyn_cast<TransposeOp>(producer)) {
      for (int64_t &axis : operand.order) {
        axis = transpose.getPermutation()[axis];
      }
      operand.tensor = transpose.getInput();
    } else if (auto split = dyn_cast<SplitHeadsOp>(producer);
               split && ArrayRef(operand.order) == ArrayRef(inOrder)) {
      operand.tensor = split.getInput();
      operand.order = {0, 1};
    } else if (auto repeat = dyn_cast<RepeatHeadsOp>(producer);
               repeat && ArrayRef(operand.order) == ArrayRef(inOrder)) {
      operand.share *= repeat.getType().getDimSize(1) / repeat.getInput().getType().getDimSize(1);
      operand.tensor = repeat.getInput();
    } else {
      return;
    }
  }
}

LogicalResult AttentionMatcher::checkScales() {
  auto scale = static_cast<float>(match.scale);
  if (scale == 0.0F) {
    return decline("the scale is zero");
  }
  bool isFinite = std::isfinite(scale);
  for (const WeightedSum &sum : match.sums) {
    isFinite &= std::isfinite(static_cast<float>(sum.resultScale));
  }
  return isFinite ? success() : decline("the product of the factors is not finite in f32");
}

} // namespace

FailureOr<AttentionMatch> matchAttention(SoftmaxOp softmax, std::string &reason) {
  return AttentionMatcher(softmax, reason).run();
}

} // namespace heddle
