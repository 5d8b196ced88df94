// SPDX-License-Identifier: Apache-2.0
///
/// Stores a parameter once that is both looked up and multiplied, such as word embeddings tied to
/// the output projection: look-ups read it in the encoding of the product, if the target can read
/// single rows there.
///
/// Before, with the table twice in the binary:
///   %t = dataflow.parameter @words : !dataflow.buffer<[72, 40], f32>
///   %0 = dataflow.dispatch @gather_40(%ids, %t) ...    computes <width = 40, lookups = 1>
///   %w = dataflow.parameter @words as @words.packed48 : !dataflow.buffer<[72, 40], f32>
/// After:
///   %0 = dataflow.dispatch @gather_40_encoded(%ids, %w) ...
///       computes <width = 40, lookups = 1, encoded = [0]>
///
/// Tested by tests/compiler/Target/share-tables.mlir.
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "compiler/Target/Target.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_SHARETABLESPASS
#include "compiler/Passes.h.inc"

namespace {

/// How products read a parameter.
struct Encoded {
  ArrayAttr encodings;
  KernelInput input;
};

class TableSharing {
public:
  TableSharing(ModuleOp module, ArrayRef<TargetDescription> targets)
      : module(module), parameters(module), symbols(module), targets(targets) {
    for (auto kernel : module.getOps<KernelOp>()) {
      inputs[kernel] = kernel.getComputes().getInputs(kernel.getKernelType());
    }
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        addMatrices(dispatch);
      }
    }
  }

  void run() {
    llvm::MapVector<KernelOp, SmallVector<DispatchOp>> runs;
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        auto gather = dyn_cast<GatherAttr>(kernel.getComputes());
        if (gather && gather.getEncoded().empty()) {
          runs[kernel].push_back(dispatch);
        }
      }
    }
    for (auto &[kernel, dispatches] : runs) {
      shareIn(kernel, dispatches);
    }
    eraseUnreadParameters(module);
  }

private:
  /// Prefers the product with the fewest groups, whose encoding look-ups can most likely read.
  void addMatrices(DispatchOp dispatch) {
    for (auto [input, value] :
         llvm::zip_first(inputs[symbols.lookup(dispatch.getKernel())], dispatch.getInputs())) {
      auto parameter = value.getDefiningOp<ParameterOp>();
      if (input.role != KernelInput::Role::Matrix || !parameter || !parameter.getEncodings()) {
        continue;
      }
      Encoded &found = matrices[parameter.getParameterAttr()];
      if (!found.encodings || input.groups < found.input.groups) {
        found = {parameter.getEncodingsAttr(), input};
      }
    }
  }

  /// Finds the look-ups of a dispatch that can read an encoding of a product, and reports all
  /// decisions.
  GatherAttr encodeLookups(DispatchOp dispatch, GatherAttr gather) {
    SmallVector<int64_t> encoded;
    Arithmetic arithmetic = Arithmetic::F32;
    for (int64_t lookup = 0; lookup < gather.getLookups(); ++lookup) {
      auto parameter = dispatch.getInputs()[2 * lookup + 1].getDefiningOp<ParameterOp>();
      auto found = parameter ? matrices.find(parameter.getParameterAttr()) : matrices.end();
      if (found == matrices.end()) {
        continue;
      }
      transformer::ParameterOp table = parameters.lookUp(parameter.getParameterAttr());
      if (const TargetDescription *target = targetAgainst(table, found->second)) {
        reportDeclined(dispatch.getLoc(), passNames::shareTables,
                       "not shared: target '" + target->name + "' cannot look up rows of '" +
                           table.getSymName() + "' as it stores it for products");
        continue;
      }
      if (!encoded.empty() && found->second.input.arithmetic != arithmetic) {
        reportDeclined(dispatch.getLoc(), passNames::shareTables,
                       "not shared: '" + table.getSymName() + "' is multiplied in " +
                           stringifyArithmetic(found->second.input.arithmetic) +
                           ", another table of the look-up in " + stringifyArithmetic(arithmetic));
        continue;
      }
      arithmetic = found->second.input.arithmetic;
      encoded.push_back(lookup);
      const bool isFirst = saved.insert(table).second;
      reportTaken(dispatch.getLoc(), passNames::shareTables,
                  "rows of '" + table.getSymName() + "' are looked up where products read it",
                  {.weightBytes = isFirst ? byteSize(table) : 0});
    }
    return gather.withEncoded(encoded, arithmetic);
  }

  /// Returns a target that cannot look up rows of a parameter in its encoding for products; null if
  /// all can.
  const TargetDescription *targetAgainst(transformer::ParameterOp table,
                                         const Encoded &encoded) const {
    const auto *found = llvm::find_if(targets, [&](const TargetDescription &target) {
      return !target.backend->encodeMatrix(target, table, encoded.input).hasRows;
    });
    return found == targets.end() ? nullptr : found;
  }

  void shareIn(KernelOp kernel, ArrayRef<DispatchOp> dispatches) {
    auto gather = cast<GatherAttr>(kernel.getComputes());
    // Dispatches of one kernel may look up different tables.
    llvm::MapVector<Attribute, SmallVector<DispatchOp>> byLookups;
    for (DispatchOp dispatch : dispatches) {
      byLookups[encodeLookups(dispatch, gather)].push_back(dispatch);
    }
    for (auto &[computes, sharing] : byLookups) {
      auto encoded = cast<GatherAttr>(computes);
      if (encoded == gather) {
        continue;
      }
      KernelOp own = byLookups.size() == 1 ? kernel : kernel.clone();
      own.setComputesAttr(encoded);
      std::string name = (kernel.getSymName() + "_encoded").str();
      if (own == kernel) {
        symbols.remove(kernel);
      }
      own.setSymName(name);
      StringAttr symbol = symbols.insert(own, Block::iterator(kernel));
      for (DispatchOp dispatch : sharing) {
        dispatch.setKernelAttr(FlatSymbolRefAttr::get(symbol));
        for (int64_t lookup : encoded.getEncoded()) {
          readEncoded(dispatch, 2 * lookup + 1);
        }
      }
    }
  }

  void readEncoded(DispatchOp dispatch, int64_t input) {
    auto table = dispatch.getInputs()[input].getDefiningOp<ParameterOp>();
    FlatSymbolRefAttr symbol = table.getParameterAttr();
    dispatch.getInputsMutable()[input].set(
        read.replace(table, table.getType(), symbol, matrices[symbol].encodings));
  }

  ModuleOp module;
  DerivedParameters parameters;
  GraphParameters read;
  SymbolTable symbols;
  ArrayRef<TargetDescription> targets;
  llvm::DenseMap<Operation *, SmallVector<KernelInput>> inputs;
  llvm::DenseMap<Attribute, Encoded> matrices;
  /// Tables that are no longer stored separately.
  llvm::DenseSet<Operation *> saved;
};

struct ShareTables : impl::ShareTablesPassBase<ShareTables> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<std::vector<TargetDescription>> chosen =
        findTargets(targets, getOperation().getLoc());
    if (failed(chosen)) {
      return signalPassFailure();
    }
    TableSharing(getOperation(), *chosen).run();
  }
};

} // namespace
} // namespace heddle
