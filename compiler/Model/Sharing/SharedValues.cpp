// SPDX-License-Identifier: Apache-2.0
///
/// Entries are single blocks, so an earlier operation dominates all later ones.
#include "compiler/Model/Sharing/SharedValues.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

static constexpr llvm::StringLiteral nameAttribute = "transformer.name";

bool SharedWeights::areShared() {
  auto isReader = [](Operation *user) {
    return !user->hasTrait<OpTrait::IsTerminator>() && !isa<ScaleOp, TransposeOp>(user);
  };
  bool isRead = existing && llvm::any_of(existing->getUsers(), isReader);
  return attentions.size() > 1 || (isRead && !attentions.empty());
}

Operation *SharedWeights::first() {
  Operation *attention = attentions.front();
  return existing && existing->isBeforeInBlock(attention) ? existing : attention;
}

SharedValues::SharedValues(ModuleOp module, const ValueNumbering &numbering)
    : module(module), numbering(numbering) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (Block &block : entry.getBody()) {
      findRepeated(block);
    }
  }
}

void SharedValues::findRepeated(Block &block) {
  llvm::DenseMap<unsigned, Value> first;
  for (BlockArgument argument : block.getArguments()) {
    first.try_emplace(numbering.numberOf(argument), argument);
  }
  for (Operation &op : block) {
    if (op.getNumResults() != 1) {
      continue;
    }
    auto [place, isNew] = first.try_emplace(numbering.numberOf(op.getResult(0)), op.getResult(0));
    if (!isNew) {
      kept[&op] = place->second;
      if (Operation *keeper = place->second.getDefiningOp()) {
        keepers.insert(keeper);
      }
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      weights[{&block, numbering.weightsOf(attention)}].attentions.push_back(attention);
    } else if (auto existing = dyn_cast<AttentionWeightsOp>(op)) {
      weights[{&block, numbering.numberOf(existing)}].existing = existing;
    }
  }
}

StringAttr SharedValues::keptFor(StringAttr name) const {
  for (const auto &[other, cache] : numbering.caches()) {
    if (numbering.areOneClass(name, other)) {
      return other;
    }
  }
  return name;
}

SharedWeights *SharedValues::weightsFor(AttentionOp attention) {
  auto found = weights.find({attention->getBlock(), numbering.weightsOf(attention)});
  return found != weights.end() && found->second.areShared() ? &found->second : nullptr;
}

SmallVector<Operation *> SharedValues::repeated() const {
  return llvm::map_to_vector(kept, [](const auto &entry) { return entry.first; });
}

// --- Rewriting -------------------------------------------------------------------------------

/// Merges the arguments of one class under the name of the first of the class.
void SharedValues::mergeCaches(func::FuncOp entry) {
  llvm::DenseMap<StringAttr, BlockArgument> arguments;
  llvm::BitVector erased(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments()) {
    StringAttr name = isa<CacheType>(argument.getType()) ? cacheName(argument) : StringAttr();
    if (!name) {
      continue;
    }
    StringAttr first = keptFor(name);
    auto [place, isNew] = arguments.try_emplace(first, argument);
    if (isNew) {
      entry.setArgAttr(argument.getArgNumber(), nameAttribute, first);
    } else if (first != name) {
      argument.replaceAllUsesWith(place->second);
      erased.set(argument.getArgNumber());
    }
  }
  // Only function types with additional state can fail here.
  (void)entry.eraseArguments(erased);
}

void SharedValues::mergeCacheResults(func::FuncOp entry) {
  Operation *end = entry.getBody().back().getTerminator();
  llvm::DenseSet<StringAttr> names;
  llvm::BitVector erased(entry.getNumResults());
  for (auto [number, type] : llvm::enumerate(entry.getResultTypes())) {
    auto name = entry.getResultAttrOfType<StringAttr>(number, nameAttribute);
    if (!isa<CacheType>(type) || !name) {
      continue;
    }
    StringAttr first = keptFor(name);
    entry.setResultAttr(number, nameAttribute, first);
    if (!names.insert(first).second && first != name) {
      erased.set(number);
    }
  }
  end->eraseOperands(erased);
  (void)entry.eraseResults(erased);
}

/// Inserts one operation for the weights before the first attention that uses them.
void SharedValues::computeOnce(SharedWeights &shared) {
  AttentionOp front = shared.attentions.front();
  AttentionWeightsOp once = shared.existing;
  if (!once || front->isBeforeInBlock(once)) {
    OpBuilder builder(front);
    auto type = RankedTensorType::get(
        {ShapedType::kDynamic, int64_t(front.getHeads()), ShapedType::kDynamic},
        front.getType().getElementType());
    once = AttentionWeightsOp::create(
        builder, front.getLoc(), type, front.getQuery(), front.getKey(), front.getQueries(),
        front.getKeys(), front.getLocations(), front.getHeadsAttr(), front.getScaleAttr(),
        front.getVisibilityAttr(), front.getBiasAttr(), front.getHiddenAttr(),
        front.getKeyShareAttr(), front.getScoreAttr(), front.getPairsAttr(),
        front.getPairWeightsAttr(), front.getLocationTapsAttr(), front.getLocationFiltersAttr(),
        front.getLocationWeightsAttr(), /*raw=*/UnitAttr());
    if (shared.existing) {
      shared.existing.getResult().replaceAllUsesWith(once.getResult());
      shared.existing.erase();
    }
  }
  for (AttentionOp attention : shared.attentions) {
    OpBuilder builder(attention);
    Value result =
        AttendOp::create(builder, attention.getLoc(), attention.getType(), once,
                         attention.getValue(), attention.getQueries(), attention.getKeys(),
                         attention.getAttendedKeys(), attention.getValueShareAttr());
    attention.getResult().replaceAllUsesWith(result);
    attention.erase();
  }
}

void SharedValues::rewrite() {
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isExternal()) {
      mergeCaches(entry);
    }
  }
  for (auto [op, value] : kept) {
    op->getResult(0).replaceAllUsesWith(value);
  }
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isExternal()) {
      mergeCacheResults(entry);
    }
  }
  for (auto &[place, shared] : weights) {
    if (shared.areShared()) {
      computeOnce(shared);
    }
  }
  // Erases users first. Operations that only a redundant operation uses may have no equal one
  // before.
  llvm::SetVector<Operation *> others;
  for (auto [op, value] : llvm::reverse(kept)) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !kept.contains(producer)) {
        others.insert(producer);
      }
    }
    op->erase();
  }
  kept.clear();
  while (!others.empty()) {
    Operation *op = others.pop_back_val();
    if (!isOpTriviallyDead(op)) {
      continue;
    }
    for (Value operand : op->getOperands()) {
      if (Operation *producer = operand.getDefiningOp()) {
        others.insert(producer);
      }
    }
    op->erase();
  }
}

} // namespace heddle
