// SPDX-License-Identifier: Apache-2.0
///
/// A report as a self-contained HTML page: the program before and after compilation, with every
/// decision. Its template, style and scripts are in compiler/ReportPage/Page; the data of a
/// compilation is inserted as one JSON document.
#ifndef HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H
#define HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H

#include "compiler/Cost/PredictedGain.h"
#include "compiler/Cost/ProgramCosts.h"
#include "compiler/Remarks/Report.h"
#include "compiler/ReportPage/ProgramGraph.h"
#include "formats/Analysis/AttentionAnalysis.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// Weights that are stored in fewer bits than f32.
struct RoundedWeights {
  /// The tensors of the checkpoint, and the type that they are stored in.
  std::string where, stored;
  /// The relative error in the 2-norm; NaN if an element is NaN.
  double error = 0;
  int64_t bytes = 0, bytesInBf16 = 0;
};

/// A suggestion to keep layers in another precision.
struct KeepOption {
  /// The value of --keep: "attention.self=int8".
  std::string option;
  /// The share of the squared errors that it removes, and its cost.
  double share = 0;
  int64_t bytes = 0;
};

/// Filled phase by phase, because each phase changes the program in place.
class ReportPage {
public:
  /// Adds a line to the page's head: "targets", "x86-64-v3, x86-64-v4".
  void addFact(const std::string &name, const std::string &value) {
    facts.emplace_back(name, value);
  }
  /// Adds the program after a phase of the model level: "model", then "fused".
  void addProgram(const std::string &phase, mlir::ModuleOp module) {
    programs.emplace_back(phase, programGraph(module));
  }
  /// Sets the costs after the phase `dataflow`.
  void setCosts(std::vector<EntryCosts> counted) { costs = std::move(counted); }
  void setGain(PredictedGain predicted) { gain = std::move(predicted); }
  /// Adds heat maps of an analysis. Rejects an analysis of another model: one with layers that
  /// `module` does not have. `path` is its file, for messages.
  Status setAnalysis(AttentionAnalysis measured, mlir::ModuleOp module, const std::string &path);

  /// Adds the rounding errors of weights, the largest first, and suggestions to keep layers, the
  /// most useful first.
  void setRounding(std::vector<RoundedWeights> weights, std::vector<KeepOption> options) {
    rounded = std::move(weights);
    worthKeeping = std::move(options);
  }

  /// Returns the page about the model `model`.
  std::string html(const std::string &model, const Report &report) const;

private:
  std::string json(const std::string &model, const Report &report) const;

  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::pair<std::string, std::vector<EntryGraph>>> programs;
  std::vector<EntryCosts> costs;
  PredictedGain gain;
  std::optional<AttentionAnalysis> analysis;
  std::vector<RoundedWeights> rounded;
  std::vector<KeepOption> worthKeeping;
};

/// Escapes the characters of JSON that could end the surrounding HTML element or begin another.
std::string escapedForPage(llvm::StringRef json);

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H
