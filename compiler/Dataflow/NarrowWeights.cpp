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

struct NarrowWeights : impl::NarrowWeightsPassBase<NarrowWeights> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Runs runs;
    for (auto graph : getOperation().getOps<GraphOp>()) {
      for (auto dispatch : graph.getBody().getOps<DispatchOp>()) {
        runs[symbols.lookup(dispatch.getKernel())].push_back(dispatch);
      }
    }
    for (auto &[kernel, dispatches] : runs) {
      narrowInputs(cast<KernelOp>(kernel), dispatches, symbols);
    }
    for (auto graph : getOperation().getOps<GraphOp>()) {
      for (auto parameter : llvm::make_early_inc_range(graph.getBody().getOps<ParameterOp>())) {
        if (parameter->use_empty()) {
          parameter.erase();
        }
      }
    }
  }

private:
  /// Whether it is made of tensors of the checkpoint, and not of numbers alone as sinusoids are.
  static bool isLearned(transformer::ParameterOp parameter) {
    auto expression = parameter.getExpressionAttr();
    return !expression || !expression.getOperands().empty();
  }

  void narrowInputs(KernelOp kernel, ArrayRef<DispatchOp> dispatches, SymbolTable &symbols) {
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    SmallVector<Type> types(kernel.getKernelType().getInputs());
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto isWide = [&, index = index](DispatchOp dispatch) {
        auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
        return parameter && !parameter.getEncodedAttr() &&
               parameter.getType().getElementType().isF32() &&
               isLearned(symbols.lookup<transformer::ParameterOp>(
                   parameter.getParameterAttr().getAttr()));
      };
      if (!input.isStored() || !llvm::all_of(dispatches, isWide)) {
        continue;
      }
      auto wide = cast<BufferType>(types[index]);
      auto narrow = BufferType::get(&getContext(), wide.getShape(),
                                    BFloat16Type::get(&getContext()), wide.getRowStride());
      types[index] = narrow;
      for (DispatchOp dispatch : dispatches) {
        auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
        dispatch.getInputsMutable()[index].set(narrowed(parameter, narrow, symbols));
      }
    }
    kernel.setFunctionType(
        FunctionType::get(&getContext(), types, kernel.getKernelType().getResults()));
  }

  /// A parameter in the narrow type, read once for each graph and stored once for each module.
  Value narrowed(ParameterOp parameter, BufferType type, SymbolTable &symbols) {
    auto graph = parameter->getParentOfType<GraphOp>();
    ParameterOp &found = read[{graph, parameter.getParameterAttr().getAttr()}];
    if (!found) {
      OpBuilder builder(parameter);
      found = ParameterOp::create(builder, parameter.getLoc(), type,
                                  storedAs(parameter.getParameterAttr(), symbols));
    }
    return found.getResult();
  }

  FlatSymbolRefAttr storedAs(FlatSymbolRefAttr symbol, SymbolTable &symbols) {
    StringAttr &name = stored[symbol.getAttr()];
    if (!name) {
      auto parameter = symbols.lookup<transformer::ParameterOp>(symbol.getAttr());
      name = narrowedName(parameter, symbols);
      int64_t saved = parameter.getTensorType().getNumElements() * 2;
      reportTaken(parameter.getLoc(), passNames::narrowWeights, "stored in bf16",
                  {.weightBytes = saved});
    }
    return FlatSymbolRefAttr::get(name);
  }

  /// The parameter with the values of `parameter` in bf16.
  static StringAttr narrowedName(transformer::ParameterOp parameter, SymbolTable &symbols) {
    // What the checkpoint has in bf16 is there, and what it has in f16 is converted from there.
    auto origin = FlatSymbolRefAttr::get(parameter);
    auto expression = parameter.getExpressionAttr();
    if (expression && expression.getKind() == transformer::ExpressionKind::Convert) {
      origin = expression.getOperands().front();
      auto before = symbols.lookup<transformer::ParameterOp>(origin.getAttr());
      if (before.getTensorType().getElementType().isBF16()) {
        return origin.getAttr();
      }
    }
    OpBuilder builder(parameter.getContext());
    auto created = transformer::ParameterOp::create(
        builder, parameter.getLoc(), builder.getStringAttr(parameter.getSymName() + ".bf16"),
        TypeAttr::get(parameter.getTensorType().clone(builder.getBF16Type())), StringAttr(),
        transformer::ParameterExpressionAttr::get(
            parameter.getContext(), transformer::ExpressionKind::Convert, {origin}, {}));
    return symbols.insert(created, std::next(Block::iterator(parameter)));
  }

  llvm::DenseMap<StringAttr, StringAttr> stored;
  llvm::DenseMap<std::pair<Operation *, StringAttr>, ParameterOp> read;
};

} // namespace
} // namespace heddle
