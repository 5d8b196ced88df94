// SPDX-License-Identifier: Apache-2.0
///
/// Recognises mask operations as masks, and biases by distance as biases. Masks of one attention
/// that hide the same keys are combined: they replace their scores by one number, or add one. Masks
/// that hide different keys are combined by the intersection of their visible intervals.
#include "compiler/Model/Attention/AttentionMasks.h"

#include "compiler/Remarks/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

// A number this low hides a key as minus infinity does: only a row whose scores differ by 2^127,
// half of f32's range, or all lie at the end of the range, could tell them apart.
static constexpr double hides = -HiddenAttr::largestNumber;

// The most masks and biases by distance of one attention; no model has more.
static constexpr size_t mostBiases = 64;

// The most columns by which the narrower of two tables is widened. An expression repeats its end
// columns, in as many evaluation steps.
static constexpr int64_t mostWidened = 4096;

/// Returns whether an operation multiplies operand 0 by a constant, or by one number for the whole
/// operand or for each row.
bool isNumberTimes(Operation *op) {
  auto multiply = dyn_cast_if_present<MultiplyOp>(op);
  return isa_and_nonnull<ScaleOp>(op) || (multiply && multiply.hasScalarRhs());
}

ScoreFactor ScoreFactor::times(Operation *op) const {
  ScoreFactor product = *this;
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    product.constant *= scale.getFactor().convertToFloat();
  } else {
    product.numbers.push_back(cast<MultiplyOp>(op).getRhs());
  }
  return product;
}

static std::string describeProducer(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer ? describe(producer) : "an argument";
}

static int64_t columnsOf(RelativeBiasOp bias) {
  auto table = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(bias, bias.getTableAttr());
  return table.getTensorType().getDimSize(1);
}

std::string printNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

LogicalResult AttentionMasks::decline(const Twine &text) {
  reason = text.str();
  return failure();
}

FailureOr<AttentionMasks::HiddenKeys *> AttentionMasks::addMask(Value mask) {
  auto known = mask.getDefiningOp<MaskOp>();
  if (!known) {
    return decline("the mask is no predicate of positions (" + describeProducer(mask) + ")");
  }
  masks.push_back(known);
  Visibility seen = known.getVisibility().getValue();
  // A mask of all keys has no effect, whatever its number.
  if (seen.isAll()) {
    return nullptr;
  }
  // Here the number that hides a key is an ordinary score.
  if (pieces > 0) {
    return decline("a mask is applied before a function of the scores, by which the keys that it "
                   "hides would have weights");
  }
  auto keys = llvm::find_if(hiddenKeys, [&](const HiddenKeys &each) { return each.seen == seen; });
  return keys == hiddenKeys.end() ? &hiddenKeys.emplace_back(HiddenKeys{seen}) : keys;
}

LogicalResult AttentionMasks::addNumber(HiddenKeys &keys, double hiding, const ScoreFactor &after) {
  if (keys.isWritten) {
    return success();
  }
  if (Value number = after.unknown()) {
    return decline("a factor follows the mask that only a run knows (" + describeProducer(number) +
                   "): it may hide keys or prefer them");
  }
  keys.number += hiding * after.constant;
  // Fails if minus infinity is multiplied by a factor that is not positive, or if f32 overflows.
  return keys.number < -hides
             ? success()
             : decline("a factor of " + printNumber(after.constant) + " follows the mask");
}

LogicalResult AttentionMasks::addSelection(SelectOp select, const ScoreFactor &after) {
  FailureOr<HiddenKeys *> keys = addMask(select.getMask());
  if (failed(keys) || !*keys) {
    return keys;
  }
  if (failed(addNumber(**keys, select.getHidden().convertToFloat(), after))) {
    return failure();
  }
  (*keys)->biasesAfter = (*keys)->isWritten ? (*keys)->biasesAfter : biases.size();
  (*keys)->isWritten = true;
  return success();
}

bool AttentionMasks::isBias(Value value) {
  SmallVector<Value> pending = {value};
  for (size_t seen = 0; !pending.empty(); ++seen) {
    Operation *producer = pending.pop_back_val().getDefiningOp();
    if (seen == mostBiases) {
      return false;
    }
    if (isa_and_nonnull<AddOp>(producer)) {
      llvm::append_range(pending, producer->getOperands());
    } else if (isNumberTimes(producer)) {
      pending.push_back(producer->getOperand(0));
    } else if (!isa_and_nonnull<MaskBiasOp, RelativeBiasOp>(producer)) {
      return false;
    }
  }
  return true;
}

LogicalResult AttentionMasks::addBias(Value added, const ScoreFactor &after) {
  SmallVector<std::pair<Value, ScoreFactor>> pending = {{added, after}};
  while (!pending.empty()) {
    auto [value, factor] = pending.pop_back_val();
    Operation *producer = value.getDefiningOp();
    LogicalResult isAdded = success();
    if (auto masked = dyn_cast<MaskBiasOp>(producer)) {
      FailureOr<HiddenKeys *> keys = addMask(masked.getMask());
      isAdded = failed(keys) || !*keys
                    ? LogicalResult(keys)
                    : addNumber(**keys, masked.getHidden().convertToFloat(), factor);
    } else if (auto distances = dyn_cast<RelativeBiasOp>(producer)) {
      isAdded = addDistances(distances, factor);
    } else if (isNumberTimes(producer)) {
      pending.push_back({producer->getOperand(0), factor.times(producer)});
    } else {
      // Push them in reverse, to visit them in program order.
      auto add = cast<AddOp>(producer);
      pending.push_back({add.getRhs(), factor});
      pending.push_back({add.getLhs(), factor});
    }
    if (failed(isAdded)) {
      return failure();
    }
  }
  return success();
}

