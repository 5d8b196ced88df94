// SPDX-License-Identifier: Apache-2.0
///
/// A mask is known when it is a mask operation and what it hides stays hidden; a bias when it is
/// one by distance.
#include "compiler/Transforms/AttentionMasks.h"

#include "compiler/Report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

// A key is hidden when exp(hidden - max) is zero in f32, that is for differences above 104; the
// rest is room for what the scores of one row may differ by. -1e4 / sqrt(head size) satisfies it.
static constexpr double hides = -256.0;

static std::string describeProducer(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer ? describe(producer) : "an argument";
}

bool areSameSegments(Value left, Value right) {
  auto leftHistory = left.getDefiningOp<HistoryOp>();
  auto rightHistory = right.getDefiningOp<HistoryOp>();
  return left == right ||
         (leftHistory && rightHistory && leftHistory.getRows() == rightHistory.getRows());
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

LogicalResult AttentionMasks::addSelection(SelectOp select, double after) {
  return addMask(select.getMask(), select.getHidden().convertToFloat(), after);
}

LogicalResult AttentionMasks::addBias(Value added, double after) {
  if (auto masked = added.getDefiningOp<MaskBiasOp>()) {
    return addMask(masked.getMask(), masked.getHidden().convertToFloat(), after);
  }
  if (auto scale = added.getDefiningOp<ScaleOp>()) {
    return addBias(scale.getInput(), after * scale.getFactor().convertToFloat());
  }
  if (auto add = added.getDefiningOp<AddOp>()) {
    return success(succeeded(addBias(add.getLhs(), after)) &&
                   succeeded(addBias(add.getRhs(), after)));
  }
  if (auto distances = added.getDefiningOp<RelativeBiasOp>()) {
    return addDistances(distances, after);
  }
  return decline("something other than a mask is added to the scores (" + describeProducer(added) +
                 ")");
}

LogicalResult AttentionMasks::addDistances(RelativeBiasOp distances, double after) {
  if (bias) {
    return decline("two biases by distance are added to the scores");
  }
  // The fused operation adds it last: the table would have to be multiplied.
  if (after != 1.0) {
    return decline("a factor of " + printNumber(after) + " follows the bias by distance");
  }
  bias = distances;
  return success();
}

LogicalResult AttentionMasks::addMask(Value mask, double hidden, double after) {
  auto known = mask.getDefiningOp<MaskOp>();
  if (!known) {
    return decline("the mask is neither 'all' nor 'causal' (" + describeProducer(mask) + ")");
  }
  masks.push_back(known);
  // A mask of all keys hides none, whatever is done to it.
  if (known.getVisibility() == Visibility::All) {
    return success();
  }
  if (!(after > 0.0)) {
    return decline("a factor of " + printNumber(after) + " follows the mask");
  }
  if (!(hidden * after <= hides)) {
    return decline("the factors after the mask leave " + printNumber(hidden * after) +
                   ", which hides no key");
  }
  visibility = Visibility::Causal;
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
  if (bias && isOther(bias)) {
    return decline("the bias by distance is that of other segments than the scores");
  }
  return success();
}

} // namespace heddle
