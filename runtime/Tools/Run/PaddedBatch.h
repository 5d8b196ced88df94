// SPDX-License-Identifier: Apache-2.0
///
/// Where the tokens of ragged sequences lie in tensors of one size, which end in padding.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H
#define HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H

#include "heddle/RowSpace.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// Where the tokens of a batch lie in its tensors.
struct PaddedBatch {
  /// Tensors begin with [sequences, S] (rectangular) or [tokens]; those of ids have nothing more,
  /// those of rows of floats their width.
  bool rectangular = false;
  /// The first dimensions of every tensor.
  std::vector<int64_t> shape;
  /// Tokens of every sequence.
  std::vector<int32_t> lengths;
  /// The position of every token in such a tensor; without padding, 0, 1, 2, ...
  std::vector<int64_t> positions;
  /// The pixels in a row of each image, where images may have any width; else empty.
  std::vector<int32_t> widths = {};

  int64_t tokens() const { return static_cast<int64_t>(positions.size()); }
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }
  SequenceSizes sizes() const { return {lengths, widths}; }

  /// Whether the tokens of every sequence are the first columns of its row.
  bool areFirstColumns() const;

  /// The values of the tokens of a tensor of ids.
  std::vector<int32_t> gather(std::span<const int32_t> values) const;
  /// The rows of the tokens of a tensor [shape..., width].
  std::vector<float> gather(std::span<const float> values, int64_t width) const;
  /// Rows of the tokens, [tokens, width], spread to [shape..., width]; rows of padding are zero.
  std::vector<float> scatter(std::span<const float> rows, int64_t width) const;
  /// "row 2, column 5" or "position 7" of a token.
  std::string placeOf(int64_t token) const;
};

/// [B,S] without a mask: every row is a sequence of S tokens.
Result<PaddedBatch> batchWithoutPadding(std::span<const int64_t> shape);

/// [B,S] with a mask of ones and zeros, [B,S] too. The ones of a row stand together, at its
/// beginning, at its end or between padding.
Result<PaddedBatch> batchWithMask(std::span<const int64_t> shape, std::span<const int32_t> mask);

/// [B,S] with a mark for each token, false for padding, which may be anywhere.
Result<PaddedBatch> batchWithHoles(std::span<const int64_t> shape,
                                   const std::vector<bool> &present);

/// [B,S], where every row ends in padding: the token `pad`, from the last other token on.
Result<PaddedBatch> batchWithPadding(std::span<const int64_t> shape, std::span<const int32_t> ids,
                                     int32_t pad);

/// [B,S], whose rows have so many pieces of `piece` tokens each, then padding: rows of pixels, or
/// tokens.
Result<PaddedBatch> batchWithCounts(std::span<const int64_t> shape, std::span<const int32_t> counts,
                                    int64_t piece);

/// [B,H,W]: images of so many rows of so many pixels each, then padding to the right of them and
/// below.
Result<PaddedBatch> batchOfImages(std::span<const int64_t> shape, std::span<const int32_t> heights,
                                  std::span<const int32_t> widths);

/// [tokens], cut into sequences of these lengths.
Result<PaddedBatch> batchWithLengths(std::span<const int64_t> shape,
                                     std::span<const int32_t> lengths);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_PADDEDBATCH_H
