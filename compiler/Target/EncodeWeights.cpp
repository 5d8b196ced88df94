// SPDX-License-Identifier: Apache-2.0
///
/// Encodes every matrix that a product reads in the layout that each target chooses, as a parameter
/// expression. Before this pass weights are logical, [n, k], without a memory layout. Targets with
/// the same layout share one stored encoding.
///
/// Before:
///   %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
///   %0 = dataflow.dispatch @contract_72x40(%x, %w) ...
/// After:
///   transformer.parameter @w.packed48 : tensor<2x40x48xf32> = pack(@w, 48)
///   %w = dataflow.parameter @w as @w.packed48 : !dataflow.buffer<[72, 40], f32>
///
/// Tested by tests/compiler/Target/encode-weights.mlir and encode-weights-by-target.mlir.
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_ENCODEWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Makes dispatches read encodings.
class Encoder {
public:
  Encoder(ModuleOp module, ArrayRef<TargetDescription> targets)
      : parameters(module), targets(targets) {}

  void encode(DispatchOp dispatch, unsigned index, const KernelInput &input) {
    auto logical = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
    if (logical && !logical.getEncodings()) {
      FlatSymbolRefAttr matrix = logical.getParameterAttr();
      dispatch.getInputsMutable()[index].set(
          read.replace(logical, logical.getType(), matrix, encodingsOf(matrix, input)));
    }
  }

private:
  /// Returns one encoding if the targets agree, else one for each of them.
  ArrayAttr encodingsOf(FlatSymbolRefAttr matrix, const KernelInput &input) {
    transformer::ParameterOp parameter = parameters.lookUp(matrix);
    SmallVector<Attribute> encodings;
    for (const TargetDescription &target : targets) {
      MatrixEncoding encoding = target.backend->encodeMatrix(target, parameter, input);
      encodings.push_back(
          parameters.derive(parameter.getLoc(), encoding.name, encoding.expression, encoding.type));
    }
    if (llvm::all_equal(encodings)) {
      encodings.resize(1);
    }
    return ArrayAttr::get(matrix.getContext(), encodings);
  }

  DerivedParameters parameters;
  GraphParameters read;
  ArrayRef<TargetDescription> targets;
};

struct EncodeWeights : impl::EncodeWeightsPassBase<EncodeWeights> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<std::vector<TargetDescription>> chosen =
        findTargets(targets, getOperation().getLoc());
    if (failed(chosen)) {
      return signalPassFailure();
    }
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    Encoder encoder(module, *chosen);
    // The inputs of each kernel, computed once instead of per dispatch.
    llvm::DenseMap<Operation *, SmallVector<KernelInput>> inputs;
    for (auto kernel : module.getOps<KernelOp>()) {
      inputs[kernel] = kernel.getComputes().getInputs(kernel.getKernelType());
    }
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        for (auto [index, input] : llvm::enumerate(inputs[symbols.lookup(dispatch.getKernel())])) {
          if (input.role == KernelInput::Role::Matrix) {
            encoder.encode(dispatch, index, input);
          }
        }
      }
    }
    eraseUnreadParameters(module);
  }
};

} // namespace
} // namespace heddle
