// SPDX-License-Identifier: Apache-2.0
///
/// Comparing names.
#include "compiler/ReportPage/AnalysisCheck.h"

#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace heddle {

Status checkAnalysis(const AttentionAnalysis &analysis, ModuleOp module, const std::string &path) {
  llvm::StringSet<> known;
  std::string example;
  module.walk([&](Operation *operation) {
    if (isa<transformer::SoftmaxOp, transformer::AttentionOp, transformer::AttentionWeightsOp>(
            operation)) {
      std::string name = checkpointName(operation->getLoc());
      example = example.empty() ? name : example;
      known.insert(name);
    }
  });
  for (const KindAnalysis &kind : analysis.kinds) {
    for (const std::string &layer : kind.layers) {
      if (!known.contains(layer)) {
        return HEDDLE_ERROR(InvalidArgument,
                            path + ": the attention \"" + layer + "\" is none of this model, " +
                                (known.empty() ? "which has no attention"
                                               : "expected names such as \"" + example + "\""));
      }
    }
  }
  return {};
}

} // namespace heddle
