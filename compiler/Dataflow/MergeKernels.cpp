// SPDX-License-Identifier: Apache-2.0
///
/// Merges kernels with the same computation into one symbol, named after that computation for
/// profiles, reports and `perf`. Twelve equal layers then share the code of one.
///
/// ```mlir
/// dataflow.kernel @contract : ...   computes #dataflow.contract<n = 1536, k = 384>    // gelu
/// dataflow.kernel @contract_7 : ... computes #dataflow.contract<n = 1536, k = 384>    // gelu
/// ```
/// becomes `@contract_1536x384_gelu`. Kernels are equal if they have the same type, family, norm,
/// regions, and note on products of f32. Tests: tests/compiler/Dataflow/merge-kernels.mlir
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"
#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "compiler/Passes.h.inc"

namespace {

// --- Names -----------------------------------------------------------------------------------

/// Returns whether a value is an element of rows, rather than of a vector such as a bias.
bool isRowElement(KernelOp kernel, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    return false;
  }
  EpilogueSupport support = kernel.getComputes().getEpilogueSupport();
  if (support == EpilogueSupport::MapsScores) {
    return argument.getArgNumber() > 0;
  }
  if (support == EpilogueSupport::IsRegion) {
    return true;
  }
  unsigned index = argument.getArgNumber();
  return index > 0 && isRows(kernel.getOperandBuffer(kernel.getNumInputs() + index - 1));
}

bool isConstant(Value value) { return value.getDefiningOp<arith::ConstantOp>() != nullptr; }

/// Returns the word for an operation of an epilogue outside activations; empty for a bias.
StringRef wordFor(KernelOp kernel, Operation &op) {
  auto readsRows = [&](Operation &each) {
    return llvm::any_of(each.getOperands(),
                        [&](Value value) { return isRowElement(kernel, value); });
  };
  if (isa<arith::AddFOp>(op)) {
    return readsRows(op) ? "add" : "";
  }
  if (isa<arith::MulFOp>(op)) {
    return readsRows(op) ? "multiply" : llvm::any_of(op.getOperands(), isConstant) ? "scale" : "";
  }
  if (isa<arith::SubFOp>(op)) {
    return readsRows(op) ? "subtract" : "";
  }
  if (isa<arith::DivFOp>(op)) {
    return readsRows(op) ? "divide" : "";
  }
  return "";
}

/// Summarises the maths of a region in a few words, each after an underscore.
std::string wordsOf(KernelOp kernel, Block &block, ActivationMatcher &activations) {
  SmallVector<StringRef> words;
  llvm::SmallPtrSet<Operation *, 8> inActivations;
  // In reverse, because the maths of one activation may contain that of another.
  for (Operation &op : llvm::reverse(block)) {
    if (inActivations.contains(&op)) {
      continue;
    }
    if (auto match = activations.match(&op)) {
      words.push_back(stringifyActivation(match->activation));
      inActivations.insert(match->operations.begin(), match->operations.end());
    } else {
      words.push_back(wordFor(kernel, op));
    }
  }
  std::string text;
  for (StringRef word : llvm::reverse(words)) {
    text += (word.empty() ? "" : "_") + word.str();
  }
  return text;
}

/// Summarises the computation of a kernel: contract_384x1536_add_layer_norm.
std::string describe(KernelOp kernel, ActivationMatcher &activations) {
  KernelFamily family = kernel.getComputes();
  std::string name = family.getFamilyName().str() + "_" + family.getSizes(kernel.getKernelType());
  // Attention that GPUs compute in bf16 is still f32 on CPUs, and most binaries are for CPUs only.
  const FloatProducts products = floatProductsOf(kernel);
  if (products != FloatProducts::Exact && products != FloatProducts::Bf16) {
    name += "_" + floatProductsName(products).str();
  }
  for (Block &pairs : kernel.getPairs()) {
    name += wordsOf(kernel, pairs, activations);
  }
  name += wordsOf(kernel, kernel.getEpilogue().front(), activations);
  if (NormAttr norm = kernel.getNormAttr()) {
    name += "_" + stringifyNormKind(norm.getKind()).str();
  }
  return name;
}

// --- Equality --------------------------------------------------------------------------------

bool areEqual(KernelOp left, KernelOp right) {
  return left.getKernelType() == right.getKernelType() &&
         left.getComputes() == right.getComputes() && left.getNormAttr() == right.getNormAttr() &&
         floatProductsOf(left) == floatProductsOf(right) &&
         llvm::all_of(llvm::zip_equal(left->getRegions(), right->getRegions()), [](auto regions) {
           auto [mine, other] = regions;
           return OperationEquivalence::isRegionEquivalentTo(&mine, &other,
                                                             OperationEquivalence::IgnoreLocations);
         });
}

