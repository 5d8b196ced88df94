// SPDX-License-Identifier: Apache-2.0
///
/// Ranks texts, from the command line or a file, by the cosine of their embeddings with that of the
/// first text.
#include "runtime/Tools/Commands.h"

#include "runtime/Tools/Compare/Comparison.h"
#include "runtime/Tools/Embed/Embedder.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Similarity/Ranking.h"

#include <span>

namespace heddle::tools {

static constexpr int64_t mostMatches = 1'000'000'000;

void declare(OptionList &list, SimilarityOptions &options) {
  declareModel(list, options);
  list.arguments("TEXT", options.texts,
                 "A text, and those to compare it with, most similar first; after -- a text may "
                 "begin with a hyphen");
  list.input("--input", options.input,
             "More texts to compare the first one with: one a line, .jsonl has "
             "{\"text\": ...} a line, - is standard input");
  declareInputFormat(list, options.inputFormat).needs("--input");
  list.whole("--top", options.top, int64_t(1), mostMatches, "N", "Show only the N most similar")
      .otherwise("all");
  declareOnError(list, options.onError, "it is left out");
  declareExecution(list, options);
  list.check([&options]() -> std::string {
    if (options.texts.empty()) {
      return "TEXT is missing";
    }
    if (options.texts.size() == 1 && options.input.empty()) {
      return "one TEXT is given, expected another one to compare it with, or --input FILE";
    }
    return "";
  });
}

/// Adds the texts of a block that have embeddings; texts of a file have line numbers from `line`
/// on.
static void add(EmbeddedTexts &block, int64_t line, std::span<const float> first,
                Ranking &ranking) {
  const size_t width = first.size();
  size_t row = 0;
  for (Text &text : block.texts) {
    if (text.status.ok()) {
      const auto embedding = std::span(block.embeddings).subspan(row++ * width, width);
      ranking.add(cosineOf(first, embedding), std::move(text.text), line);
    }
    line += line > 0 ? 1 : 0;
  }
}

/// Returns the texts of the command line as a block. All are needed, so the first that cannot be
/// used is the failure.
static Result<EmbeddedTexts> embedArguments(Embedder &embedder,
                                            const std::vector<std::string> &texts) {
  EmbeddedTexts block;
  for (size_t i = 0; i < texts.size(); ++i) {
    block.texts.push_back({texts[i], {}, fmt::format("TEXT {}", i + 1)});
  }
  LineErrors errors(OnError::Stop, "");
  HEDDLE_TRY(embedder.embed(block, errors));
  HEDDLE_TRY(errors.failure());
  return block;
}

/// Adds the texts of a file, block by block.
static Status addFile(const SimilarityOptions &options, Embedder &embedder, LineReader &reader,
                      LineErrors &errors, std::span<const float> first, Ranking &ranking) {
  Progress progress("texts", options.json);
  EmbeddedTexts block;
  while (!errors.stopped() && !interrupted()) {
    const int64_t line = reader.number() + 1;
    HEDDLE_TRY(reader.nextBlock(block.texts));
    if (block.texts.empty()) {
      break;
    }
    HEDDLE_TRY(embedder.embed(block, errors));
    add(block, line, first, ranking);
    progress.update(reader.number(), std::nullopt);
  }
  return {};
}

Status execute(const SimilarityOptions &options) {
  std::optional<LineReader> reader;
  if (!options.input.empty()) {
    HEDDLE_ASSIGN(LineReader opened, LineReader::openTexts(options.input, options.inputFormat));
    reader.emplace(std::move(opened));
  }
  HEDDLE_ASSIGN(Embedder embedder, Embedder::create(options.model, options));
  HEDDLE_ASSIGN(EmbeddedTexts given, embedArguments(embedder, options.texts));
  const auto width = static_cast<std::ptrdiff_t>(embedder.width());
  const std::vector<float> first(given.embeddings.begin(), given.embeddings.begin() + width);
  Ranking ranking(options.top);
  given.texts.erase(given.texts.begin());
  given.embeddings.erase(given.embeddings.begin(), given.embeddings.begin() + width);
  add(given, 0, first, ranking);
  LineErrors errors(options.onError, reader ? reader->name() : "");
  if (reader) {
    noteInterruptions();
    HEDDLE_TRY(addFile(options, embedder, *reader, errors, first, ranking));
  }
  HEDDLE_TRY(errors.failure());
  if (interrupted()) {
    return {};
  }
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(rankedText(ranking.take(), "similarity", options.json)));
  return reader ? errors.finish(output, reader->number()) : output.finish();
}

} // namespace heddle::tools
