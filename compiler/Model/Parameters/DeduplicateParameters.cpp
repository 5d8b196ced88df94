// SPDX-License-Identifier: Apache-2.0
///
/// Merges parameters of the same type with the same source or expression into one symbol, so that
/// passes that compare symbols see tied weights.
///
/// Before:
///   transformer.parameter @a : tensor<8x4xf32> from "word.weight"
///   transformer.parameter @b : tensor<8x4xf32> from "word.weight"
/// After: @a, and every use of @b is one of @a.
///
/// Tensors with equal contents but different names are merged in the binary, not here: values never
/// enter the program. Tested by tests/compiler/Model/Parameters/deduplicate-parameters.mlir.
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_DEDUPLICATEPARAMETERSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the parameter's source or expression, and its type.
std::pair<Attribute, Type> contentOf(ParameterOp parameter) {
  Attribute content = parameter.getSourceAttr();
  return {content ? content : parameter.getExpressionAttr(), parameter.getType()};
}

struct DeduplicateParametersPass : impl::DeduplicateParametersPassBase<DeduplicateParametersPass> {
  using Base::Base;

  void runOnOperation() override {
    // Renaming operands can make two expressions equal, so this repeats, at most as often as
    // expressions are nested.
    while (deduplicate()) {
    }
  }

  bool deduplicate() {
    llvm::DenseMap<std::pair<Attribute, Type>, ParameterOp> known;
    llvm::DenseMap<Attribute, Attribute> renamed;
    for (ParameterOp parameter : llvm::make_early_inc_range(getOperation().getOps<ParameterOp>())) {
      auto [place, isNew] = known.try_emplace(contentOf(parameter), parameter);
      if (isNew) {
        continue;
      }
      ParameterOp kept = place->second;
      reportTaken(parameter.getLoc(), passNames::deduplicateParameters,
                  "@" + parameter.getSymName() + " is @" + kept.getSymName(),
                  {.weightBytes = byteSize(parameter)});
      renamed[FlatSymbolRefAttr::get(parameter.getSymNameAttr())] =
          FlatSymbolRefAttr::get(kept.getSymNameAttr());
      parameter.erase();
    }
    if (renamed.empty()) {
      return false;
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
      auto replacement = renamed.find(symbol);
      return replacement == renamed.end() ? std::nullopt : std::optional(replacement->second);
    });
    replacer.recursivelyReplaceElementsIn(getOperation());
    return true;
  }
};

} // namespace
} // namespace heddle
