// SPDX-License-Identifier: Apache-2.0
///
/// Makes products multiply what their weights are stored as, where the precision of the weights
/// says so: --precision and --keep bf16, int8, int8-g128 and int4, and files that quantise rows.
/// Rows are rounded or quantised by the product that reads them, each for itself, so that a row has
/// the same bits whatever is beside it. What follows a product, norms, softmax and sums among it,
/// stays in f32.
///
/// Before:
///   dataflow.kernel @contract_72x40 : (!x, !dataflow.buffer<[72, 40],
///     !transformer.quantized<i8, row>>) -> !y computes #dataflow.contract<n = 72, k = 40>
///   dataflow.kernel @contract_8x40 : (!x, !dataflow.buffer<[8, 40], bf16>) -> !z
///     computes #dataflow.contract<n = 8, k = 40>
/// After:
///   ... computes #dataflow.contract<n = 72, k = 40, arithmetic = integers>
///   ... computes #dataflow.contract<n = 8, k = 40, arithmetic = bf16>
///
/// Pinned by tests/compiler/Dataflow/narrow-rows.mlir and keep-layers.mlir.
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_NARROWROWSPASS
#include "compiler/Passes.h.inc"

namespace {

/// The type of the first matrix with elements in fewer bits that a kernel multiplies with; null if
/// there is none.
Type narrowMatrixOf(KernelOp kernel) {
  for (auto [index, input] :
       llvm::enumerate(kernel.getComputes().getInputs(kernel.getKernelType()))) {
    if (input.role == KernelInput::Role::Matrix) {
      Type element = kernel.getOperandBuffer(index).getElementType();
      if (isa<transformer::QuantizedType>(element) || element.isBF16()) {
        return element;
      }
    }
  }
  return {};
}

/// "rows quantised whole, products of integers".
std::string describe(Type weights, int64_t k) {
  auto quantized = dyn_cast<transformer::QuantizedType>(weights);
  if (!quantized) {
    return "rows rounded to bf16, products of bf16";
  }
  const int64_t shared = quantized.getGroupOf(k);
  return (shared == k ? "rows quantised whole"
                      : "rows quantised by " + std::to_string(shared) + " elements") +
         ", products of integers";
}

void narrowRows(KernelOp kernel) {
  const Type weights = narrowMatrixOf(kernel);
  if (!weights) {
    return;
  }
  auto quantized = dyn_cast<transformer::QuantizedType>(weights);
  const Arithmetic arithmetic = quantized ? Arithmetic::Integers : Arithmetic::Bf16;
  auto contract = dyn_cast<ContractAttr>(kernel.getComputes());
  if (!contract) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows,
                   "computed in f32: " + kernel.getComputes().getNoun() + " has no kernel for " +
                       stringifyArithmetic(arithmetic));
    return;
  }
  if (contract.getArithmetic() != Arithmetic::F32) {
    return;
  }
  if (quantized && quantized.getMinimums()) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows,
                   "computed in f32: groups have a minimum, expected a code of zero or none");
    return;
  }
  if (quantized && !quantized.isForIntegers(contract.getK())) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows,
                   "computed in f32: " + Twine(quantized.getGroupOf(contract.getK())) +
                       " elements share a scale, expected a multiple of " +
                       Twine(transformer::codesTogether) + " or the whole row, at most " +
                       Twine(transformer::mostIntegersInSum));
    return;
  }
  kernel.setComputesAttr(ContractAttr::get(kernel.getContext(), contract.getN(), contract.getK(),
                                           contract.getGroups(), arithmetic));
  reportTaken(kernel.getLoc(), passNames::narrowRows, describe(weights, contract.getK()));
}

/// Whether the precision of the matrices that a run multiplies with narrows rows as well.
bool narrowsRows(KernelOp kernel, DispatchOp dispatch, const LayerPrecisions &precisions) {
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [input, value] : llvm::zip_first(inputs, dispatch.getInputs())) {
    auto parameter = value.getDefiningOp<ParameterOp>();
    if (parameter && input.role == KernelInput::Role::Matrix &&
        !precisions.of(parameter.getParameterAttr()).precision.narrowsRows) {
      return false;
    }
  }
  return true;
}

struct NarrowRows : impl::NarrowRowsPassBase<NarrowRows> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto rules = readPrecisions(precision, keep);
    if (!rules.ok()) {
      module.emitError(std::string(rules.status().message()));
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    const LayerPrecisions precisions(symbols, *findPrecision(precision, quantisesRows), *rules);
    llvm::DenseMap<KernelOp, SmallVector<DispatchOp>> narrow, wide;
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        (narrowsRows(kernel, dispatch, precisions) ? narrow : wide)[kernel].push_back(dispatch);
      }
    }
    // Not the copies that are made on the way.
    for (KernelOp kernel : llvm::to_vector(module.getOps<KernelOp>())) {
      if (!wide.contains(kernel)) {
        narrowRows(kernel);
      } else if (auto found = narrow.find(kernel); found != narrow.end()) {
        narrowRows(copyKernel(symbols, kernel, found->second));
      }
    }
  }
};

} // namespace
} // namespace heddle
