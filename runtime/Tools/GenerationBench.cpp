// SPDX-License-Identifier: Apache-2.0
///
/// heddle bench --cases: the time from source ids to target ids, as the peers are measured:
/// targets have exactly the tokens asked for, so that every engine does the same work.
#include "heddle/Generation.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Timing.h"
#include "runtime/Tools/Workload.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace heddle::tools {

/// The lowest ids are the commonest tokens of most vocabularies.
static std::vector<int32_t> makeShortlist(int32_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens(static_cast<size_t>(std::min<int64_t>(count, vocabulary)));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

Status benchCases(const Model &model, const BenchOptions &options) {
  OutputStream lines = OutputStream::standard();
  for (const GenerationCase &each : options.cases) {
    HEDDLE_ASSIGN(CaseWork work, makeCase(model, each, options.sourceLength, options.targetLength,
                                          {.threads = options.threads}));
    const std::vector<int32_t> shortlist = makeShortlist(options.shortlist, work.vocabulary);
    HEDDLE_ASSIGN(
        const double seconds,
        timeWork(
            [&] { return generateExactly(work.generator, work.sources, work.search, shortlist); },
            options.runs));
    const double generated = static_cast<double>(each.batch) * options.targetLength;
    const nlohmann::ordered_json line = {
        {"engine", "heddle"},
        {"threads", options.threads},
        {"batch", each.batch},
        {"beam", each.beam},
        {"ms", std::round(seconds * 1e6) / 1e3},
        {"tokens_per_s", std::round(generated / seconds * 10) / 10},
        {"precision", model.precision()},
        {"isa", model.isa()}};
    HEDDLE_TRY(lines.write(line.dump() + "\n"));
  }
  return lines.finish();
}

} // namespace heddle::tools
