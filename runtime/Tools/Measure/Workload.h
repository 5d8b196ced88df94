// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle bench` and `heddle profile` run, and how it is timed: three runs to warm up, then
/// at least five runs and two seconds, and their median. The engines that Heddle is compared with
/// are measured by the same rule.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <cstdint>
#include <functional>
#include <random>
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

/// Where no work is named: that which any model of its kind can do, one sentence and more of them,
/// as short as its positions ask for. Says on standard error which options ask for it.
Status chooseWork(const Model &model, WorkOptions &options);

/// Whether the batches of --shapes fit an entry.
Status checkShapes(const EntryInfo &entry, std::span<const Shape> shapes);

/// The output that is timed: token by token where there is one, as the engines Heddle is compared
/// with give it.
const PortInfo &timedOutput(const EntryInfo &entry);

/// The values of one input of a batch: ids, or rows of floats.
struct InputValues {
  std::vector<int32_t> ids;
  std::vector<float> rows;

  Input of(const PortInfo &input) const {
    return input.element == ElementType::I32 ? Input(input.name, ids) : Input(input.name, rows);
  }
};

/// Values for a batch: ids within the limit of the input, or floats from 0 to 1.
InputValues randomValues(const Shape &shape, const PortInfo &input);

/// Images of as many pixels as a batch has tokens, as near to squares as they go: their widths
/// where an entry asks for them, else none.
std::vector<int32_t> imageWidths(const EntryInfo &entry, std::span<const int32_t> lengths);

/// Sources of ordinary tokens of a vocabulary, of which the first `shared` are the same in all.
std::vector<std::vector<int32_t>> randomSources(std::mt19937_64 &random, int32_t count,
                                                int32_t length, int32_t shared, int64_t vocabulary);

/// Generation as --cases asks for it: targets of exactly `search.maxLength` tokens.
struct CaseWork {
  Generator generator;
  GenerationOptions search;
  std::vector<std::vector<int32_t>> sources;
  int64_t vocabulary = 1;
  /// Draws the sources.
  std::mt19937_64 random = std::mt19937_64(1);
};

/// The work of one case. Prompts share what they begin with if the session says so. Fails as an
/// option does when the model does not generate, or has too few positions for the lengths.
Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, const SessionOptions &session);

/// Generates from all sources; a target that does not have exactly options.maxLength tokens is an
/// error. Only tokens of the shortlist may come, if there are any.
Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist = {});

inline constexpr int warmUpRuns = 3;
inline constexpr size_t fewestRuns = 5;
inline constexpr double shortestTime = 2.0;

/// The median of at least one value; of two in the middle, the upper one.
double median(std::vector<double> values);

/// Above this quotient of the median and the least time the runs of a work differ so much that
/// other work must have taken a fifth of the time of most of them (docs/report.md).
inline constexpr double mostSpread = 1.25;

/// The seconds of at least one run.
struct RunTimes {
  double median = 0;
  double least = 0;
  double most = 0;

  explicit RunTimes(const std::vector<double> &seconds);
  /// The median by the least, from 1 on.
  double spread() const { return least > 0 ? median / least : 1; }
};

/// Collects what was measured, and says once which of it is doubtful.
class SpreadNote {
public:
  void add(std::string work, const RunTimes &times);
  /// The note for standard error, a line; empty if the runs of every work took about the same time.
  std::string text() const;
  /// Prints it, if there is one.
  void print() const;

private:
  std::vector<std::string> works;
};

/// The seconds of `work`, or its first failure. `seconds` is a clock. With `runs`, exactly so many
/// are timed, after one to warm up: for work that takes turns with other work.
Result<RunTimes> timeWork(const std::function<Status()> &work,
                          const std::function<double()> &seconds, int64_t runs = 0);

/// The same with the machine's steady clock.
Result<RunTimes> timeWork(const std::function<Status()> &work, int64_t runs = 0);

/// Keeps this process, and the threads it starts from now on, on its first `threads` processors.
Status pinToFirstProcessors(int threads);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H
