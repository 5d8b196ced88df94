// SPDX-License-Identifier: Apache-2.0
///
/// Makes products compute in the type in which their weights are stored, if the precision of the
/// weights requests it: --precision and --keep bf16, int8, int8-g128 and int4, and files that
/// quantise rows. The product that reads rows rounds or quantises each row separately, so that a
/// row has the same bits whatever else is in the batch. Norms, softmax and sums after a product
/// stay in f32.
///
/// Where the precision is tf32 or tf32x3, products with weights in f32 get a note instead that
/// targets may multiply so; what they compute stays f32, as processors do it. Attentions have no
/// weights and follow the precision of the program: they get the same note, and with bf16 over rows
/// an arithmetic of their own.
///
/// Before:
///   dataflow.kernel @contract_72x40 : (!x, !dataflow.buffer<[72, 40],
///     !transformer.quantized<i8, row>>) -> !y computes #dataflow.contract<n = 72, k = 40>
///   dataflow.kernel @contract_8x40 : (!x, !dataflow.buffer<[8, 40], bf16>) -> !z
///     computes #dataflow.contract<n = 8, k = 40>
/// After:
///   ... computes #dataflow.contract<n = 72, k = 40, arithmetic = integers>
///   ... computes #dataflow.contract<n = 8, k = 40, arithmetic = bf16>
///   ... computes #dataflow.attention<..., arithmetic = bf16>
/// And with tf32, of weights in f32:
///   ... computes #dataflow.contract<n = 8, k = 40> attributes {dataflow.float_products = "tf32"}
///
/// Tested by tests/compiler/Dataflow/narrow-rows.mlir and keep-layers.mlir.
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

#include <compare>
#include <map>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_NARROWROWSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the element type of the kernel's first matrix for whose elements `isSuch` holds; null if
/// there is none.
Type matrixOf(KernelOp kernel, llvm::function_ref<bool(Type)> isSuch) {
  for (auto [index, input] :
       llvm::enumerate(kernel.getComputes().getInputs(kernel.getKernelType()))) {
    if (input.role == KernelInput::Role::Matrix) {
      Type element = kernel.getOperandBuffer(index).getElementType();
      if (isSuch(element)) {
        return element;
      }
    }
  }
  return {};
}

/// Returns "rows quantised whole, products of integers".
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

/// Returns "factors rounded to tf32".
std::string describe(FloatProducts products) {
  return products == FloatProducts::Tf32x3
             ? "each product of three of tf32"
             : "factors rounded to " + floatProductsName(products).str();
}

void narrowRows(KernelOp kernel) {
  const Type weights = matrixOf(kernel, [](Type element) {
    return isa<transformer::QuantizedType>(element) || element.isBF16();
  });
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

/// Notes on a product with f32 weights the type in which it may be computed.
void noteProducts(KernelOp kernel, FloatProducts products) {
  if (!matrixOf(kernel, [](Type element) { return element.isF32(); })) {
    return;
  }
  const StringRef name = floatProductsName(products);
  auto contract = dyn_cast<ContractAttr>(kernel.getComputes());
  if (!contract) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows,
                   "computed in f32: " + kernel.getComputes().getNoun() + " has no kernel for " +
                       name);
    return;
  }
  noteFloatProducts(kernel, products);
  reportTaken(kernel.getLoc(), passNames::narrowRows,
              Twine(describe(products)) + " on GPUs, sums in f32");
}

/// What keeps the factors of an attention kernel from being rounded; empty if nothing does.
std::string problemWithRounding(KernelOp kernel) {
  if (isa<AttentionWeightsAttr, AttendAttr>(kernel.getComputes())) {
    return "its weights are stored, expected an attention in one kernel";
  }
  return cast<AttentionAttr>(kernel.getComputes()).getPairs()
             ? "scores are sums over pairs of elements, expected products"
             : "";
}

/// What keeps the products of an attention from being those of bf16 on every target; empty if
/// nothing does.
std::string problemWithBf16(AttentionAttr attention) {
  const int64_t size = std::max(attention.getKeySize(), attention.getValueSize());
  return size <= mostBf16HeadSize
             ? ""
             : "heads have " + std::to_string(size) + " elements, expected at most " +
                   std::to_string(mostBf16HeadSize);
}

