// SPDX-License-Identifier: Apache-2.0
///
/// heddle score: pairs of lines in blocks through one pass of the model each.
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/GenerationRecord.h"
#include "runtime/Tools/Interruption.h"
#include "runtime/Tools/LineReader.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Progress.h"
#include "runtime/Tools/TextReader.h"
#include "runtime/Tools/TokenLine.h"

#include <fmt/format.h>

namespace heddle::tools {

namespace {
/// The two files, read side by side.
struct Pairs {
  LineReader sources;
  LineReader targets;
};
/// Some pairs of lines. Pairs without a source are written without a score.
struct Block {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::vector<ScoringRequest> requests;
  std::vector<bool> empty;
};
} // namespace

/// Appends the next pair; whether there was one.
static Result<bool> readPair(const ScoreOptions &options, const Generator &generator, Pairs &pairs,
                             Block &block) {
  HEDDLE_ASSIGN(const std::optional<std::string_view> source, pairs.sources.next());
  HEDDLE_ASSIGN(const std::optional<std::string_view> target, pairs.targets.next());
  if (source.has_value() != target.has_value()) {
    const LineReader &shorter = source ? pairs.targets : pairs.sources;
    const LineReader &longer = source ? pairs.sources : pairs.targets;
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no line for {}, expected as many lines "
                                                     "as the other file has",
                                                     shorter.name(), longer.where()));
  }
  if (!source) {
    return false;
  }
  block.sources.emplace_back(*source);
  block.targets.emplace_back(*target);
  block.empty.push_back(isBlank(*source));
  if (block.empty.back()) {
    return true;
  }
  Result<std::vector<int32_t>> from =
      options.tokens ? parseTokenLine(*source) : generator.encodeSource(*source);
  HEDDLE_TRY_WITH(from.status(), pairs.sources.where());
  Result<std::vector<int32_t>> to =
      options.tokens ? parseTokenLine(*target) : generator.encodeTarget(*target);
  HEDDLE_TRY_WITH(to.status(), pairs.targets.where());
  const ScoringRequest &request =
      block.requests.emplace_back(ScoringRequest{std::move(*from), std::move(*to)});
  HEDDLE_TRY_WITH(generator.check(request), pairs.sources.where());
  return true;
}

static Status writeScores(const ScoreOptions &options, Generator &generator, const Block &block,
                          OutputStream &output) {
  HEDDLE_ASSIGN(const std::vector<std::vector<float>> scores, generator.score(block.requests));
  std::string lines;
  size_t next = 0;
  for (size_t i = 0; i < block.sources.size(); ++i) {
    if (block.empty[i] && !options.jsonLines) {
      lines += "\n";
      continue;
    }
    const std::span<const float> own = block.empty[i] ? std::span<const float>() : scores[next++];
    lines += scoreRecord(options, block.sources[i], block.targets[i], own);
  }
  return output.write(lines);
}

Status execute(const ScoreOptions &options) {
  HEDDLE_ASSIGN(LineReader sources, openSources(options.source, options.tokens));
  HEDDLE_ASSIGN(LineReader targets, openSources(options.target, options.tokens));
  HEDDLE_ASSIGN(const std::optional<int64_t> total, countTexts(options.source));
  HEDDLE_ASSIGN(const Model model, Model::load(options.model, {.isa = options.isa}));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  HEDDLE_ASSIGN(Generator generator,
                Generator::create(model, {.session = {.threads = options.threads},
                                          .batchTokens = options.batchTokens}));
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(options.output));
  Pairs pairs{std::move(sources), std::move(targets)};
  Progress progress("sentences", options.json);
  noteInterruptions();
  // Small enough that an answer does not wait long.
  constexpr size_t blockPairs = 64;
  int64_t written = 0;
  for (bool more = true; more && !interrupted();) {
    Block block;
    while (more && block.sources.size() < blockPairs) {
      HEDDLE_ASSIGN(more, readPair(options, generator, pairs, block));
    }
    HEDDLE_TRY(writeScores(options, generator, block, output));
    written += static_cast<int64_t>(block.sources.size());
    progress.update(written, total);
  }
  return output.finish();
}

} // namespace heddle::tools
