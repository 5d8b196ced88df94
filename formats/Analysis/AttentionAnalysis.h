// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle analyze` finds out about a model's attention, and the file it writes:
///
///   {"model": "m.so", "theta": 0.8, "sentences": 3, "positions": 71,
///    "kinds": [{"kind": "decoder", "layers": ["decoder.layers.0.self_attention", ...],
///               "positions": 35, "divergence": [[0, 0.54, ...], ...], "policy": [1, 5]}],
///    "share_attention": "self:1,5"}
///
/// "theta", "policy" and "share_attention" are null where no policy was asked for.
#ifndef HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H
#define HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H

#include "formats/Analysis/SharingPolicy.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The attentions of one kind, in the order of the layers.
struct KindAnalysis {
  /// The name of an AttentionKind.
  std::string kind;
  /// Their names in the checkpoint.
  std::vector<std::string> layers;
  /// Rows that were looked at.
  int64_t positions = 0;
  DivergenceMatrix divergence;
  std::optional<std::vector<int64_t>> policy = std::nullopt;
};

struct AttentionAnalysis {
  std::string model;
  std::optional<double> theta = std::nullopt;
  std::vector<KindAnalysis> kinds;
  int64_t sentences = 0;
  /// Tokens of sources and of what the model made of them.
  int64_t positions = 0;
};

/// What `heddlec --share-attention` takes for the policies: "self:1,5,cross:4,2", without the kinds
/// that share nothing; empty if all are. Nothing if no policy was asked for.
std::optional<std::string> shareAttention(const AttentionAnalysis &analysis);

/// The file, ending in a line feed.
std::string writeAnalysis(const AttentionAnalysis &analysis);

/// Reads what writeAnalysis() wrote, or anyone: InvalidArgument says what is wrong with the text.
Result<AttentionAnalysis> readAnalysis(std::string_view text);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H
