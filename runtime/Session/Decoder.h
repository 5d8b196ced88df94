// SPDX-License-Identifier: Apache-2.0
///
/// Decoding, one step at a time: sources are encoded once, hypotheses of them share what they have
/// in common, and every step appends tokens to any set of hypotheses. What generation, scoring and
/// teacher forcing are written against; the search knows nothing of caches or kernels.
#ifndef HEDDLE_RUNTIME_SESSION_DECODER_H
#define HEDDLE_RUNTIME_SESSION_DECODER_H

#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A source sentence that was encoded; a hypothesis of one. Numbers are used again once released.
enum class SourceId : int32_t {};
enum class HypothesisId : int32_t {};

/// What is encoded: the ids of a source or, where the model reads those, its rows of floats end to
/// end.
struct SourceView {
  SourceView(std::span<const int32_t> ids) : element(ElementType::I32), bytes(std::as_bytes(ids)) {}
  SourceView(std::span<const float> rows) : element(ElementType::F32), bytes(std::as_bytes(rows)) {}
  SourceView(const std::vector<int32_t> &ids) : SourceView(std::span(ids)) {}
  SourceView(const std::vector<float> &rows) : SourceView(std::span(rows)) {}

  ElementType element;
  std::span<const std::byte> bytes;
  /// The pixels in a row of these, where EntryInfo::hasWidths.
  int32_t width = 0;
};

/// Tokens to append to a hypothesis.
struct Extension {
  HypothesisId hypothesis;
  std::span<const int32_t> tokens;
};

/// Takes the logits of a step, piece by piece: rows in the order of the extensions' tokens, tokens
/// of the vocabulary in chunks of `logitsChunk`, which do not depend on batch or threads. A whole
/// batch of logits never exists.
class LogitsSink {
public:
  virtual ~LogitsSink() = default;
  /// Before the first chunk: `workers` threads will deliver `rows` rows.
  virtual void begin(int64_t rows, int64_t vocabulary, int workers) = 0;
  /// Whether a chunk is wanted at all; those that are not are not computed.
  virtual bool wants(int64_t /*chunk*/) const { return true; }
  /// The same of a row: what is delivered for one that is not wanted has no meaning. Of a prompt
  /// only the last row is.
  virtual bool wantsRow(int64_t /*row*/) const { return true; }
  /// Logit of token `chunk` * logitsChunk + j for row r is values[r * stride + j], j < count.
  /// Called by several threads at once, each with chunks of its own.
  virtual void deliver(int worker, int64_t chunk, int64_t count, const float *values,
                       int64_t stride) = 0;
};

/// Tokens of a chunk of logits: enough to divide the work, few enough to stay in a cache.
inline constexpr int64_t logitsChunk = 768;

/// Where the attention of a step goes, when asked for: over the source, of the last layer.
struct AttentionWeights {
  /// [rows][heads][sources' longest], resized by the call.
  std::vector<float> values;
  int64_t heads = 0;
  int64_t pitch = 0;
};

/// The model behind a search. One thread at a time.
class Decoder {
public:
  virtual ~Decoder() = default;

  /// Tokens of the vocabulary that is generated.
  virtual int64_t vocabulary() const = 0;
  /// Whether hypotheses answer sources. Otherwise they continue what they begin with, and sources
  /// are empty.
  virtual bool hasSources() const = 0;
  /// The most tokens of a source and of a hypothesis (its start included); 0: any.
  virtual int64_t longestSource() const = 0;
  virtual int64_t longestTarget() const = 0;

  /// Encodes sources of at least one token each, where there are any. ResourceExhausted when the
  /// cache has no room for all of them: then none was encoded.
  virtual Status encode(std::span<const SourceView> sources, std::span<SourceId> ids) = 0;
  /// The positions that attention to a source has: its tokens, or the rows that derive from them.
  virtual int64_t positions(SourceId source) const = 0;
  /// Hypotheses of it must have been released before.
  virtual void release(SourceId source) = 0;

  /// A hypothesis without tokens.
  virtual Result<HypothesisId> start(SourceId source) = 0;
  /// A second hypothesis with the same tokens. Shares all blocks of the cache, and the row of its
  /// states; that and the last block, when it is not full, are copied by whichever is extended
  /// first.
  virtual Result<HypothesisId> fork(HypothesisId hypothesis) = 0;
  virtual void release(HypothesisId hypothesis) = 0;
  /// Tokens appended so far.
  virtual int64_t length(HypothesisId hypothesis) const = 0;

  /// How many tokens at a time hypotheses take over from others; 0: they never do.
  virtual int64_t sharedUnit() const { return 0; }
  /// How many of the tokens with which a hypothesis begins it would take over now.
  virtual int64_t shareable(std::span<const int32_t> /*tokens*/) const { return 0; }
  /// `tokens` are those that the hypothesis has, and those that will be appended. Appends as many
  /// of the latter as others have computed after the same tokens, but for the last, and returns how
  /// many. A hypothesis for which this was called before it had any leaves its own to others.
  virtual int64_t takeOver(HypothesisId /*hypothesis*/, std::span<const int32_t> /*tokens*/) {
    return 0;
  }

  /// Appends the tokens of every extension, at least one each, and delivers the logits that follow
  /// each of them. Hypotheses of one source should be neighbours: they then read its keys together.
  /// ResourceExhausted when the cache is full: then nothing has changed.
  virtual Status decode(std::span<const Extension> extensions, LogitsSink &sink,
                        AttentionWeights *attention = nullptr) = 0;

  /// Blocks of the cache and rows of states in use, for tests and reports: none when all was
  /// released. Blocks that are only kept for others to take over do not count.
  virtual int64_t blocksInUse() const = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_DECODER_H
