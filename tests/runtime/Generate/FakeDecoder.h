// SPDX-License-Identifier: Apache-2.0
///
/// A language model that hashes the tokens so far, behind the interface of a decoder, so that any
/// search over it can be compared with one that queries the model directly. Checks that everything
/// is released.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_FAKEDECODER_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_FAKEDECODER_H

#include "heddle/HypothesisOrder.h"
#include "runtime/Session/Decoder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// The model. Token 0 is padding, 1 the start, 2 the end, which becomes likelier with every token.
struct HashModel {
  int64_t vocabulary = 40;
  /// Logits are rounded to multiples of 1 / levels: with few levels, ties are frequent. 0: no
  /// rounding.
  int levels = 0;

  std::vector<float> logits(std::span<const int32_t> source, std::span<const int32_t> target) const;
  /// Returns the attention of the last token of the target, [heads][source].
  std::vector<float> attention(std::span<const int32_t> source, std::span<const int32_t> target,
                               int64_t heads) const;
};

class FakeDecoder final : public Decoder {
public:
  explicit FakeDecoder(HashModel model, int workers = 1, int64_t capacity = 0)
      : model(model), workers(workers), capacity(capacity) {}

  int64_t vocabulary() const override { return model.vocabulary; }
  bool hasSources() const override { return answers; }
  int64_t longestSource() const override { return 100; }
  int64_t longestTarget() const override { return 100; }
  Status encode(std::span<const SourceView> texts, std::span<SourceId> ids) override;
  int64_t positions(SourceId source) const override;
  void release(SourceId source) override;
  Result<HypothesisId> start(SourceId source) override;
  Result<HypothesisId> fork(HypothesisId hypothesis) override;
  void release(HypothesisId hypothesis) override;
  int64_t length(HypothesisId hypothesis) const override;
  Result<StepId> begin(std::span<const Extension> extensions, LogitsSink &sink,
                       AttentionWeights *attention) override;
  Status finish(StepId step) override;
  void drop(StepId step) override;
  bool runsAhead() const override { return selects > 0; }
  std::string_view reasonAgainst(const BeamOrder &search) const override {
    const size_t all = search.hypotheses.size() * static_cast<size_t>(search.tokensOfRow());
    return !orders                                        ? "hypotheses are compared"
           : all > static_cast<size_t>(mostContinuations) ? "too many hypotheses are compared"
                                                          : "";
  }
  void settle(std::span<const SettledExtension> extensions) override;
  /// Returns the positions of sources and hypotheses; nothing is shared.
  int64_t blocksInUse() const override;

  /// Makes logits of hypotheses of this source NaN from now on.
  void damage(std::vector<int32_t> source) { damaged = std::move(source); }
  /// Makes the next `count` forks fail for lack of memory.
  void refuseForks(int count) { forksToRefuse = count; }
  /// After `calls` more calls of encode(), start() and begin(), the next one throws as if memory
  /// ran out.
  void throwAfter(int calls) { callsToThrow = calls; }
  /// Rejects hypotheses of this source in begin() from now on.
  void refuse(std::vector<int32_t> source) { refused = std::move(source); }

  /// Whether there are sources; otherwise all sources are empty.
  bool answers = true;
  /// The number of best tokens that it selects, as a device with its own memory does; 0: it
  /// delivers logits. And the rows that it has selected from and delivered so far.
  int64_t selects = 0;
  /// Whether it orders hypotheses.
  bool orders = true;
  int64_t selectedRows = 0;
  int64_t deliveredRows = 0;
  int64_t mostRows = 0;
  int64_t steps = 0;
  /// The steps that began while another one was under way, and those whose results nobody took.
  int64_t stepsAhead = 0;
  int64_t searchesOrdered = 0;
  int64_t stepsDropped = 0;
  /// Makes the next finish() fail with this status.
  Status nextFailure = {};

private:
  struct Text {
    SourceId source;
    std::vector<int32_t> tokens;
    /// Whether it continues one of several hypotheses, and settle() has not said which.
    bool isOpen = false;
  };
  struct Row {
    std::vector<int32_t> source;
    std::vector<int32_t> tokens;
    std::vector<float> logits;
    /// What is selected from the logits; empty if they are delivered.
    std::vector<float> pieces = {};
    std::vector<SelectedToken> best = {};
  };
  /// A step whose results are delivered when it is finished.
  struct BegunStep {
    StepId id;
    LogitsSink *sink;
    AttentionWeights *attention;
    std::vector<Row> rows;
  };
  void call();
  Result<std::vector<int32_t>> tokensOf(const Extension &extension);
  Status order(std::span<const Extension> extensions);
  void select(std::vector<Row> &rows, LogitsSink &sink);
  void deliver(const std::vector<Row> &rows, LogitsSink &sink) const;
  void attend(std::span<const Row> rows, AttentionWeights &attention) const;

  const HashModel model;
  const int workers;
  const int64_t capacity;
  int32_t nextNumber = 0;
  int forksToRefuse = 0;
  int callsToThrow = -1;
  std::map<SourceId, std::vector<int32_t>> sources;
  std::map<HypothesisId, Text> texts;
  /// The steps under way, and the rows of the last one that began.
  std::vector<BegunStep> begun;
  std::vector<Row> lastRows;
  std::optional<std::vector<int32_t>> damaged;
  std::optional<std::vector<int32_t>> refused;
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_FAKEDECODER_H
