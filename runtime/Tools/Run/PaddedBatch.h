// SPDX-License-Identifier: Apache-2.0
///
/// The positions of the tokens of ragged sequences in padded tensors.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H
#define HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H

#include "heddle/RowSpace.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// The positions of a batch's tokens in its tensors.
struct PaddedBatch {
  /// Whether tensors begin with [sequences, S] instead of [tokens]. Tensors of ids have no other
  /// dimensions, tensors of rows of floats also have their width.
  bool rectangular = false;
  /// The first dimensions of every tensor.
  std::vector<int64_t> shape;
  /// The number of tokens of every sequence.
  std::vector<int32_t> lengths;
  /// The position of every token in such a tensor; without padding, 0, 1, 2, ...
  std::vector<int64_t> positions;
  /// The width of each image in pixels, if images may have any width; otherwise empty.
  std::vector<int32_t> widths = {};

  int64_t tokens() const { return static_cast<int64_t>(positions.size()); }
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }
  SequenceSizes sizes() const { return {lengths, widths}; }

  /// Returns whether the tokens of every sequence are the first columns of its row.
  bool areFirstColumns() const;

  /// Gathers the values of the tokens from a tensor of ids.
  std::vector<int32_t> gather(std::span<const int32_t> values) const;
  /// Gathers the rows of the tokens from a tensor [shape..., width].
  std::vector<float> gather(std::span<const float> values, int64_t width) const;
  /// Scatters the rows of the tokens, [tokens, width], to [shape..., width]; rows of padding are
  /// zero.
  std::vector<float> scatter(std::span<const float> rows, int64_t width) const;
  /// Returns the place of a token: "row 2, column 5" or "position 7".
  std::string placeOf(int64_t token) const;
};

/// Creates a batch from [B,S] without a mask: every row is a sequence of S tokens.
Result<PaddedBatch> batchWithoutPadding(std::span<const int64_t> shape);

/// Creates a batch from [B,S] with a [B,S] mask of ones and zeros. The ones of a row are
/// contiguous, with padding before them, after them or both.
Result<PaddedBatch> batchWithMask(std::span<const int64_t> shape, std::span<const int32_t> mask);

/// Creates a batch from [B,S] with a flag for each token; false for padding, which may be anywhere.
Result<PaddedBatch> batchWithHoles(std::span<const int64_t> shape,
                                   const std::vector<bool> &present);

/// Creates a batch from [B,S] whose rows may end in padding: the token `pad`, after the last other
/// token.
Result<PaddedBatch> batchWithPadding(std::span<const int64_t> shape, std::span<const int32_t> ids,
                                     int32_t pad);

/// Creates a batch from [B,S] whose rows have `counts` pieces of `piece` tokens each, followed by
/// padding: rows of pixels, or tokens.
Result<PaddedBatch> batchWithCounts(std::span<const int64_t> shape, std::span<const int32_t> counts,
                                    int64_t piece);

/// Creates a batch from [B,H,W]: images of the given heights and widths, with padding on the right
/// and below.
Result<PaddedBatch> batchOfImages(std::span<const int64_t> shape, std::span<const int32_t> heights,
                                  std::span<const int32_t> widths);

/// Creates a batch from [tokens], split into sequences of these lengths.
Result<PaddedBatch> batchWithLengths(std::span<const int64_t> shape,
                                     std::span<const int32_t> lengths);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H
