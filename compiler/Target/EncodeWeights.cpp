// SPDX-License-Identifier: Apache-2.0
///
/// Gives every matrix that a product reads the encoding of the targets, as a parameter expression.
/// Until then weights are logical, [n, k]: nothing before this pass knows how they lie in memory.
///
/// Before:
///   %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
///   %0 = dataflow.dispatch @contract_72x40(%x, %w) ...
/// After:
///   transformer.parameter @w.packed : tensor<2x40x48xf32> = pack(@w, 48)
///   %w = dataflow.parameter @w as @w.packed : !dataflow.buffer<[72, 40], f32>
///
/// Pinned by tests/compiler/Target/encode-weights.mlir.
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_ENCODEWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// The packed forms of the matrices of a module.
class PackedMatrices {
public:
  PackedMatrices(ModuleOp module, SymbolTable &symbols, int64_t columns)
      : symbols(symbols), columns(columns) {
    for (auto parameter : module.getOps<transformer::ParameterOp>()) {
      auto expression = parameter.getExpressionAttr();
      if (expression && expression.getKind() == transformer::ExpressionKind::Pack &&
          expression.getNumbers().front() == columns) {
        int64_t groups = expression.getNumbers().size() > 1 ? expression.getNumbers()[1] : 1;
        packed.try_emplace({expression.getOperands().front().getAttr(), groups},
                           parameter.getSymNameAttr());
      }
    }
  }

  /// That of a matrix whose rows are `groups` groups, made beside it if it is not there.
  FlatSymbolRefAttr find(FlatSymbolRefAttr matrix, int64_t groups) {
    StringAttr &name = packed[{matrix.getAttr(), groups}];
    if (!name) {
      name = create(matrix, groups);
    }
    return FlatSymbolRefAttr::get(name);
  }

private:
  StringAttr create(FlatSymbolRefAttr matrix, int64_t groups) {
    auto parameter = symbols.lookup<transformer::ParameterOp>(matrix.getAttr());
    RankedTensorType tensor = parameter.getTensorType();
    int64_t panels = groups * llvm::divideCeilSigned(tensor.getDimSize(0) / groups, columns);
    auto type =
        RankedTensorType::get({panels, tensor.getDimSize(1), columns}, tensor.getElementType());
    SmallVector<int64_t, 2> numbers = {columns};
    if (groups > 1) {
      numbers.push_back(groups);
    }
    OpBuilder builder(parameter.getContext());
    auto expression = transformer::ParameterExpressionAttr::get(
        builder.getContext(), transformer::ExpressionKind::Pack, {matrix}, numbers);
    auto created = transformer::ParameterOp::create(
        builder, parameter.getLoc(), builder.getStringAttr(matrix.getValue() + ".packed"),
        TypeAttr::get(type), StringAttr(), expression);
    return symbols.insert(created, std::next(Block::iterator(parameter)));
  }

  SymbolTable &symbols;
  int64_t columns;
  llvm::DenseMap<std::pair<StringAttr, int64_t>, StringAttr> packed;
};

struct EncodeWeights : impl::EncodeWeightsPassBase<EncodeWeights> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<int64_t> columns = panelColumns();
    if (failed(columns)) {
      return signalPassFailure();
    }
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    PackedMatrices packed(module, symbols, *columns);
    for (auto graph : module.getOps<GraphOp>()) {
      llvm::DenseMap<Attribute, ParameterOp> encoded;
      for (auto dispatch : graph.getBody().getOps<DispatchOp>()) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
        for (auto [index, input] : llvm::enumerate(inputs)) {
          if (input.role == KernelInput::Role::Matrix) {
            encode(dispatch, index, input.groups, packed, encoded);
          }
        }
      }
      eraseUnread(graph);
    }
  }

private:
  /// What the targets agree on.
  FailureOr<int64_t> panelColumns() {
    const TargetDescription *first = nullptr;
    for (const std::string &name : targets) {
      const TargetDescription *target = findTarget(name);
      if (!target) {
        return emitError(getOperation().getLoc())
               << "unknown target '" << name << "', expected one of " << targetNames();
      }
      first = first ? first : target;
      if (target->panelColumns != first->panelColumns) {
        return emitError(getOperation().getLoc())
               << "targets '" << first->name << "' and '" << target->name
               << "' store weights in different ways, expected targets of one kind";
      }
    }
    if (!first) {
      return emitError(getOperation().getLoc())
             << "no target to encode weights for, expected one of " << targetNames();
    }
    return first->panelColumns;
  }

  /// Makes an input of a dispatch read the encoding of its matrix, once for each graph.
  static void encode(DispatchOp dispatch, unsigned index, int64_t groups, PackedMatrices &packed,
                     llvm::DenseMap<Attribute, ParameterOp> &encoded) {
    auto logical = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
    if (!logical || logical.getEncodedAttr()) {
      return;
    }
    FlatSymbolRefAttr stored = packed.find(logical.getParameterAttr(), groups);
    ParameterOp &found = encoded[stored];
    if (!found) {
      OpBuilder builder(logical);
      found = ParameterOp::create(builder, logical.getLoc(), logical.getType(),
                                  logical.getParameterAttr(), stored);
    }
    dispatch.getInputsMutable()[index].set(found.getResult());
  }

  static void eraseUnread(GraphOp graph) {
    for (auto parameter : llvm::make_early_inc_range(graph.getBody().getOps<ParameterOp>())) {
      if (parameter->use_empty()) {
        parameter.erase();
      }
    }
  }
};

} // namespace
} // namespace heddle
