// SPDX-License-Identifier: Apache-2.0
///
/// A mask is known when it is a mask operation; a bias when it is one by distance. Causal masks of
/// one attention hide the same keys, so that together they write one number over the scores of
/// those, or add one to them.
#include "compiler/Model/Attention/AttentionMasks.h"

#include "compiler/Remarks/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

// A number that is no larger hides as minus infinity does: only a row whose scores are 2^127 apart,
// half of what f32 has, or all at its very end, could tell them apart.
static constexpr double hides = -HiddenAttr::largestNumber;

// Masks and biases by distance that one attention may have: more are no model's.
static constexpr size_t mostBiases = 64;

// Columns that the narrower of two tables is widened by. Its ends are repeated by an expression
// that takes as many steps to evaluate.
static constexpr int64_t mostWidened = 4096;

/// A constant, or one number for all of the operand or for each row of it, times operand 0.
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

FailureOr<bool> AttentionMasks::addMask(Value mask) {
  auto known = mask.getDefiningOp<MaskOp>();
  if (!known) {
    return decline("the mask is neither 'all' nor 'causal' (" + describeProducer(mask) + ")");
  }
  masks.push_back(known);
  // A mask of all keys hides none, whatever is done to it.
  return known.getVisibility() == Visibility::Causal;
}

LogicalResult AttentionMasks::addNumber(double hiding, const ScoreFactor &after) {
  if (isWritten) {
    return success();
  }
  if (!after.numbers.empty()) {
    return decline("a factor follows the mask that only a run knows (" +
                   describeProducer(after.numbers.back()) + "): it may hide keys or prefer them");
  }
  visibility = Visibility::Causal;
  number += hiding * after.constant;
  // Minus infinity by a factor that is not positive; or what is past f32.
  return number < -hides
             ? success()
             : decline("a factor of " + printNumber(after.constant) + " follows the mask");
}

LogicalResult AttentionMasks::addSelection(SelectOp select, const ScoreFactor &after) {
  FailureOr<bool> isCausal = addMask(select.getMask());
  if (failed(isCausal) || !*isCausal) {
    return isCausal;
  }
  if (failed(addNumber(select.getHidden().convertToFloat(), after))) {
    return failure();
  }
  biasesAfter = isWritten ? biasesAfter : biases.size();
  isWritten = true;
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
      FailureOr<bool> isCausal = addMask(masked.getMask());
      isAdded = failed(isCausal) || !*isCausal
                    ? LogicalResult(isCausal)
                    : addNumber(masked.getHidden().convertToFloat(), factor);
    } else if (auto distances = dyn_cast<RelativeBiasOp>(producer)) {
      isAdded = addDistances(distances, factor);
    } else if (isNumberTimes(producer)) {
      pending.push_back({producer->getOperand(0), factor.times(producer)});
    } else {
      // In the order of the program.
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
  for (Value number : after.numbers) {
    if (!number.getDefiningOp<WeightOp>()) {
      return decline("a factor of each row follows the bias by distance (" +
                     describeProducer(number) + "), which is one table for all rows");
    }
  }
  this->distances.push_back(distances);
  biases.push_back({distances.getTableAttr(), after});
  return success();
}

LogicalResult AttentionMasks::resolve() {
  if (!distances.empty()) {
    auto [least, most] = std::minmax_element(distances.begin(), distances.end(),
                                             [](RelativeBiasOp left, RelativeBiasOp right) {
                                               return columnsOf(left) < columnsOf(right);
                                             });
    if (columnsOf(*most) - columnsOf(*least) > mostWidened) {
      return decline("two tables of distances have " + Twine(columnsOf(*least)) + " and " +
                     Twine(columnsOf(*most)) + " columns, expected at most " + Twine(mostWidened) +
                     " more");
    }
  }
  if (visibility == Visibility::All || number <= hides) {
    return success();
  }
  auto rounded = static_cast<float>(number);
  if (!isWritten && rounded == 0.0F) {
    visibility = Visibility::All;
    return success();
  }
  if (isWritten && biasesAfter > 0 && biasesAfter < biases.size()) {
    return decline("the mask writes " + printNumber(number) +
                   " between biases by distance, of which the kernel has one table");
  }
  HiddenKind kind = !isWritten        ? HiddenKind::Added
                    : biasesAfter > 0 ? HiddenKind::Product
                                      : HiddenKind::Score;
  // The fused operation leaves such a bias out: a number that all keys of a head have.
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
