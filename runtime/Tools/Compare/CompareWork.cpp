// SPDX-License-Identifier: Apache-2.0
///
/// Opens both models, reads the sources for both, and runs and times them alternately.
#include "runtime/Tools/Compare/CompareWork.h"

#include "runtime/Device/Device.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace heddle::tools {

/// Rounds of both models are timed until each has taken this many seconds, at least three rounds;
/// if a round takes minutes, one suffices.
static constexpr double roundsTime = 2.0;
static constexpr double longestTime = 60.0;
static constexpr size_t fewestRounds = 3;

Status CompareWork::differ(const std::string &what) const {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} and {}: {}", sides[0].model.path(),
                                                   sides[1].model.path(), what));
}

Status CompareWork::openGenerating() {
  for (ComparedModel &side : sides) {
    const SessionOptions session = {.threads = options->threads};
    HEDDLE_ASSIGN(Generator generator, Generator::create(side.model, {.session = session}));
    side.generator.emplace(std::move(generator));
    HEDDLE_ASSIGN(TeacherForcer forcer, TeacherForcer::create(side.model, session));
    side.forcer.emplace(std::move(forcer));
  }
  const int64_t tokens[] = {sides[0].forcer->decoder().vocabulary(),
                            sides[1].forcer->decoder().vocabulary()};
  if (tokens[0] != tokens[1]) {
    return differ(fmt::format("the vocabularies have {} and {} tokens, expected the same one",
                              tokens[0], tokens[1]));
  }
  return {};
}

Status CompareWork::openEmbedding() {
  if (options->beam) {
    return optionError("--beam is given, and the models do not generate: leave it out");
  }
  for (ComparedModel &side : sides) {
    HEDDLE_ASSIGN(Session session, Session::create(side.model, {.threads = options->threads}));
    HEDDLE_TRY_WITH(session.embeddingWidth().status(),
                    "the models do not generate, expected ones that embed");
    HEDDLE_ASSIGN(side.width, session.embeddingWidth());
    side.session.emplace(std::move(session));
  }
  if (sides[0].width != sides[1].width) {
    return differ(fmt::format("the embeddings have {} and {} numbers, expected as many",
                              sides[0].width, sides[1].width));
  }
  return {};
}

Status CompareWork::open() {
  const bool generate[] = {PagedDecoder::supports(sides[0].model),
                           PagedDecoder::supports(sides[1].model)};
  if (generate[0] != generate[1]) {
    return differ(fmt::format("only the {} generates, expected both or neither",
                              generate[0] ? "first" : "second"));
  }
  const bool reads[] = {PagedDecoder::hasSources(sides[0].model),
                        PagedDecoder::hasSources(sides[1].model)};
  if (generate[0] && reads[0] != reads[1]) {
    return differ(fmt::format("the {} answers sources and the other continues prompts, expected "
                              "two of a kind",
                              reads[0] ? "first" : "second"));
  }
  for (const ComparedModel &side : sides) {
    if (!options->tokens) {
      HEDDLE_TRY(checkTokenizer(side.model));
    }
  }
  return generate[0] ? openGenerating() : openEmbedding();
}

/// Returns the ids of a line as one of the models tokenises it.
Result<Tokens> CompareWork::sourceFor(const ComparedModel &side, std::string_view line) const {
  if (!side.generator) {
    const EntryInfo &entry = *side.model.findEntry("embed");
    Result<Tokens> ids = textTokens(side.model, entry, *options, line);
    HEDDLE_TRY(ids.status());
    HEDDLE_ASSIGN(const PortInfo *const input, chooseIds(side.model, entry));
    HEDDLE_TRY(checkText(entry, *input, *ids));
    return ids;
  }
  Result<Tokens> ids = sourceTokens(*side.generator, *options, line);
  HEDDLE_TRY(ids.status());
  HEDDLE_TRY(side.generator->check(requestFor(*side.generator, *ids, {.beam = options->beam})));
  return ids;
}

/// Returns the ids of a line in both models. A failure is the line's.
Result<std::array<Tokens, 2>> CompareWork::sourcesOf(const Line &line,
                                                     const std::string &where) const {
  HEDDLE_TRY(line.status);
  std::array<Tokens, 2> both;
  for (size_t i = 0; i < both.size(); ++i) {
    Result<Tokens> ids = sourceFor(sides[i], line.text);
    HEDDLE_TRY_WITH(ids.status(), fmt::format("{}: {}", where, sides[i].model.path()));
    both[i] = *std::move(ids);
  }
  return both;
}

Status CompareWork::readSources() {
  HEDDLE_ASSIGN(LineReader lines,
                openSources(options->input, options->tokens, options->inputFormat));
  while (true) {
    HEDDLE_ASSIGN(const std::optional<Line> line, lines.nextText());
    if (!line) {
      break;
    }
    Result<std::array<Tokens, 2>> both = sourcesOf(*line, lines.where());
    if (!both.ok() && !errors.goOn(both.status())) {
      return both.status();
    }
    if (!both.ok()) {
      continue;
    }
    if (both->front() != both->back()) {
      // A mismatch of the models applies to every other line too.
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: the models cut the text into different tokens, expected "
                                      "the same vocabulary",
                                      lines.where()));
    }
    sourceList.push_back(std::move(both->front()));
  }
  lineCount = lines.number();
  return !sourceList.empty()
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: no texts, expected at least one", lines.name()));
}

