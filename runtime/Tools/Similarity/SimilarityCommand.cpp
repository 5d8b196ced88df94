// SPDX-License-Identifier: Apache-2.0
///
/// Ranks texts, from the command line or a file, by the cosine of their embeddings with that of the
/// first text.
#include "runtime/Tools/Commands.h"

#include "runtime/Tools/Compare/Comparison.h"
#include "runtime/Tools/Embed/Embedder.h"
#include "runtime/Tools/Lines/LineFormats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

namespace {
/// A text that was compared with the first.
struct Match {
  /// The cosine of both embeddings: 1 for the same direction, 0 for nothing in common.
  double similarity = 0;
  std::string text;
  /// Its line in the file; 0 for a text of the command line.
  int64_t line = 0;
  /// How many texts came before it.
  uint64_t place = 0;
};

/// The most similar texts so far.
class Ranking {
public:
  Ranking(std::vector<float> first, std::optional<int64_t> top)
      : first(std::move(first)), most(top ? static_cast<size_t>(*top) : 0) {}

  /// Adds the texts of a block that have embeddings; those of a file have lines from `line` on.
  void add(EmbeddedTexts &block, int64_t line);
  /// The most similar first; of equal ones, the one that came first.
  std::vector<Match> take();

private:
  void sort();

  std::vector<float> first;
  /// 0: all.
  size_t most;
  std::vector<Match> matches;
  uint64_t added = 0;
};
} // namespace

void Ranking::sort() {
  // What is no number is last.
  const auto order = [](const Match &match) {
    return std::pair(std::isnan(match.similarity) ? 2 : -match.similarity, match.place);
  };
  std::sort(matches.begin(), matches.end(),
            [&](const Match &a, const Match &b) { return order(a) < order(b); });
  if (most != 0 && matches.size() > most) {
    matches.resize(most);
  }
}

void Ranking::add(EmbeddedTexts &block, int64_t line) {
  const size_t width = first.size();
  size_t row = 0;
  for (Text &text : block.texts) {
    if (text.status.ok()) {
      const auto embedding = std::span(block.embeddings).subspan(row++ * width, width);
      matches.push_back({cosineOf(first, embedding), std::move(text.text), line, added++});
    }
    line += line > 0 ? 1 : 0;
  }
  // Of a long file only so many are kept.
  if (most != 0 && matches.size() / 2 > most) {
    sort();
  }
}

std::vector<Match> Ranking::take() {
  sort();
  return std::move(matches);
}

/// The texts of the command line as a block. They are all needed: the first that cannot be used is
/// the failure.
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

static std::string answer(const std::vector<Match> &matches, bool json) {
  std::string text;
  for (const Match &match : matches) {
    if (json) {
      nlohmann::ordered_json record = {{"similarity", jsonScore(match.similarity)},
                                       {"text", match.text}};
      if (match.line > 0) {
        record["line"] = match.line;
      }
      text += jsonText(record) + "\n";
      continue;
    }
    // A line for each text, whatever is in it.
    std::string line = match.text;
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += fmt::format("{:.4f}\t{}\n", match.similarity, line);
  }
  return text;
}

/// The texts of a file, block by block.
static Status addFile(const SimilarityOptions &options, Embedder &embedder, LineReader &reader,
                      LineErrors &errors, Ranking &ranking) {
  Progress progress("texts", options.json);
  EmbeddedTexts block;
  while (!errors.stopped() && !interrupted()) {
    const int64_t line = reader.number() + 1;
    HEDDLE_TRY(reader.nextBlock(block.texts));
    if (block.texts.empty()) {
      break;
    }
    HEDDLE_TRY(embedder.embed(block, errors));
    ranking.add(block, line);
    progress.update(reader.number(), std::nullopt);
  }
  return {};
}

Status execute(const SimilarityOptions &options) {
  std::optional<LineReader> reader;
  if (!options.input.empty()) {
    HEDDLE_ASSIGN(LineReader opened, LineReader::openTexts(options.input));
    reader.emplace(std::move(opened));
  }
  HEDDLE_ASSIGN(Embedder embedder, Embedder::create(options.model, options));
  HEDDLE_ASSIGN(EmbeddedTexts given, embedArguments(embedder, options.texts));
  const auto width = static_cast<std::ptrdiff_t>(embedder.width());
  Ranking ranking({given.embeddings.begin(), given.embeddings.begin() + width}, options.top);
  given.texts.erase(given.texts.begin());
  given.embeddings.erase(given.embeddings.begin(), given.embeddings.begin() + width);
  ranking.add(given, 0);
  LineErrors errors(options.onError, reader ? reader->name() : "");
  if (reader) {
    noteInterruptions();
    HEDDLE_TRY(addFile(options, embedder, *reader, errors, ranking));
  }
  HEDDLE_TRY(errors.failure());
  if (interrupted()) {
    return {};
  }
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(answer(ranking.take(), options.json)));
  return reader ? errors.finish(output, reader->number()) : output.finish();
}

} // namespace heddle::tools