LogicalResult AttentionMasks::addDistances(RelativeBiasOp distances, const ScoreFactor &after) {
  if (!std::isfinite(static_cast<float>(after.constant))) {
    return decline("the product of the factors of a bias by distance is not finite in f32");
  }
  for (Value number : llvm::concat<const Value>(after.numbers, after.keyNumbers)) {
    if (!number.getDefiningOp<WeightOp>()) {
      return decline("a factor of each row follows the bias by distance (" +
                     describeProducer(number) + "), which is one table for all rows");
    }
  }
  if (!biases.empty() && piecesAfterBiases != pieces) {
    return decline("biases by distance are added before and after a function of the scores, of "
                   "which the kernel has one table");
  }
  piecesAfterBiases = pieces;
  this->distances.push_back(distances);
  biases.push_back({distances.getTableAttr(), after});
  return success();
}

LogicalResult AttentionMasks::resolveTables() {
  if (distances.empty()) {
    return success();
  }
  auto [least, most] = std::minmax_element(
      distances.begin(), distances.end(),
      [](RelativeBiasOp left, RelativeBiasOp right) { return columnsOf(left) < columnsOf(right); });
  if (columnsOf(*most) - columnsOf(*least) > mostWidened) {
    return decline("two tables of distances have " + Twine(columnsOf(*least)) + " and " +
                   Twine(columnsOf(*most)) + " columns, expected at most " + Twine(mostWidened) +
                   " more");
  }
  // The fused operation omits a bias of one column, which is only correct if nothing but the
  // softmax follows.
  if (piecesAfterBiases > 0 && columnsOf(*most) == 1) {
    return decline("a bias by distance that has one column is added before a function of the "
                   "scores");
  }
  return success();
}

LogicalResult AttentionMasks::resolve() {
  if (failed(resolveTables())) {
    return failure();
  }
  const HiddenKeys *finite = nullptr;
  for (const HiddenKeys &keys : hiddenKeys) {
    if (keys.number > hides) {
      // Nothing is added to the scores.
      bool isNothing = !keys.isWritten && static_cast<float>(keys.number) == 0.0F;
      if (!isNothing && finite) {
        return decline("two masks, '" + finite->seen.text() + "' and '" + keys.seen.text() +
                       "', hide keys by finite numbers, of which the kernel has one");
      }
      finite = isNothing ? finite : &keys;
      continue;
    }
    std::optional<Visibility> both = visibility.intersect(keys.seen);
    if (!both) {
      return decline("a row sees the keys of two masks, '" + visibility.text() + "' and '" +
                     keys.seen.text() +
                     "', of which neither ends where the other does in all rows");
    }
    visibility = *both;
  }
  if (!finite) {
    return success();
  }
  if (!finite->seen.isCausal() || !visibility.isAll()) {
    return decline("the mask '" + finite->seen.text() + "' hides keys by " +
                   printNumber(finite->number) + ", which the kernel knows of a causal mask alone");
  }
  return resolveFinite(*finite);
}

/// Resolves a causal mask whose hidden keys have finite scores.
LogicalResult AttentionMasks::resolveFinite(const HiddenKeys &keys) {
  visibility = Visibility::causal();
  auto rounded = static_cast<float>(keys.number);
  if (keys.isWritten && keys.biasesAfter > 0 && keys.biasesAfter < biases.size()) {
    return decline("the mask writes " + printNumber(keys.number) +
                   " between biases by distance, of which the kernel has one table");
  }
  HiddenKind kind = !keys.isWritten        ? HiddenKind::Added
                    : keys.biasesAfter > 0 ? HiddenKind::Product
                                           : HiddenKind::Score;
  // The fused operation omits a bias of one column: all keys of a head have the same number.
  auto hasOneColumn = [](RelativeBiasOp bias) { return columnsOf(bias) == 1; };
  if (kind == HiddenKind::Score && !distances.empty() && llvm::all_of(distances, hasOneColumn)) {
    return decline("the mask writes over a bias by distance that has one column");
  }
  MLIRContext *context = masks.front().getContext();
  hidden = HiddenAttr::get(context, kind, FloatAttr::get(Float32Type::get(context), rounded));
  return success();
}

LogicalResult AttentionMasks::checkSegments(ValueRange segments) {
  auto isOther = [&](auto op) {
    return !areSameSegments(op.getQueries(), segments[0]) ||
           !areSameSegments(op.getKeys(), segments[1]);
  };
  for (MaskOp mask : masks) {
    if (isOther(mask)) {
      return decline("the mask is that of other segments than the scores");
    }
  }
  if (llvm::any_of(distances, isOther)) {
    return decline("the bias by distance is that of other segments than the scores");
  }
  return success();
}

} // namespace heddle