Result<CompareWork> CompareWork::open(const CompareOptions &options) {
  HEDDLE_ASSIGN(Model a, loadModel(options.model, options));
  HEDDLE_ASSIGN(Model b, loadModel(options.other, options));
  CompareWork work(options, std::move(a), std::move(b));
  HEDDLE_TRY(work.open());
  HEDDLE_TRY(work.readSources());
  return work;
}

std::span<const int32_t> CompareWork::generatedPart(const ComparedModel &side, size_t index) const {
  const std::span<const int32_t> text = side.texts[index];
  return text.subspan(continues() ? std::min(sourceList[index].size(), text.size()) : 0);
}

Result<std::vector<Tokens>> CompareWork::generate(Generator &generator, const Model &model) const {
  GenerationOptions search;
  search.beam = options->beam;
  search.sample = false;
  return generateBest(generator, sourceList, search, model.path());
}

Status CompareWork::embed(Session &session, const ComparedModel &side) const {
  // One block at a time bounds the memory of embeddings that are computed together.
  constexpr size_t blockSources = 64;
  HEDDLE_ASSIGN(const PortInfo *const ids, chooseIds(side.model, *side.model.findEntry("embed")));
  std::vector<float> embeddings;
  for (size_t begin = 0; begin < sourceList.size(); begin += blockSources) {
    const size_t end = std::min(sourceList.size(), begin + blockSources);
    std::vector<int32_t> lengths;
    Tokens tokens;
    for (size_t i = begin; i < end; ++i) {
      lengths.push_back(static_cast<int32_t>(sourceList[i].size()));
      tokens.insert(tokens.end(), sourceList[i].begin(), sourceList[i].end());
    }
    embeddings.resize((end - begin) * static_cast<size_t>(side.width));
    const Input input{ids->name, tokens};
    const Output output{"embedding", embeddings};
    HEDDLE_TRY_WITH(session.run("embed", lengths, {&input, 1}, {&output, 1}), side.model.path());
  }
  return {};
}

Status CompareWork::run(ComparedModel &side) {
  if (!side.generator) {
    return embed(*side.session, side);
  }
  HEDDLE_ASSIGN(side.texts, generate(*side.generator, side.model));
  return {};
}

/// Times both models alternately, so that other work on the machine affects both.
Status CompareWork::time() {
  const auto now = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
  double total = 0;
  const auto isEnough = [&] {
    const size_t rounds = sides[1].times.size();
    return (rounds >= fewestRounds && total >= 2 * roundsTime) ||
           (rounds >= 1 && total >= longestTime);
  };
  while (!isEnough()) {
    for (ComparedModel &side : sides) {
      const double begin = now();
      HEDDLE_TRY(run(side));
      side.times.push_back(now() - begin);
      total += side.times.back();
    }
  }
  return {};
}

/// Returns the costs of one run's dispatches, in a separate session: timed sessions have no
/// profile.
Result<std::vector<DispatchProfile>> CompareWork::profile(const ComparedModel &side) const {
  const SessionOptions session = {.threads = options->threads, .profile = true};
  if (side.generator) {
    HEDDLE_ASSIGN(Generator profiled, Generator::create(side.model, {.session = session}));
    HEDDLE_TRY(generate(profiled, side.model).status());
    return profiled.profile();
  }
  HEDDLE_ASSIGN(Session profiled, Session::create(side.model, session));
  HEDDLE_TRY(embed(profiled, side));
  return profiled.profile();
}

Status CompareWork::predict() {
  std::vector<std::vector<DispatchProfile>> profiles;
  for (const ComparedModel &side : sides) {
    HEDDLE_ASSIGN(profiles.emplace_back(), profile(side));
  }
  HEDDLE_ASSIGN(MeasuredDevice device, MeasuredDevice::of(sides[0].model, options->threads));
  std::vector<MachineRoof> roofs = measureRoofs(profiles, device.peak(), device);
  // Models of one target share its peaks, so that no two measurements of them are between them.
  if (sides[1].model.isa() != sides[0].model.isa()) {
    HEDDLE_ASSIGN(MeasuredDevice other, MeasuredDevice::of(sides[1].model, options->threads));
    roofs[1].peak = other.peak();
    roofs[0].narrowPeaks = measureNarrowPeaks({profiles.data(), 1}, device);
    roofs[1].narrowPeaks = measureNarrowPeaks({&profiles[1], 1}, other);
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i].roof = std::move(roofs[i]);
    sides[i].leastSeconds = leastSeconds(profiles[i], sides[i].roof);
  }
  return {};
}

} // namespace heddle::tools
