// SPDX-License-Identifier: Apache-2.0
///
/// What a device selects from the logits of a token, so that they need not be copied to the host:
/// the layout that the compiler writes and the runtime reads.
#ifndef HEDDLE_SELECTION_H
#define HEDDLE_SELECTION_H

#include <cstdint>
#include <limits>
#include <string_view>

namespace heddle {

/// The output of "decode" that holds the selection, and its kind among observed outputs.
inline constexpr std::string_view selectionOutput = "selection";

/// The tokens in a piece of logits: enough to divide the work, few enough to stay in a cache.
inline constexpr int64_t logitsChunk = 768;
/// The partial sums of exponentials of a piece: value i belongs to sum i % sumsOfPiece, and the
/// sums are added in order, in double precision.
inline constexpr int64_t sumsOfPiece = 16;
static_assert(logitsChunk % sumsOfPiece == 0);

/// The largest number of best tokens that a compiled model selects of a row.
inline constexpr int64_t mostSelected = 64;
/// The largest vocabulary of which tokens are selected: their numbers are i32.
inline constexpr int64_t largestSelectedVocabulary = std::numeric_limits<int32_t>::max();

/// What a device finds in each piece of a row before it selects, in a buffer of its own: words for
/// its largest logit, the sum of exp(logit - largest), and the token of that logit, an i32. If
/// there is no such token, the logit is minus infinity, and the token is 0. Minus infinity and NaN
/// are never largest.
inline constexpr int64_t peakWords = 3;

/// A row of the selection consists of pairs of words: for each piece of the vocabulary its largest
/// logit and the sum of exp(logit - largest), then the best tokens, best first.
inline constexpr int64_t selectedPair = 2;

/// One of the best tokens, whose number is an i32 as in the ids of a step: the next step may read
/// it where it is. If there are no more tokens, the logit is minus infinity, and the number is that
/// of some token, 0. Minus infinity and NaN are never best.
struct SelectedToken {
  float logit;
  int32_t token;
  bool operator==(const SelectedToken &) const = default;
};
static_assert(sizeof(SelectedToken) == selectedPair * sizeof(float));

/// The kernel of an image with selections that excludes tokens before them: it is an entry beside
/// those of the model, as in heddle/HypothesisOrder.h. A launch has a row for each excluded
/// element, and one column. Operands: logits, f32; and [rows] i64, the elements that become minus
/// infinity.
inline constexpr const char *exclusionEntry = "logits$exclude";
inline constexpr int64_t exclusionThreads = 64;

constexpr int64_t piecesOf(int64_t vocabulary, int64_t piece) {
  return (vocabulary + piece - 1) / piece;
}

} // namespace heddle

#endif // HEDDLE_SELECTION_H
