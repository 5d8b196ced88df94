// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle analyze` measured of a model, as it writes it, for the report to show: how far the
/// attention distributions of two layers are from each other.
#ifndef HEDDLE_COMPILER_REPORT_ANALYSIS_H
#define HEDDLE_COMPILER_REPORT_ANALYSIS_H

#include "heddle/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The attention of the encoder, of the decoder to itself, or to the source.
struct AttentionAnalysis {
  std::string kind;
  /// Checkpoint names.
  std::vector<std::string> layers;
  /// Between 0 and 1, a row and a column a layer.
  std::vector<std::vector<double>> divergence;
  /// Sizes of the blocks of layers that would share.
  std::optional<std::vector<int64_t>> policy;
};

struct Analysis {
  std::string model;
  std::optional<double> theta;
  int64_t sentences = 0;
  int64_t positions = 0;
  std::vector<AttentionAnalysis> kinds;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORT_ANALYSIS_H
