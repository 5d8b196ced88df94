// SPDX-License-Identifier: Apache-2.0
///
/// Stores the rows of caches with fewer bits, as `--cache` requests.
///
/// Before:
///   func.func @decode(%x, %rows, %keys: !cache<512> {transformer.name = "keys"}) -> ... {
///     %kept = transformer.append %keys, %k in(%rows) : !cache<512>
/// After:
///   func.func @decode(%x, %rows, %keys: !cache<512, bf16> {transformer.name = "keys"}) -> ... {
///     %kept = transformer.append %keys, %k in(%rows) : !cache<512, bf16>
///
/// Only types change: `append` rounds, and every reader of a cache, including rows of the same run,
/// reads the rounded values. This pass runs first, so that others count the reduced bytes. Codes of
/// 8 bits have a scale per head, as readers split a row, or one per row if the heads are unknown.
///
/// A state stays in f32, because each run updates it and would round it again. So does a cache of
/// one number per position: it has nothing to share a scale with, and may count positions.
///
/// Tested by tests/compiler/Model/Attention/narrow-caches.mlir.
#include "compiler/Model/Attention/CacheReads.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_NARROWCACHESPASS
#include "compiler/Passes.h.inc"

namespace {

/// The first argument for a cache's name, and the head size that all its readers use; 0 if they do
/// not split heads, or disagree.
struct KeptRows {
  BlockArgument first;
  std::optional<int64_t> headSize;
};

/// Returns the head size that an operation reads rows with, 0 if it has no heads.
int64_t headSizeOf(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (auto split = dyn_cast<SplitHeadsOp>(reader)) {
    return split.getType().getDimSize(2);
  }
  for (const CacheRead &read : cacheReads(reader)) {
    auto heads = reader->getAttrOfType<IntegerAttr>("heads");
    if (read.rows != use.get() || !heads) {
      continue;
    }
    auto share = reader->getAttrOfType<IntegerAttr>(read.isKeys ? "key_share" : "value_share");
    int64_t width = cast<RankedTensorType>(read.rows.getType()).getDimSize(1);
    return width * (share ? share.getInt() : 1) / heads.getInt();
  }
  return 0;
}

struct NarrowCachesPass : impl::NarrowCachesPassBase<NarrowCachesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (bits != halfBits && bits != codeBits) {
      getOperation().emitError("expects caches with elements of 16 or 8 bits, got ")
          << bits.getValue();
      return signalPassFailure();
    }
    collect();
    for (auto &[name, rows] : kept) {
      narrow(name, rows);
    }
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      retype(entry);
    }
  }

private:
  static constexpr unsigned halfBits = 16, codeBits = 8;

  /// Collects the caches and states of all entries, which share them by name, and their readers.
  void collect() {
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      for (BlockArgument argument : entry.getArguments()) {
        StringAttr name =
            isa<CacheType, StateType>(argument.getType()) ? cacheName(argument) : StringAttr();
        if (name) {
          kept.try_emplace(name, KeptRows{argument, std::nullopt});
        }
      }
    }
    getOperation().walk([&](CachedOp cached) {
      auto *found = kept.find(cacheName(cached.getCache()));
      if (found == kept.end()) {
        return;
      }
      for (OpOperand &use : cached->getUses()) {
        int64_t size = headSizeOf(use);
        std::optional<int64_t> &known = found->second.headSize;
        known = known.value_or(size) == size ? size : 0;
      }
    });
  }

  Type keptElement(int64_t headSize) {
    MLIRContext *context = &getContext();
    return bits == halfBits ? Type(BFloat16Type::get(context))
                            : QuantizedType::get(context, IntegerType::get(context, codeBits),
                                                 headSize, Float32Type::get(context));
  }

  /// Decides and reports the new type of a cache.
  void narrow(StringAttr name, const KeptRows &rows) {
    Location location = rows.first.getLoc();
    auto declined = [&](const Twine &reason) {
      reportDeclined(location, passNames::narrowCaches, "\"" + name.getValue() + reason);
    };
    auto cache = dyn_cast<CacheType>(rows.first.getType());
    if (!cache) {
      return declined("\" stays in f32: a state, of which each run changes all");
    }
    if (cache.getWidth() == 1) {
      return declined("\" stays in f32: one number for each position, which may count them");
    }
    Type element = elements[name] = keptElement(rows.headSize.value_or(0));
    auto after = CacheType::get(&getContext(), cache.getWidth(), element);
    reportTaken(location, passNames::narrowCaches,
                "cache \"" + name.getValue() + "\" in " + (bits == halfBits ? "bf16" : "int8"),
                {.cacheBytesPerToken = cache.getPositionBytes() - after.getPositionBytes()});
  }

  /// Updates the types of caches, in an entry and its signature.
  void retype(func::FuncOp entry) {
    if (entry.isExternal()) {
      return;
    }
    auto setType = [&](Value value) {
      auto cache = dyn_cast<CacheType>(value.getType());
      if (Type element = cache ? elements.lookup(cacheName(value)) : Type()) {
        value.setType(CacheType::get(&getContext(), cache.getWidth(), element));
      }
    };
    for (BlockArgument argument : entry.getArguments()) {
      setType(argument);
    }
    entry.walk([&](AppendOp append) { setType(append.getResult()); });
    entry.setType(FunctionType::get(&getContext(), entry.getBody().getArgumentTypes(),
                                    entry.getBody().front().getTerminator()->getOperandTypes()));
  }

  llvm::MapVector<StringAttr, KeptRows> kept;
  llvm::DenseMap<StringAttr, Type> elements;
};

} // namespace
} // namespace heddle
