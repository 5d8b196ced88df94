// SPDX-License-Identifier: Apache-2.0
///
/// Stores the matrices of products and the tables of look-ups in bf16: --precision bf16-weights.
/// Kernels widen what they read and compute in f32, so that results are those of f32 arithmetic on
/// the rounded weights, bit for bit. Biases, norms, tables of distances and sinusoids stay as they
/// are.
///
/// Before:
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], f32>) -> !y ...
///   %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
/// After:
///   transformer.parameter @w.bf16 : tensor<72x40xbf16> = convert(@w)
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], bf16>) -> !y ...
///   %w = dataflow.parameter @w.bf16 : !dataflow.buffer<[72, 40], bf16>
///
/// Pinned by tests/compiler/Dataflow/narrow-weights.mlir.
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_NARROWWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// The dispatches that run one kernel.
using Runs = llvm::MapVector<Operation *, SmallVector<DispatchOp>>;

/// The parameters of a module on their way to the narrow type.
class Narrowing {
public:
  explicit Narrowing(ModuleOp module) : parameters(module) {}

  /// Makes a kernel, and all of its runs, read the narrow type where every run can.
  void narrowInputs(KernelOp kernel, ArrayRef<DispatchOp> dispatches) {
    MLIRContext *context = kernel.getContext();
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    SmallVector<Type> types(kernel.getKernelType().getInputs());
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto isWide = [&, index = index](DispatchOp dispatch) {
        auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
        return parameter && !parameter.getEncodings() &&
               parameter.getType().getElementType().isF32() &&
               isLearned(parameters.lookUp(parameter.getParameterAttr()));
      };
      if (!input.isStored() || !llvm::all_of(dispatches, isWide)) {
        continue;
      }
      auto wide = cast<BufferType>(types[index]);
      auto narrow = BufferType::get(context, wide.getShape(), BFloat16Type::get(context),
                                    wide.getRowStride());
      types[index] = narrow;
      for (DispatchOp dispatch : dispatches) {
        auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
        dispatch.getInputsMutable()[index].set(
            read.replace(parameter, narrow, storedAs(parameter.getParameterAttr())));
      }
    }
    kernel.setFunctionType(FunctionType::get(context, types, kernel.getKernelType().getResults()));
  }

private:
  /// Whether it is made of tensors of the checkpoint, and not of numbers alone as sinusoids are.
  static bool isLearned(transformer::ParameterOp parameter) {
    auto expression = parameter.getExpressionAttr();
    return !expression || !expression.getOperands().empty();
  }

  FlatSymbolRefAttr storedAs(FlatSymbolRefAttr symbol) {
    FlatSymbolRefAttr &stored = narrowed[symbol];
    if (!stored) {
      transformer::ParameterOp parameter = parameters.lookUp(symbol);
      stored = narrow(parameter);
      reportTaken(parameter.getLoc(), passNames::narrowWeights, "stored in bf16",
                  {.weightBytes = parameter.getTensorType().getNumElements() * 2});
    }
    return stored;
  }

  /// The parameter with the values of `parameter` in bf16.
  FlatSymbolRefAttr narrow(transformer::ParameterOp parameter) {
    // What the checkpoint has in bf16 is there, and what it has in f16 is converted from there.
    auto origin = FlatSymbolRefAttr::get(parameter);
    auto expression = parameter.getExpressionAttr();
    if (expression && expression.getKind() == transformer::ExpressionKind::Convert) {
      origin = expression.getOperands().front();
      if (parameters.lookUp(origin).getTensorType().getElementType().isBF16()) {
        return origin;
      }
    }
    MLIRContext *context = parameter.getContext();
    return parameters.derive(parameter.getLoc(), (parameter.getSymName() + ".bf16").str(),
                             transformer::ParameterExpressionAttr::get(
                                 context, transformer::ExpressionKind::Convert, {origin}, {}),
                             parameter.getTensorType().clone(BFloat16Type::get(context)));
  }

  DerivedParameters parameters;
  GraphParameters read;
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> narrowed;
};

struct NarrowWeights : impl::NarrowWeightsPassBase<NarrowWeights> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Runs runs;
    for (auto graph : getOperation().getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        runs[symbols.lookup(dispatch.getKernel())].push_back(dispatch);
      }
    }
    Narrowing narrowing(getOperation());
    for (auto &[kernel, dispatches] : runs) {
      narrowing.narrowInputs(cast<KernelOp>(kernel), dispatches);
    }
    eraseUnreadParameters(getOperation());
  }
};

} // namespace
} // namespace heddle
