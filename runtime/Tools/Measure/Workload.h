// SPDX-License-Identifier: Apache-2.0
///
/// The work that `heddle bench` and `heddle profile` run, and how it is timed: three warm-up runs,
/// then at least five runs and two seconds, of which the median is taken. The engines that Heddle
/// is compared with are measured by the same rule.
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

/// The lengths of the sentences of one batch. Rectangular ("32x128": 32 sentences of 128 tokens),
/// or ragged from a file.
struct Shape {
  std::string name;
  std::vector<int32_t> lengths;

  /// The sum of the lengths.
  int64_t tokens() const;
};

/// The maximum number of tokens of one batch.
inline constexpr int64_t shapeTokenLimit = int64_t(1) << 26;

/// Parses a list such as "1x16,32x128".
Result<std::vector<Shape>> parseShapes(std::string_view list);

/// Reads the lengths in a file, one per line, as one batch named "lengths".
Result<Shape> readLengths(const std::string &path);

/// A case of --cases: the number of sentences generated together, and of hypotheses for each.
struct GenerationCase {
  int32_t batch = 1;
  int32_t beam = 1;
};

/// The options of both commands.
struct WorkOptions {
  std::vector<Shape> shapes;
  /// The entry that runs `shapes`; empty: the first.
  std::string entry;
  /// The cases of generation, with targets of exactly `targetLength` tokens.
  std::vector<GenerationCase> cases;
  int32_t sourceLength = 24;
  int32_t targetLength = 24;
};
/// Declares the options and returns the declaration of --shapes.
DeclaredOption &declareWork(OptionList &list, WorkOptions &options);

/// Chooses default work, which any model of its kind can do, if the options name none: one sentence
/// and several, as short as the model's positions require. Reports the equivalent options on
/// standard error.
Status chooseWork(const Model &model, WorkOptions &options);

/// Checks that the batches of --shapes fit an entry.
Status checkShapes(const EntryInfo &entry, std::span<const Shape> shapes);

/// Returns the output that is timed: one row for each token if there is such an output, as in the
/// engines that Heddle is compared with.
const PortInfo &timedOutput(const EntryInfo &entry);

/// The values of one input of a batch: ids, or rows of floats.
struct InputValues {
  std::vector<int32_t> ids;
  std::vector<float> rows;

  Input of(const PortInfo &input) const {
    return input.element == ElementType::I32 ? Input(input.name, ids) : Input(input.name, rows);
  }
};

/// Returns random values for a batch: ids within the limit of the input, or floats from 0 to 1.
InputValues randomValues(const Shape &shape, const PortInfo &input);

/// Returns the widths of images with as many pixels as the sequences have tokens, as close to
/// squares as possible, if the entry takes widths; otherwise empty.
std::vector<int32_t> imageWidths(const EntryInfo &entry, std::span<const int32_t> lengths);

/// Returns sources of random ordinary tokens, of which the first `shared` are the same in all.
std::vector<std::vector<int32_t>> randomSources(std::mt19937_64 &random, int32_t count,
                                                int32_t length, int32_t shared, int64_t vocabulary);

/// The work of --cases: generation of targets of exactly `search.maxLength` tokens.
struct CaseWork {
  Generator generator;
  GenerationOptions search;
  std::vector<std::vector<int32_t>> sources;
  int64_t vocabulary = 1;
  /// The generator of the sources.
  std::mt19937_64 random = std::mt19937_64(1);
};

/// Creates the work of one case, with options of which those about the numbers of tokens are
/// replaced. Prompts share common prefixes if the session options say so. An option error if the
/// model does not generate, or has too few positions for the lengths.
Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, GeneratorOptions asked);

/// Generates from all sources; fails if a target does not have exactly options.maxLength tokens. If
/// there is a shortlist, only its tokens are generated.
Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist = {});

inline constexpr int warmUpRuns = 3;
inline constexpr size_t fewestRuns = 5;
inline constexpr double shortestTime = 2.0;

/// Returns the median of at least one value; the upper one of two in the middle.
double median(std::vector<double> values);

/// If the median is more than this many times the minimum, other work must have taken a fifth of
/// the time of most runs (docs/report.md).
inline constexpr double mostSpread = 1.25;

/// The times of at least one run, in seconds.
struct RunTimes {
  double median = 0;
  double least = 0;
  double most = 0;

  explicit RunTimes(const std::vector<double> &seconds);
  /// Returns the median divided by the minimum, at least 1.
  double spread() const { return least > 0 ? median / least : 1; }
};

/// Collects measurements, and reports once which of them are doubtful.
class SpreadNote {
public:
  void add(std::string work, const RunTimes &times);
  /// Returns the note for standard error, a line; empty if the runs of every work took similar
  /// times.
  std::string text() const;
  /// Prints the note, if there is one.
  void print() const;

private:
  std::vector<std::string> works;
};

/// Times `work` and returns the seconds of its runs, or its first failure. `seconds` is a clock.
/// With `runs`, exactly that many are timed, after one warm-up run: for work that alternates with
/// other work.
Result<RunTimes> timeWork(const std::function<Status()> &work,
                          const std::function<double()> &seconds, int64_t runs = 0);

/// As above, with the machine's steady clock.
Result<RunTimes> timeWork(const std::function<Status()> &work, int64_t runs = 0);

/// Binds this process, and the threads that it starts later, to its first `threads` processors.
Status pinToFirstProcessors(int threads);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_WORKLOAD_H
