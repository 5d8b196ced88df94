// SPDX-License-Identifier: Apache-2.0
///
/// The interface for step-by-step decoding: sources are encoded once, hypotheses share their common
/// beginnings, and every step appends tokens to any set of hypotheses. Generation, scoring and
/// teacher forcing use it; the search does not depend on caches or kernels.
#ifndef HEDDLE_RUNTIME_SESSION_DECODER_H
#define HEDDLE_RUNTIME_SESSION_DECODER_H

#include "heddle/ElementType.h"
#include "heddle/Selection.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

/// The ids of an encoded source and of a hypothesis of one. Ids are reused after release.
enum class SourceId : int32_t {};
enum class HypothesisId : int32_t {};
/// The number of a step, never reused.
enum class StepId : uint64_t {};

/// A source to encode: its ids or, if the model reads rows of floats, these rows one after another.
struct SourceView {
  SourceView(std::span<const int32_t> ids) : element(ElementType::I32), bytes(std::as_bytes(ids)) {}
  SourceView(std::span<const float> rows) : element(ElementType::F32), bytes(std::as_bytes(rows)) {}
  SourceView(const std::vector<int32_t> &ids) : SourceView(std::span(ids)) {}
  SourceView(const std::vector<float> &rows) : SourceView(std::span(rows)) {}

  ElementType element;
  std::span<const std::byte> bytes;
  /// The width of the image in pixels, if EntryInfo::hasWidths.
  int32_t width = 0;
};

/// How a beam search goes on whose step is under way: the device orders the continuations of its
/// hypotheses, as BeamSearch does without penalties, and takes the best that do not end.
struct BeamOrder {
  /// The live hypotheses, which are adjacent rows of that step from `firstRow` on, and the sums of
  /// their log-probabilities.
  std::span<const HypothesisId> hypotheses;
  int64_t firstRow;
  std::vector<double> sums;
  /// The number of continuations that are considered: of a hypothesis, and of all.
  int64_t wanted;
  /// The number of extensions that continue them, which are adjacent.
  int64_t width;
  /// SearchRules::refillsPlaces.
  bool refillsPlaces;
  /// The tokens that end a hypothesis, and those that are no candidates although they have ranks.
  std::span<const int32_t> ends;
  std::vector<int32_t> banned;

  /// Returns how many of the best tokens of a row the device looks at.
  int64_t tokensOfRow() const { return wanted + static_cast<int64_t>(banned.size()); }
};

/// Tokens to append to a hypothesis.
struct Extension {
  HypothesisId hypothesis;
  std::span<const int32_t> tokens;
  /// If not negative, the extension is one token that the host does not know yet, instead of
  /// `tokens`: the best token of this row of the step that began last and is under way
  /// (Decoder::runsAhead()).
  int64_t bestOf = -1;
  /// If not null, the extension is one token as well, which continues one of the hypotheses of a
  /// search: `hypothesis` is a fork of any of these, and settle() says of which it should have
  /// been.
  const BeamOrder *order = nullptr;

  /// Returns whether the host does not know its token yet.
  bool follows() const { return bestOf >= 0 || order != nullptr; }
  int64_t count() const { return follows() ? 1 : static_cast<int64_t>(tokens.size()); }
};

/// What an extension with a BeamOrder has turned out to be: `token` after the tokens of `parent`.
struct SettledExtension {
  HypothesisId hypothesis;
  HypothesisId parent;
  int32_t token;
};

/// What a device has selected from the logits of a row (heddle/Selection.h): for each chunk, as a
/// pair, its largest logit and its sum of exponentials, then the best tokens.
struct SelectedTokens {
  std::span<const float> pieces;
  std::span<const SelectedToken> best;
};

/// Receives the logits of a step in pieces: rows in the order of the extensions' tokens, and the
/// vocabulary in chunks of `logitsChunk` tokens, which depend on neither batch nor threads. The
/// logits of a whole batch are never stored.
class LogitsSink {
public:
  virtual ~LogitsSink() = default;

  // --- Devices with their own memory may select from the logits of a row instead of copying them.
  // These functions have no effect on the values of a row that needs its logits.

  /// Says, before begin(), how many of the best tokens the device can select of each row; 0: none.
  virtual void offerSelection(int64_t /*most*/, int64_t /*vocabulary*/) {}
  /// Returns how many of the best tokens of a row are needed, at most as many as offered, beside
  /// its normaliser; -1 if the row needs its logits.
  virtual int64_t bestNeeded(int64_t /*row*/) const { return -1; }
  /// Appends the tokens whose logits count as minus infinity in such a row, few of them.
  virtual void exclude(int64_t /*row*/, std::vector<int32_t> & /*tokens*/) const {}
  /// Receives a row for which bestNeeded() is not -1, instead of its logits.
  virtual void deliverSelected(int64_t /*row*/, const SelectedTokens & /*tokens*/) {}

