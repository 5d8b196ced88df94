// SPDX-License-Identifier: Apache-2.0
///
/// The result of `heddle analyze` on a model's attention, and the file format it is stored in:
///
///   {"model": "m.so", "measure": "similarity of layers, ...", "theta": 0.8, "sentences": 3,
///    "positions": 71,
///    "kinds": [{"kind": "decoder", "layers": ["decoder.layers.0.self_attention", ...],
///               "positions": 35, "similarity": [[1, 0.46, ...], ...], "policy": [1, 5]}],
///    "share_attention": "self:1,5"}
///
/// "measure" explains the numbers of "similarity" to readers of the file. "theta", "policy" and
/// "share_attention" are null if no policy was requested.
#ifndef HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H
#define HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The similarity of each pair of layers' attention: 1 minus the Jensen-Shannon divergence in bits.
/// Symmetric, with a diagonal of 1.
using SimilarityMatrix = std::vector<std::vector<double>>;

/// The definition of the similarity, for the header of the file, the help and pictures.
inline constexpr std::string_view similarityMeaning =
    "1 for equal attention, 0 for nothing in common: 1 - Jensen-Shannon divergence in bits";

/// The rule by which a block grows.
enum class BlockRule : uint8_t {
  /// Up to the last layer for which the whole block is similar enough, even if a shorter block is
  /// not. The paper calls this "largest".
  Largest,
  /// As long as every added layer leaves the block similar enough.
  Extend,
};

/// Returns the mean over all pairs of `count` layers from `first` on; 1 for one layer.
double similarityOfBlock(const SimilarityMatrix &similarity, size_t first, size_t count);

/// Returns the sizes of the blocks, starting at the first layer. Each is the largest that `rule`
/// allows with a similarity above `theta`, or a single layer.
std::vector<int64_t> sharingPolicy(const SimilarityMatrix &similarity, double theta,
                                   BlockRule rule = BlockRule::Largest);

/// The attentions of one kind, in the order of the layers.
struct KindAnalysis {
  /// The name of an AttentionKind.
  std::string kind;
  /// Their names in the checkpoint.
  std::vector<std::string> layers;
  /// The number of rows analysed.
  int64_t positions = 0;
  SimilarityMatrix similarity;
  std::optional<std::vector<int64_t>> policy = std::nullopt;
};

struct AttentionAnalysis {
  std::string model;
  std::optional<double> theta = std::nullopt;
  std::vector<KindAnalysis> kinds;
  int64_t sentences = 0;
  /// The number of tokens in sources and generated texts.
  int64_t positions = 0;
};

/// Returns the argument of `heddlec --share-attention` for the policies, for example
/// "self:1,5,cross:4,2". Kinds that share nothing are omitted, so it may be empty. Nullopt if no
/// policy was requested.
std::optional<std::string> shareAttention(const AttentionAnalysis &analysis);

/// Returns the text of the file, ending in a line feed.
std::string writeAnalysis(const AttentionAnalysis &analysis);

/// Parses the text of such a file, which is untrusted. InvalidArgument describes the error.
Result<AttentionAnalysis> readAnalysis(std::string_view text);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_ATTENTIONANALYSIS_H
