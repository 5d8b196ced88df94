// SPDX-License-Identifier: Apache-2.0
///
/// Generation from a list of sources, and passes over given targets.
#include "runtime/Tools/Models/TeacherForcing.h"

#include "runtime/Tools/Models/ModelEntries.h"

#include <fmt/format.h>
#include <map>

namespace heddle::tools {

Result<std::vector<Tokens>> generateBest(Generator &generator, std::span<const Tokens> sources,
                                         const GenerationOptions &options, std::string_view where) {
  std::vector<Tokens> best(sources.size());
  std::map<int64_t, size_t> numbers;
  for (size_t i = 0; i < sources.size(); ++i) {
    HEDDLE_ASSIGN(const int64_t id, generator.add(requestFor(generator, sources[i], options)));
    numbers[id] = i;
  }
  while (!generator.idle()) {
    HEDDLE_ASSIGN(std::vector<GenerationResult> finished, generator.step());
    for (GenerationResult &result : finished) {
      HEDDLE_TRY_WITH(result.status, where);
      if (!result.hypotheses.empty()) {
        best[numbers.at(result.id)] = std::move(result.hypotheses.front().tokens);
      }
    }
  }
  return best;
}

Result<TeacherForcer> TeacherForcer::create(const Model &model, const SessionOptions &options) {
  HEDDLE_ASSIGN(std::unique_ptr<PagedDecoder> decoder, PagedDecoder::create(model, options));
  return TeacherForcer(std::move(decoder));
}

std::span<const int32_t> TeacherForcer::withoutEnd(std::span<const int32_t> target) const {
  return !target.empty() && paged->isEnd(target.back()) ? target.first(target.size() - 1) : target;
}

Tokens TeacherForcer::fedFor(std::span<const int32_t> target) const {
  Tokens fed = paged->start();
  const std::span<const int32_t> tokens = withoutEnd(target);
  fed.insert(fed.end(), tokens.begin(), tokens.end());
  const auto longest = static_cast<size_t>(paged->longestTarget());
  if (longest != 0 && fed.size() > longest) {
    fed.resize(longest);
  }
  return fed;
}

namespace {
/// The sources and hypotheses of a pass in the decoder, released at its end.
struct Pass {
  PagedDecoder &decoder;
  std::vector<SourceId> sources = {};
  std::vector<HypothesisId> hypotheses = {};

  ~Pass() {
    for (const HypothesisId hypothesis : hypotheses) {
      decoder.release(hypothesis);
    }
    for (const SourceId source : sources) {
      decoder.release(source);
    }
  }
};
} // namespace

Status TeacherForcer::run(std::span<const ForcedSentence> sentences,
                          std::span<const Output> encoded, LogitsSink &sink,
                          std::span<ObservedWeights> observed, AttentionWeights *attention) {
  std::vector<SourceView> texts;
  for (const ForcedSentence &sentence : sentences) {
    texts.emplace_back(sentence.source);
  }
  Pass pass{*paged};
  std::vector<SourceId> ids(texts.size());
  HEDDLE_TRY(paged->encode(texts, ids, encoded));
  pass.sources = std::move(ids);
  std::vector<Extension> extensions;
  for (size_t i = 0; i < sentences.size(); ++i) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, paged->start(pass.sources[i]));
    pass.hypotheses.push_back(hypothesis);
    extensions.push_back({hypothesis, sentences[i].fed});
  }
  return paged->decode(extensions, sink, {.attention = attention, .observed = observed});
}

void LogitsTable::begin(int64_t rows, int64_t vocabulary, int /*workers*/) {
  rowCount = rows;
  width = vocabulary;
  values.resize(static_cast<size_t>(rows * vocabulary));
}

void LogitsTable::deliver(int /*worker*/, int64_t chunk, int64_t count, const float *found,
                          int64_t stride) {
  for (int64_t row = 0; row < rowCount; ++row) {
    std::copy_n(found + row * stride, count, values.begin() + row * width + chunk * logitsChunk);
  }
}

} // namespace heddle::tools