  /// Called before the first chunk: `workers` threads will deliver `rows` rows.
  virtual void begin(int64_t rows, int64_t vocabulary, int workers) = 0;
  /// Returns whether a chunk is needed; other chunks are not computed.
  virtual bool wants(int64_t /*chunk*/) const { return true; }
  /// Returns whether a row is needed; the values delivered for other rows are undefined. Of a
  /// prompt only the last row is needed. If a device has selected from some rows, those after the
  /// last other one have no values.
  virtual bool wantsRow(int64_t /*row*/) const { return true; }
  /// Receives the logits of tokens `chunk` * logitsChunk + j, j < count, for row r in values[r *
  /// stride + j]. Called by several threads at once, each with its own chunks.
  virtual void deliver(int worker, int64_t chunk, int64_t count, const float *values,
                       int64_t stride) = 0;
};

/// Receives the attention of a step over the source, in the last layer, if requested.
struct AttentionWeights {
  /// [rows][heads][longest source], resized by the call.
  std::vector<float> values;
  int64_t heads = 0;
  int64_t pitch = 0;
};

/// The model behind a search. Not thread-safe.
class Decoder {
public:
  virtual ~Decoder() = default;

  /// Returns the size of the generated vocabulary.
  virtual int64_t vocabulary() const = 0;
  /// Returns whether hypotheses belong to sources. Otherwise they continue a prompt, and sources
  /// are empty.
  virtual bool hasSources() const = 0;
  /// Return the maximum number of tokens of a source, and of a hypothesis (including its start); 0:
  /// unlimited.
  virtual int64_t longestSource() const = 0;
  virtual int64_t longestTarget() const = 0;

  /// Encodes sources of at least one token each, if the model has sources. ResourceExhausted if the
  /// cache has no room for all of them; then none is encoded.
  virtual Status encode(std::span<const SourceView> sources, std::span<SourceId> ids) = 0;
  /// Returns the number of positions of a source's keys: its tokens, or the rows derived from them.
  virtual int64_t positions(SourceId source) const = 0;
  /// Releases a source, whose hypotheses must have been released before.
  virtual void release(SourceId source) = 0;

  /// Creates a hypothesis without tokens.
  virtual Result<HypothesisId> start(SourceId source) = 0;
  /// Creates a second hypothesis with the same tokens. It shares all cache blocks and the state
  /// row; the state row, and a last block that is not full, are copied when either hypothesis is
  /// extended.
  virtual Result<HypothesisId> fork(HypothesisId hypothesis) = 0;
  virtual void release(HypothesisId hypothesis) = 0;
  /// Returns the number of tokens appended so far.
  virtual int64_t length(HypothesisId hypothesis) const = 0;

  /// Returns the number of tokens in a unit that hypotheses reuse from others; 0: they never do.
  virtual int64_t sharedUnit() const { return 0; }
  /// Returns how many of the first tokens of a hypothesis it could reuse now.
  virtual int64_t shareable(std::span<const int32_t> /*tokens*/) const { return 0; }
  /// `tokens` are the tokens of the hypothesis followed by those that will be appended. Appends
  /// those of the latter, except the last, that others have computed after the same tokens, and
  /// returns their number. If this is called for an empty hypothesis, others may reuse that
  /// hypothesis's tokens.
  virtual int64_t takeOver(HypothesisId /*hypothesis*/, std::span<const int32_t> /*tokens*/) {
    return 0;
  }

  /// Appends the tokens of every extension, at least one each, and delivers the logits after each
  /// token. Hypotheses of one source should be adjacent, so that they read its keys together.
  /// ResourceExhausted if the cache is full; then nothing has changed.
  Status decode(std::span<const Extension> extensions, LogitsSink &sink,
                AttentionWeights *attention = nullptr) {
    HEDDLE_ASSIGN(const StepId step, begin(extensions, sink, attention));
    return finish(step);
  }

  /// Begins such a step; the device may execute it after the call has returned. The sink may be
  /// called until finish() returns, and must stay valid until then, like the tokens and
  /// `attention`. Hypotheses count as extended, and may be released at any time. At most two steps
  /// are under way: one that appends tokens of the device follows the one before it, and any other
  /// one lets those before it end first, as encode() does.
  virtual Result<StepId> begin(std::span<const Extension> extensions, LogitsSink &sink,
                               AttentionWeights *attention = nullptr) = 0;
  /// Waits for a step, after which its logits are delivered; its failure is that of the step.
  virtual Status finish(StepId step) = 0;
  /// Ends a step whose logits are not needed any more, without waiting for it. The hypotheses that
  /// it extended must be released.
  virtual void drop(StepId step) = 0;
  /// Returns whether a step may append the best tokens of the step before while that is under way.
  /// Such a row must need at least one best token, and not its logits (LogitsSink::bestNeeded()).
  virtual bool runsAhead() const { return false; }
  /// Returns why a step may not continue the hypotheses of a search while the step before is under
  /// way, although runsAhead(); an empty text if it may.
  virtual std::string_view reasonAgainst(const BeamOrder & /*search*/) const {
    return "hypotheses are compared";
  }
  /// Says what the first extensions of a search, in order, have turned out to be, after the step
  /// before was finished and before the parents are released. The others must be released.
  virtual void settle(std::span<const SettledExtension> /*extensions*/) {}

  /// Returns the number of cache blocks and state rows in use, for tests and reports: 0 after all
  /// were released. Blocks that are only kept for reuse do not count.
  virtual int64_t blocksInUse() const = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_DECODER_H