/// Makes an attention over rows one of bf16. Over a cache it reads each key once for a few rows,
/// and waits for memory: only GPUs may round it.
void narrowAttention(KernelOp kernel) {
  auto attention = cast<AttentionAttr>(kernel.getComputes());
  if (const std::string problem = problemWithBf16(attention); !problem.empty()) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows, "computed in f32: " + problem);
    return;
  }
  if (kernel.getOperandCache(1)) {
    noteFloatProducts(kernel, FloatProducts::Bf16);
    reportTaken(kernel.getLoc(), passNames::narrowRows,
                "attention over a cache on GPUs: factors rounded to bf16, softmax and sums in f32; "
                "f32 on processors");
    return;
  }
  kernel.setComputesAttr(attention.withArithmetic(Arithmetic::Bf16));
  reportTaken(kernel.getLoc(), passNames::narrowRows,
              "attention: factors rounded to bf16, softmax and sums in f32");
}

/// Says of an attention what the precision of the program makes of its products.
void treatAttention(KernelOp kernel, FloatProducts products) {
  if (!isa<AttentionAttr, AttentionWeightsAttr, AttendAttr>(kernel.getComputes()) ||
      products == FloatProducts::Exact) {
    return;
  }
  if (const std::string problem = problemWithRounding(kernel); !problem.empty()) {
    reportDeclined(kernel.getLoc(), passNames::narrowRows, "computed in f32: " + problem);
    return;
  }
  if (products == FloatProducts::Bf16) {
    narrowAttention(kernel);
    return;
  }
  noteFloatProducts(kernel, products);
  reportTaken(kernel.getLoc(), passNames::narrowRows,
              "attention on GPUs: " + Twine(describe(products)) + ", softmax and sums in f32");
}

/// How the precision of its weights changes a product.
struct Treatment {
  bool narrowsRows;
  FloatProducts products;

  auto operator<=>(const Treatment &) const = default;
};

/// Combines the matrices of a dispatch: rows are narrowed if all of them request it, and the
/// products are the most exact that one of them requests.
Treatment treatmentOf(KernelOp kernel, DispatchOp dispatch, const LayerPrecisions &precisions) {
  std::optional<Treatment> all;
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [input, value] : llvm::zip_first(inputs, dispatch.getInputs())) {
    auto parameter = value.getDefiningOp<ParameterOp>();
    if (parameter && input.role == KernelInput::Role::Matrix) {
      const Precision precision = precisions.of(parameter.getParameterAttr()).precision;
      const Treatment own = {precision.narrowsRows, precision.products};
      all = all ? Treatment{all->narrowsRows && own.narrowsRows,
                            std::min(all->products, own.products)}
                : own;
    }
  }
  // A product with a matrix that is no parameter uses the rows that its type requests.
  return all.value_or(Treatment{/*narrowsRows=*/true, FloatProducts::Exact});
}

void treat(KernelOp kernel, const Treatment &treatment) {
  if (treatment.narrowsRows) {
    narrowRows(kernel);
  } else if (treatment.products != FloatProducts::Exact) {
    noteProducts(kernel, treatment.products);
  }
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
    const Precision ofProgram = *findPrecision(precision, quantisesRows);
    for (auto kernel : module.getOps<KernelOp>()) {
      treatAttention(kernel, ofProgram.attention);
    }
    const LayerPrecisions precisions(symbols, ofProgram, *rules);
    llvm::DenseMap<KernelOp, std::map<Treatment, SmallVector<DispatchOp>>> runs;
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        runs[kernel][treatmentOf(kernel, dispatch, precisions)].push_back(dispatch);
      }
    }
    // Skips the copies that are added meanwhile.
    for (KernelOp kernel : llvm::to_vector(module.getOps<KernelOp>())) {
      auto found = runs.find(kernel);
      if (found == runs.end()) {
        narrowRows(kernel);
        continue;
      }
      // The original kernel is used for the first treatment, copies for the others.
      const auto &treatments = found->second;
      for (auto each = std::next(treatments.begin()); each != treatments.end(); ++each) {
        treat(copyKernel(symbols, kernel, each->second), each->first);
      }
      treat(kernel, treatments.begin()->first);
    }
  }
};

} // namespace
} // namespace heddle
