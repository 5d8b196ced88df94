// SPDX-License-Identifier: Apache-2.0
///
/// Work that commands make up to measure with: the same on every machine.
#ifndef HEDDLE_RUNTIME_TOOLS_WORKLOAD_H
#define HEDDLE_RUNTIME_TOOLS_WORKLOAD_H

#include "heddle/Generation.h"
#include "runtime/Tools/CommandLine.h"
#include "runtime/Tools/Shapes.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::tools {

/// The output that is timed: token by token where there is one, as the engines Heddle is compared
/// with give it.
const PortInfo &timedOutput(const EntryInfo &entry);

/// Ids for a batch, that an input takes.
std::vector<int32_t> randomIds(const Shape &shape, const PortInfo &input);

/// Sources of ordinary tokens of a vocabulary.
std::vector<std::vector<int32_t>> randomSources(int32_t count, int32_t length, int64_t vocabulary);

/// Generation as --cases asks for it: targets of exactly so many tokens.
struct CaseWork {
  Generator generator;
  GenerationOptions search;
  std::vector<std::vector<int32_t>> sources;
  int64_t vocabulary = 1;
};

/// The work of one case. A model that does not generate, or has too few positions for the lengths,
/// is a failure of an option.
Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, const SessionOptions &session);

/// Generates from all sources; what does not have exactly options.maxLength tokens is an error.
/// Only tokens of the shortlist may come, if there are any.
Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist = {});

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_WORKLOAD_H
