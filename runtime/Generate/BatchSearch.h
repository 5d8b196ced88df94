// SPDX-License-Identifier: Apache-2.0
///
/// Many searches over one decoder. Sentences wait for room, join, take steps together and leave one
/// by one. The result of a sentence does not depend on the others.
#ifndef HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H
#define HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H

#include "heddle/Generation.h"
#include "runtime/Generate/BeamSearch.h"
#include "runtime/Generate/Candidates.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Session/Decoder.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace heddle {

/// Continuous batching. Refers to the decoder and releases everything it holds there, at the latest
/// in the destructor.
class BatchSearch {
public:
  /// `batchTokens` limits the tokens of sources, or of prompts, of the batch, counted once for each
  /// hypothesis.
  BatchSearch(Decoder &decoder, GenerationDefaults defaults, GenerationLimits limits,
              int64_t batchTokens);
  BatchSearch(const BatchSearch &) = delete;
  BatchSearch &operator=(const BatchSearch &) = delete;
  ~BatchSearch();

  /// As the functions of the same name in Generator.
  Result<int64_t> add(GenerationRequest request);
  Result<std::vector<GenerationResult>> step();
  Status remove(int64_t id);
  Result<std::vector<int32_t>> agreed(int64_t id) const;
  bool idle() const { return queue.empty() && batch.empty() && results.empty(); }
  int64_t waiting() const { return static_cast<int64_t>(queue.size()); }
  int64_t running() const { return static_cast<int64_t>(batch.size()); }

private:
  /// A search, and its hypotheses in the decoder.
  struct Running {
    BeamSearch search;
    std::vector<HypothesisId> hypotheses;
    // The row of each hypothesis in the current step.
    std::vector<int64_t> rows = {};
  };
  struct Sentence {
    int64_t id = 0;
    std::vector<int32_t> source;
    /// Instead of ids, where the model reads those.
    std::vector<float> rows;
    Settings settings;
    /// The pixels in a row of an image that may have any width.
    int32_t width = 0;
    std::optional<SourceId> encoded = std::nullopt;
    std::vector<Running> searches = {};
    std::vector<Hypothesis> found = {};

    SourceView view() const {
      SourceView given = rows.empty() ? SourceView(source) : SourceView(rows);
      given.width = width;
      return given;
    }
  };
  using SentencePointer = std::unique_ptr<Sentence>;

  int64_t cost(const Sentence &sentence) const;
  Status admit();
  Status join(size_t count);
  Status startSearches(Sentence &sentence);
  void leave(Sentence &sentence);
  void fail(Sentence &sentence, const Status &status);
  void makeRoom(size_t index, bool alone, const Status &status);
  Result<size_t> decode();
  void buildStep(size_t count);
  Status advance(Sentence &sentence);
  Status advanceAll(Sentence &sentence);
  Status advanceSearch(Sentence &sentence, Running &running);
  Status followBeams(Running &running);
  void complete(Sentence &sentence);

  Decoder &decoder;
  const GenerationDefaults defaults;
  const GenerationLimits limits;
  const int64_t batchTokens;
  int64_t nextId = 0;
  std::deque<SentencePointer> queue;
  std::vector<SentencePointer> batch;
  // Returned by the next step that succeeds.
  std::vector<GenerationResult> results;
  // The cache was full: no sentence joins until another has left.
  bool full = false;
  // Scratch of one step, reused between steps.
  Candidates candidates;
  std::vector<Extension> extensions;
  std::vector<RowQuery> queries;
  std::vector<std::vector<int32_t>> beginnings;
  AttentionWeights attention;
  bool wantsAttention = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H
