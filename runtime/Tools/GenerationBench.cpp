// SPDX-License-Identifier: Apache-2.0
///
/// heddle bench --cases: the time from source ids to target ids, as the peers are measured:
/// targets have exactly the tokens asked for, so that every engine does the same work.
#include "heddle/Generation.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Timing.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>

namespace heddle::tools {

/// Sources of ordinary tokens, the same on every machine.
static std::vector<std::vector<int32_t>> makeSources(int32_t count, int32_t length,
                                                     int64_t vocabulary) {
  // Low ids are special tokens in most vocabularies.
  const int64_t low = std::min<int64_t>(4, vocabulary - 1);
  std::mt19937_64 random(1);
  std::vector<std::vector<int32_t>> sources(static_cast<size_t>(count));
  for (std::vector<int32_t> &source : sources) {
    for (int32_t i = 0; i < length; ++i) {
      const uint64_t token = random() % static_cast<uint64_t>(vocabulary - low);
      source.push_back(static_cast<int32_t>(low + static_cast<int64_t>(token)));
    }
  }
  return sources;
}

static Status generateOnce(Generator &generator, const std::vector<std::vector<int32_t>> &sources,
                           const GenerationOptions &options) {
  for (const std::vector<int32_t> &source : sources) {
    HEDDLE_TRY(generator.add({.source = source, .options = options}).status());
  }
  while (!generator.idle()) {
    HEDDLE_ASSIGN(const std::vector<GenerationResult> finished, generator.step());
    for (const GenerationResult &result : finished) {
      HEDDLE_TRY(result.status);
      const size_t tokens = result.hypotheses.empty() ? 0 : result.hypotheses[0].tokens.size();
      if (tokens != static_cast<size_t>(*options.maxLength)) {
        return HEDDLE_ERROR(Internal, fmt::format("{} tokens were generated, expected {}", tokens,
                                                  *options.maxLength));
      }
    }
  }
  return {};
}

Status benchCases(const Model &model, const BenchOptions &options) {
  OutputStream lines = OutputStream::standard();
  const EntryInfo *const encode = model.findEntry("encode");
  const int64_t vocabulary =
      encode == nullptr || encode->inputs.empty() ? 1 : encode->inputs.front().limit;
  for (const GenerationCase &each : options.cases) {
    const int64_t tokens = int64_t(each.batch) * each.beam * options.sourceLength;
    HEDDLE_ASSIGN(
        Generator generator,
        Generator::create(model, {.session = {.threads = options.threads}, .batchTokens = tokens}));
    const GenerationOptions search = {.rules = Rules::CTranslate2,
                                      .beam = each.beam,
                                      .minLength = options.targetLength,
                                      .maxLength = options.targetLength};
    const std::vector<std::vector<int32_t>> sources =
        makeSources(each.batch, options.sourceLength, vocabulary);
    HEDDLE_ASSIGN(const double seconds,
                  timeWork([&] { return generateOnce(generator, sources, search); }));
    const double generated = static_cast<double>(each.batch) * options.targetLength;
    const nlohmann::ordered_json line = {
        {"engine", fmt::format("heddle-{}", model.precision())},
        {"threads", options.threads},
        {"batch", each.batch},
        {"beam", each.beam},
        {"ms", std::round(seconds * 1e6) / 1e3},
        {"tokens_per_s", std::round(generated / seconds * 10) / 10}};
    HEDDLE_TRY(lines.write(line.dump() + "\n"));
  }
  return lines.finish();
}

} // namespace heddle::tools
