// SPDX-License-Identifier: Apache-2.0
///
/// Makes the probabilities of every attention an optional result of its entry, which `heddle
/// analyze` reads. A run that does not request them does not compute them, so their only cost is a
/// few entries in the manifest.
///
/// Before:
///   func.func @encode(...) -> (tensor<?x48xf32> {transformer.name = "encoder"}) {
///     %p = transformer.softmax %z in(%rows)          // at "encoder.layers.0.self_attention"
///     ...
///     return %x
/// After:
///   func.func @encode(...) -> (tensor<?x48xf32> {transformer.name = "encoder"},
///       tensor<?x4x?xf32> {transformer.name = "encoder.layers.0.self_attention",
///                          transformer.observed = "encoder"}) {
///     ...
///     return %x, %p
///
/// This pass runs first; later passes rewrite the result with everything else.
/// heddle/AttentionKind.h defines the kinds.
///
/// Tested by tests/compiler/Model/Attention/observe-attention.mlir.
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"
#include "heddle/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_OBSERVEATTENTIONPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral nameAttribute = "transformer.name";
constexpr llvm::StringLiteral observedAttribute = "transformer.observed";

/// Adds results to one entry.
class EntryObserver {
public:
  explicit EntryObserver(func::FuncOp entry)
      : entry(entry), end(cast<func::ReturnOp>(entry.getBody().front().getTerminator())) {
    for (unsigned number = 0; number < entry.getNumResults(); ++number) {
      if (auto name = entry.getResultAttrOfType<StringAttr>(number, nameAttribute)) {
        names.insert(name.getValue());
      }
      outputs += isa<CacheType>(entry.getResultTypes()[number]) ? 0 : 1;
    }
  }

  void observe(SoftmaxOp softmax) {
    if (softmax->use_empty() || isObserved(softmax)) {
      return;
    }
    const AttentionSpelling *kind = spellingOf(attentionKind(softmax));
    if (!kind) {
      return reportDeclined(softmax.getLoc(), passNames::observeAttention,
                            "not observed: nothing says whose rows its keys are");
    }
    if (outputs == mostPorts) {
      return reportDeclined(softmax.getLoc(), passNames::observeAttention,
                            "not observed: entry '" + entry.getSymName() + "' has " +
                                Twine(outputs) + " outputs, the most there may be");
    }
    if (softmax->getParentOp() != entry) {
      return reportDeclined(softmax.getLoc(), passNames::observeAttention,
                            "not observed: it is one step of a recurrence");
    }
    Builder builder(entry.getContext());
    std::string name = freeName(softmax.getLoc());
    NamedAttribute attributes[] = {{nameAttribute, builder.getStringAttr(name)},
                                   {observedAttribute, builder.getStringAttr(kind->name)}};
    // Only function types with additional state can fail here.
    (void)entry.insertResult(entry.getNumResults(), softmax.getType(),
                             builder.getDictionaryAttr(attributes));
    end.getOperandsMutable().append(softmax.getResult());
    ++outputs;
    reportTaken(softmax.getLoc(), passNames::observeAttention,
                Twine(kind->name) + " in @" + entry.getSymName());
  }

private:
  /// Returns whether the program already has it as a result of this kind.
  bool isObserved(SoftmaxOp softmax) {
    return llvm::any_of(softmax->getUses(), [&](OpOperand &use) {
      return use.getOwner() == end &&
             entry.getResultAttr(use.getOperandNumber(), observedAttribute);
    });
  }

  /// Returns the name in the checkpoint, made unique among all results.
  std::string freeName(Location location) {
    std::string name = checkpointName(location);
    if (name.empty()) {
      name = "softmax";
    }
    std::string free = name;
    for (int number = 2; !names.insert(free).second; ++number) {
      free = name + "#" + std::to_string(number);
    }
    return free;
  }

  func::FuncOp entry;
  func::ReturnOp end;
  llvm::StringSet<> names;
  size_t outputs = 0;
};

struct ObserveAttentionPass : impl::ObserveAttentionPassBase<ObserveAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      if (entry.isExternal() || !entry.getBody().hasOneBlock()) {
        continue;
      }
      EntryObserver observer(entry);
      entry.walk([&](SoftmaxOp softmax) { observer.observe(softmax); });
    }
  }
};

} // namespace
} // namespace heddle
