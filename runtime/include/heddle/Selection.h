// SPDX-License-Identifier: Apache-2.0
///
/// What a device selects from the logits of a token, so that they need not be copied to the host:
/// the layout that the compiler writes and the runtime reads.
#ifndef HEDDLE_SELECTION_H
#define HEDDLE_SELECTION_H

#include <cstdint>
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
/// The largest vocabulary of which tokens are selected: f32 holds the number of each token.
inline constexpr int64_t largestSelectedVocabulary = int64_t(1) << 24;

/// A row of the selection consists of pairs: for each piece of the vocabulary its largest logit and
/// the sum of exp(logit - largest), then the best tokens, best first: a logit and the number of its
/// token, or minus infinity and -1 if there are no more. Minus infinity and NaN are never best.
inline constexpr int64_t selectedPair = 2;
constexpr int64_t piecesOf(int64_t vocabulary, int64_t piece) {
  return (vocabulary + piece - 1) / piece;
}

} // namespace heddle

#endif // HEDDLE_SELECTION_H
