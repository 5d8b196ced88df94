// SPDX-License-Identifier: Apache-2.0
///
/// Generates the best text for each source, and runs a model on given texts in one pass without a
/// search.
#ifndef HEDDLE_RUNTIME_TOOLS_MODELS_TEACHERFORCING_H
#define HEDDLE_RUNTIME_TOOLS_MODELS_TEACHERFORCING_H

#include "heddle/Generation.h"
#include "runtime/Session/PagedDecoder.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::tools {

using Tokens = std::vector<int32_t>;

/// Returns the best hypothesis of every source, in order; for a model that continues prompts,
/// including the prompt. `where` begins the message about a sentence that failed.
Result<std::vector<Tokens>> generateBest(Generator &generator, std::span<const Tokens> sources,
                                         const GenerationOptions &options, std::string_view where);

/// A source, and the tokens that are passed to the decoder for it; the source is empty for a model
/// that continues prompts.
struct ForcedSentence {
  std::span<const int32_t> source;
  Tokens fed;
};

/// Runs a model on sentences whose targets are known.
class TeacherForcer {
public:
  static Result<TeacherForcer> create(const Model &model, const SessionOptions &options);

  /// Returns the tokens to pass for a target: the start, then all its tokens except the end, up to
  /// the positions of the model. The output at each position predicts the token that follows.
  Tokens fedFor(std::span<const int32_t> target) const;
  /// Returns a target without its end token, if it has one.
  std::span<const int32_t> withoutEnd(std::span<const int32_t> target) const;

  /// Runs one pass over all sentences. `encoded` are the requested outputs of "encode", `observed`
  /// those of "decode"; `attention` is its output of that name, if requested.
  Status run(std::span<const ForcedSentence> sentences, std::span<const Output> encoded,
             LogitsSink &sink, std::span<ObservedWeights> observed,
             AttentionWeights *attention = nullptr);

  const PagedDecoder &decoder() const { return *paged; }

private:
  explicit TeacherForcer(std::unique_ptr<PagedDecoder> decoder) : paged(std::move(decoder)) {}

  std::unique_ptr<PagedDecoder> paged;
};

/// Keeps all logits of a pass.
class LogitsTable final : public LogitsSink {
public:
  void begin(int64_t rows, int64_t vocabulary, int workers) override;
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override;

  int64_t rows() const { return rowCount; }
  std::span<const float> row(int64_t index) const {
    return std::span(values).subspan(static_cast<size_t>(index * width),
                                     static_cast<size_t>(width));
  }

  /// Moves out all rows, [rows, vocabulary].
  std::vector<float> take() { return std::move(values); }

private:
  std::vector<float> values;
  int64_t rowCount = 0;
  int64_t width = 0;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MODELS_TEACHERFORCING_H
