// SPDX-License-Identifier: Apache-2.0
///
/// The best text that a model generates for each source, and what the model computes when a text is
/// given to it: one pass without a search.
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

/// The best hypothesis of every source, in their order; of every prompt where a model continues
/// those, with the prompt that it begins with. `where` begins the message about a sentence that
/// failed.
Result<std::vector<Tokens>> generateBest(Generator &generator, std::span<const Tokens> sources,
                                         const GenerationOptions &options, std::string_view where);

/// A source, and the tokens that are fed to the decoder for it; of a model that continues prompts
/// the source is empty.
struct ForcedSentence {
  std::span<const int32_t> source;
  Tokens fed;
};

/// Runs a model on sentences whose targets are known.
class TeacherForcer {
public:
  static Result<TeacherForcer> create(const Model &model, const SessionOptions &options);

  /// The tokens to feed for a target: the start, then all its tokens except the end, up to the
  /// positions of the model. The output at each position predicts the token that follows.
  Tokens fedFor(std::span<const int32_t> target) const;
  /// A target without its end, if it has one.
  std::span<const int32_t> withoutEnd(std::span<const int32_t> target) const;

  /// One pass over all sentences. `encoded` are outputs of "encode" that are wanted, `observed`
  /// those of "decode"; `attention` is its output of that name, if it is wanted.
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

  /// All rows, [rows, vocabulary], for the taking.
  std::vector<float> take() { return std::move(values); }

private:
  std::vector<float> values;
  int64_t rowCount = 0;
  int64_t width = 0;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MODELS_TEACHERFORCING_H
