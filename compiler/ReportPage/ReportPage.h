// SPDX-License-Identifier: Apache-2.0
///
/// A report as one page that needs nothing else: what a compilation made of a program, before and
/// after, with every decision. The page's own files are in compiler/ReportPage/Page; what is known
/// only when a model is compiled goes in as one JSON document.
#ifndef HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H
#define HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H

#include "compiler/Cost/PredictedGain.h"
#include "compiler/Cost/ProgramCosts.h"
#include "compiler/Remarks/Report.h"
#include "compiler/ReportPage/ProgramGraph.h"
#include "formats/Analysis/AttentionAnalysis.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// Filled in phase by phase, as each changes the program for good.
class ReportPage {
public:
  /// A line of the page's head: "targets", "x86-64-v3, x86-64-v4".
  void addFact(const std::string &name, const std::string &value) {
    facts.emplace_back(name, value);
  }
  /// The program of a phase of the model level: "model" before, "fused" after.
  void addProgram(const std::string &phase, mlir::ModuleOp module) {
    programs.emplace_back(phase, programGraph(module));
  }
  /// Of the dataflow phase.
  void setCosts(std::vector<EntryCosts> counted) { costs = std::move(counted); }
  void setGain(PredictedGain predicted) { gain = std::move(predicted); }
  void setAnalysis(AttentionAnalysis measured) { analysis = std::move(measured); }

  /// The page about a model of that name.
  std::string html(const std::string &model, const Report &report) const;

private:
  std::string json(const std::string &model, const Report &report) const;

  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::pair<std::string, std::vector<EntryGraph>>> programs;
  std::vector<EntryCosts> costs;
  PredictedGain gain;
  std::optional<AttentionAnalysis> analysis;
};

/// JSON with no character that could end the element of a page it is in, or begin another.
std::string escapedForPage(llvm::StringRef json);

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORTPAGE_REPORTPAGE_H