/// Hashes a kernel so that equal epilogues have equal hashes: a program may have as many kernels of
/// one family as operations.
size_t hashOf(KernelOp kernel) {
  llvm::DenseMap<Value, size_t> numbers;
  llvm::hash_code hash = llvm::hash_combine(kernel.getNormAttr(), floatProductsOf(kernel));
  for (Region &region : kernel->getRegions()) {
    for (BlockArgument argument : region.getArguments()) {
      numbers.try_emplace(argument, numbers.size());
    }
    for (Operation &op : region.getOps()) {
      hash = llvm::hash_combine(hash, op.getName(), op.getAttrDictionary());
      for (Value operand : op.getOperands()) {
        hash = llvm::hash_combine(hash, numbers.lookup(operand));
      }
      for (Value result : op.getResults()) {
        numbers.try_emplace(result, numbers.size());
      }
    }
  }
  return hash;
}

/// Classes of equal kernels, in the order of the first of each.
using Classes = SmallVector<SmallVector<KernelOp>>;

Classes classify(ArrayRef<KernelOp> kernels) {
  Classes classes;
  // Compares only kernels with the same type, family and hash.
  llvm::DenseMap<std::tuple<Type, Attribute, size_t>, SmallVector<size_t>> alike;
  for (KernelOp kernel : kernels) {
    SmallVector<size_t> &candidates =
        alike[{kernel.getKernelType(), kernel.getComputes(), hashOf(kernel)}];
    auto found = llvm::find_if(
        candidates, [&](size_t index) { return areEqual(classes[index].front(), kernel); });
    if (found != candidates.end()) {
      classes[*found].push_back(kernel);
    } else {
      candidates.push_back(classes.size());
      classes.push_back({kernel});
    }
  }
  return classes;
}

/// Returns all kernels: first those with dispatches, in the order of the graphs, then the others.
SmallVector<KernelOp> kernelsInOrder(ModuleOp module, SymbolTable &symbols) {
  llvm::SetVector<Operation *> ordered;
  for (auto graph : module.getOps<GraphOp>()) {
    for (auto dispatch : graph.getDispatches()) {
      ordered.insert(symbols.lookup(dispatch.getKernel()));
    }
  }
  for (auto kernel : module.getOps<KernelOp>()) {
    ordered.insert(kernel);
  }
  return llvm::map_to_vector(ordered, [](Operation *op) { return cast<KernelOp>(op); });
}

struct MergeKernels : impl::MergeKernelsPassBase<MergeKernels> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::StringSet<> taken;
    for (Operation &op : module.getBody()->getOperations()) {
      if (auto symbol = dyn_cast<SymbolOpInterface>(op); symbol && !isa<KernelOp>(op)) {
        taken.insert(symbol.getName());
      }
    }
    llvm::StringMap<int64_t> numbers;
    llvm::DenseMap<StringAttr, StringAttr> renamed;
    Classes classes = classify(kernelsInOrder(module, symbols));
    ActivationMatcher activations(&getContext());
    for (ArrayRef<KernelOp> equal : classes) {
      StringAttr name = StringAttr::get(
          &getContext(), uniqueName(describe(equal.front(), activations), taken, numbers));
      for (KernelOp kernel : equal) {
        renamed[kernel.getSymNameAttr()] = name;
      }
    }
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        StringAttr kernel = dispatch.getKernelAttr().getAttr();
        dispatch.setKernelAttr(FlatSymbolRefAttr::get(renamed.lookup(kernel)));
      }
    }
    llvm::DenseMap<StringAttr, int64_t> runs = countRuns(module);
    for (ArrayRef<KernelOp> equal : classes) {
      KernelOp first = equal.front();
      first.setSymNameAttr(renamed.lookup(first.getSymNameAttr()));
      for (KernelOp other : equal.drop_front()) {
        other.erase();
      }
      if (equal.size() > 1) {
        reportTaken(first.getLoc(), passNames::mergeKernels,
                    llvm::Twine(runs.lookup(first.getSymNameAttr())) + " dispatches run " +
                        first.getSymName());
      }
    }
  }

  /// `numbers` holds the next suffix of each stem: there may be as many kernels with one stem as
  /// operations.
  static std::string uniqueName(const std::string &stem, llvm::StringSet<> &taken,
                                llvm::StringMap<int64_t> &numbers) {
    std::string name = stem;
    int64_t &number = numbers.try_emplace(stem, 2).first->second;
    for (; !taken.insert(name).second; ++number) {
      name = stem + "_" + std::to_string(number);
    }
    return name;
  }
};

} // namespace
} // namespace heddle
