// SPDX-License-Identifier: Apache-2.0
///
/// Random ids and sources, and runs over them.
#include "runtime/Tools/Workload.h"

#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Commands.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace heddle::tools {

const PortInfo &timedOutput(const EntryInfo &entry) {
  const auto found =
      std::find_if(entry.outputs.begin(), entry.outputs.end(),
                   [](const PortInfo &port) { return port.name == "last_hidden_state"; });
  return found == entry.outputs.end() ? entry.outputs.front() : *found;
}

std::vector<int32_t> randomIds(const Shape &shape, const PortInfo &input) {
  // Low ids are special tokens and rare characters in most vocabularies.
  constexpr int64_t firstOrdinaryId = 1000;
  const int64_t low = input.limit > firstOrdinaryId ? firstOrdinaryId : 0;
  std::mt19937_64 random(0);
  std::uniform_int_distribution<int32_t> range(static_cast<int32_t>(low),
                                               static_cast<int32_t>(input.limit - 1));
  std::vector<int32_t> ids(static_cast<size_t>(shape.tokens()));
  std::generate(ids.begin(), ids.end(), [&] { return range(random); });
  return ids;
}

std::vector<std::vector<int32_t>> randomSources(int32_t count, int32_t length, int64_t vocabulary) {
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

Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, const SessionOptions &session) {
  if (!PagedDecoder::supports(model)) {
    return optionError(fmt::format("--cases: {}: the model does not generate, expected one with a "
                                   "decoder, or --shapes",
                                   model.path()));
  }
  HEDDLE_ASSIGN(
      Generator generator,
      Generator::create(model, {.session = session,
                                .batchTokens = int64_t(each.batch) * each.beam * sourceLength}));
  const int64_t longest = generator.longestSource();
  if (longest != 0 && sourceLength > longest) {
    return optionError(fmt::format("--source-length is {}, expected at most {}, the positions of "
                                   "the model",
                                   sourceLength, longest));
  }
  const EntryInfo &encode = *model.findEntry("encode");
  const int64_t vocabulary = encode.inputs.empty() ? 1 : encode.inputs.front().limit;
  const GenerationOptions search = {.rules = Rules::CTranslate2,
                                    .beam = each.beam,
                                    .minLength = targetLength,
                                    .maxLength = targetLength};
  std::vector<std::vector<int32_t>> sources = randomSources(each.batch, sourceLength, vocabulary);
  if (const Status status =
          generator.check(GenerationRequest{.source = sources.front(), .options = search});
      !status.ok()) {
    return optionError(fmt::format("--target-length {}: {}", targetLength, status.message()));
  }
  return CaseWork{std::move(generator), search, std::move(sources), vocabulary};
}

Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist) {
  for (const std::vector<int32_t> &source : sources) {
    HEDDLE_TRY(generator
                   .add({.source = source,
                         .shortlist = std::vector(shortlist.begin(), shortlist.end()),
                         .options = options})
                   .status());
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

} // namespace heddle::tools
