// SPDX-License-Identifier: Apache-2.0
///
/// The work that `heddle bench` and `heddle profile` measure: batches of one entry and cases of
/// generation, with made-up tokens that are the same on every machine.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The lengths of some sentences that run as one batch. Rectangular ("32x128": 32 sentences of 128
/// tokens), or ragged from a file.
struct Shape {
  std::string name;
  std::vector<int32_t> lengths;

  /// The sum of the lengths.
  int64_t tokens() const;
};

/// The most tokens one batch may have.
inline constexpr int64_t shapeTokenLimit = int64_t(1) << 26;

/// A list such as "1x16,32x128".
Result<std::vector<Shape>> parseShapes(std::string_view list);

/// The lengths in a file, one a line, as one batch named "lengths".
Result<Shape> readLengths(const std::string &path);

/// A case of --cases: the number of sentences generated together, and of hypotheses for each.
struct GenerationCase {
  int32_t batch = 1;
  int32_t beam = 1;
};

/// The options of both commands.
struct WorkOptions {
  std::vector<Shape> shapes;
  /// The entry that `shapes` run through; empty: the first.
  std::string entry;
  /// Generation of targets of exactly `targetLength` tokens.
  std::vector<GenerationCase> cases;
  int32_t sourceLength = 24;
  int32_t targetLength = 24;
};
/// Answers the declaration of --shapes.
DeclaredOption &declareWork(OptionList &list, WorkOptions &options);

/// Whether the batches of --shapes fit an entry.
Status checkShapes(const EntryInfo &entry, std::span<const Shape> shapes);

/// The output that is timed: token by token where there is one, as the engines Heddle is compared
/// with give it.
const PortInfo &timedOutput(const EntryInfo &entry);

/// Ids for a batch, within the limit of an input.
std::vector<int32_t> randomIds(const Shape &shape, const PortInfo &input);

/// Sources of ordinary tokens of a vocabulary.
std::vector<std::vector<int32_t>> randomSources(int32_t count, int32_t length, int64_t vocabulary);

/// Generation as --cases asks for it: targets of exactly `search.maxLength` tokens.
struct CaseWork {
  Generator generator;
  GenerationOptions search;
  std::vector<std::vector<int32_t>> sources;
  int64_t vocabulary = 1;
};

/// The work of one case. Fails as an option does when the model does not generate, or has too few
/// positions for the lengths.
Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, const SessionOptions &session);

/// Generates from all sources; a target that does not have exactly options.maxLength tokens is an
/// error. Only tokens of the shortlist may come, if there are any.
Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist = {});

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H
