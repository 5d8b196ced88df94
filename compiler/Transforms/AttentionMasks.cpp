// SPDX-License-Identifier: Apache-2.0
///
/// A mask is known when it is a mask operation; a bias when it is one by distance. Causal masks of
/// one attention hide the same keys, so that together they write one number over the scores of
/// those, or add one to them.
#include "compiler/Transforms/AttentionMasks.h"

#include "compiler/Report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

// A number that is no larger hides as minus infinity does: only a row whose scores are 2^127 apart,
// half of what f32 has, or all at its very end, could tell them apart.
static constexpr double hides = -0x1p127;

static std::string describeProducer(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer ? describe(producer) : "an argument";
}

static int64_t columnsOf(RelativeBiasOp bias) {
  auto table = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(bias, bias.getTableAttr());
  return table.getTensorType().getDimSize(1);
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

FailureOr<bool> AttentionMasks::addMask(Value mask) {
  auto known = mask.getDefiningOp<MaskOp>();
  if (!known) {
    return decline("the mask is neither 'all' nor 'causal' (" + describeProducer(mask) + ")");
  }
  masks.push_back(known);
  // A mask of all keys hides none, whatever is done to it.
  return known.getVisibility() == Visibility::Causal;
}

LogicalResult AttentionMasks::addNumber(double hiding, double after) {
  if (isWritten) {
    return success();
  }
  visibility = Visibility::Causal;
  number += hiding * after;
  // Minus infinity by a factor that is not positive; or what is past f32.
  return number < -hides ? success()
                         : decline("a factor of " + printNumber(after) + " follows the mask");
}

LogicalResult AttentionMasks::addSelection(SelectOp select, double after) {
  FailureOr<bool> isCausal = addMask(select.getMask());
  if (failed(isCausal) || !*isCausal) {
    return isCausal;
  }
  if (failed(addNumber(select.getHidden().convertToFloat(), after))) {
    return failure();
  }
  isBiasAfter |= !isWritten && bias;
  isWritten = true;
  return success();
}

LogicalResult AttentionMasks::addBias(Value added, double after) {
  if (auto masked = added.getDefiningOp<MaskBiasOp>()) {
    FailureOr<bool> isCausal = addMask(masked.getMask());
    return failed(isCausal) || !*isCausal ? LogicalResult(isCausal)
                                          : addNumber(masked.getHidden().convertToFloat(), after);
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

LogicalResult AttentionMasks::resolve() {
  if (visibility == Visibility::All || number <= hides) {
    return success();
  }
  auto rounded = static_cast<float>(number);
  if (!isWritten && rounded == 0.0F) {
    visibility = Visibility::All;
    return success();
  }
  HiddenKind kind = !isWritten    ? HiddenKind::Added
                    : isBiasAfter ? HiddenKind::Product
                                  : HiddenKind::Score;
  // The fused operation leaves such a bias out: a number that all keys of a head have.
  if (kind == HiddenKind::Score && bias && columnsOf(bias) == 1) {
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
  if (bias && isOther(bias)) {
    return decline("the bias by distance is that of other segments than the scores");
  }
  return success();
}

} // namespace heddle
