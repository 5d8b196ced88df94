// SPDX-License-Identifier: Apache-2.0
///
/// heddle analyze: how much the attention of a model's layers differs, as JSON and as a heat map.
#ifndef HEDDLE_RUNTIME_TOOLS_ANALYZE_ANALYZECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_ANALYZE_ANALYZECOMMAND_H

#include "formats/Analysis/SimilarLayers.h"
#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <optional>
#include <string>

namespace heddle::tools {

struct AnalyzeOptions : SubcommandOptions, CorpusOptions {
  /// The analysis as .json: a file, or "-" for standard output.
  std::string output = "-";
  /// A picture; empty: none.
  std::string svg;
  /// The similarity above which layers share; unset: no policy.
  std::optional<double> theta;
  BlockRule blocks = BlockRule::Largest;
};
void declare(OptionList &list, AnalyzeOptions &options);
Status execute(const AnalyzeOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_ANALYZE_ANALYZECOMMAND_H
