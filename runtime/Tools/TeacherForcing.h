// SPDX-License-Identifier: Apache-2.0
///
/// Sources with what a model makes of them: the best text by its own search, and what it computes
/// when that text is given to it, which needs one pass and no search.
#ifndef HEDDLE_RUNTIME_TOOLS_TEACHERFORCING_H
#define HEDDLE_RUNTIME_TOOLS_TEACHERFORCING_H

#include "heddle/Generation.h"
#include "runtime/Session/PagedDecoder.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::tools {

using Tokens = std::vector<int32_t>;

/// The best hypothesis of every source, in their order. `where` begins the message about a sentence
/// that failed.
Result<std::vector<Tokens>> generateBest(Generator &generator, std::span<const Tokens> sources,
                                         const GenerationOptions &options, std::string_view where);

/// A source, and what goes into the decoder for it.
struct ForcedSentence {
  std::span<const int32_t> source;
  Tokens fed;
};

/// Runs a model on sentences whose targets are known.
class TeacherForcer {
public:
  static Result<TeacherForcer> create(const Model &model, const SessionOptions &options);

  /// What goes in for a target: the start, then all its tokens but its end, as far as the model has
  /// positions. What comes out at each is about the token that follows.
  Tokens fedFor(std::span<const int32_t> target) const;
  /// A target without its end, if it has one.
  std::span<const int32_t> withoutEnd(std::span<const int32_t> target) const;

  /// One pass over all sentences. `encoded` are outputs of "encode" that are wanted, `observed`
  /// those of "decode".
  Status run(std::span<const ForcedSentence> sentences, std::span<const Output> encoded,
             LogitsSink &sink, std::span<ObservedWeights> observed);

  const PagedDecoder &decoder() const { return *paged; }

private:
  explicit TeacherForcer(std::unique_ptr<PagedDecoder> decoder) : paged(std::move(decoder)) {}

  std::unique_ptr<PagedDecoder> paged;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TEACHERFORCING_H
