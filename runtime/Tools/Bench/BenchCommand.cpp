// SPDX-License-Identifier: Apache-2.0
///
/// Times an entry from ids or rows of floats to an output, and generation from source ids to target
/// ids. Targets have exactly the requested length, so that every engine that Heddle is compared
/// with does the same work.
#include "runtime/Tools/Commands.h"

#include "runtime/Tools/Bench/Arrivals.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Measure/CountedLaunches.h"
#include "runtime/Tools/Measure/MachineRoof.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

namespace {
/// One entry, its work and its output.
struct Bench {
  const BenchOptions &options;
  Model model;
  const EntryInfo &entry;
  const PortInfo &input;
  const PortInfo &output;
  SpreadNote &note;
  MeasuredDevice device;
  /// The peak of float multiply-adds on these threads, in 10^9 operations per second.
  double peak = 0;
  /// The same for the types of products other than f32, measured if they occur.
  std::map<Arithmetic, double> narrowPeaks = {};
  OutputStream lines = OutputStream::standard();
};

/// The number of operations, in total and by operand type.
struct Operations {
  double all = 0;
  std::map<Arithmetic, double> by = {};

  void add(const DispatchProfile &dispatch) {
    all += dispatch.flops;
    by[dispatch.arithmetic] += dispatch.flops;
  }
};

/// A batch of random values, and memory for its result.
struct Work {
  const Shape &shape;
  InputValues values;
  std::vector<int32_t> widths;
  std::vector<float> result;
};

/// The cost of a kernel or a dispatch.
struct Cost {
  std::string name;
  std::string kernel;
  uint64_t calls = 0;
  double seconds = 0;
  Operations operations;
};
} // namespace

static Work makeWork(const Bench &bench, const Shape &shape) {
  Work work{shape, randomValues(shape, bench.input), imageWidths(bench.entry, shape.lengths), {}};
  const int64_t rows = bench.output.rowsOf(shape.lengths, work.widths);
  work.result.resize(static_cast<size_t>(rows * rowWidth(bench.output)));
  return work;
}

static Status runOnce(const Bench &bench, Session &session, Work &work) {
  const Input input = work.values.of(bench.input);
  const Output output{bench.output.name, work.result};
  return session.run(bench.entry.name, work.shape.lengths, {&input, 1}, {&output, 1}, work.widths)
      .annotate(work.shape.name);
}

/// Sums dispatches by kernel, in descending order of cost.
static std::vector<Cost> costsByKernel(std::span<const DispatchProfile> profile) {
  std::vector<Cost> costs;
  for (const DispatchProfile &dispatch : profile) {
    auto cost = std::find_if(costs.begin(), costs.end(),
                             [&](const Cost &known) { return known.kernel == dispatch.kernel; });
    if (cost == costs.end()) {
      cost = costs.insert(costs.end(), Cost{"", dispatch.kernel, 0, 0, {}});
    }
    cost->calls += dispatch.calls;
    cost->seconds += dispatch.seconds;
    cost->operations.add(dispatch);
  }
  std::sort(costs.begin(), costs.end(), [](const Cost &a, const Cost &b) {
    return std::tie(b.seconds, a.kernel) < std::tie(a.seconds, b.kernel);
  });
  return costs;
}

static std::vector<Cost> costsByDispatch(std::span<const DispatchProfile> profile) {
  std::vector<Cost> costs;
  for (const DispatchProfile &dispatch : profile) {
    Cost &cost = costs.emplace_back(
        Cost{dispatch.name, dispatch.kernel, dispatch.calls, dispatch.seconds, {}});
    cost.operations.add(dispatch);
  }
  return costs;
}

/// Returns the fraction of the time that the operations would take at the peak rate of their type;
/// null if that is unknown.
static Json fractionOfPeak(Bench &bench, const Operations &operations, double seconds) {
  double least = 0;
  for (const auto &[arithmetic, count] : operations.by) {
    double &peak = arithmetic == Arithmetic::F32 ? bench.peak : bench.narrowPeaks[arithmetic];
    if (peak == 0) {
      peak = bench.device.peak(arithmetic);
    }
    if (std::isinf(peak)) {
      return {};
    }
    least += count / peak;
  }
  return Json(rounded(seconds > 0 ? least * 1e-9 / seconds : 0, 4));
}

/// Writes one line per kernel or dispatch. Seconds are summed over lanes, so a rate is per lane;
/// multiplied by the number of lanes, it compares with the total peak.
static Status writeCosts(Bench &bench, const Shape &shape, std::string_view kind,
                         const std::vector<Cost> &costs, int64_t runs) {
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0,
                                       [](double sum, const Cost &c) { return sum + c.seconds; });
  std::string lines;
  for (const Cost &cost : costs) {
    const double seconds = cost.seconds / bench.device.lanes();
    const double rate = seconds > 0 ? cost.operations.all * 1e-9 / seconds : 0;
    Json line = {{"engine", "heddle"},
                 {"kind", kind},
                 {"threads", bench.options.threads},
                 {"shape", shape.name}};
    line["kernel"] = cost.kernel;
    if (!cost.name.empty()) {
      line["name"] = cost.name;
    }
    const auto perRun = static_cast<double>(runs);
    line["calls"] = rounded(static_cast<double>(cost.calls) / perRun, 2);
    line["ms"] = rounded(seconds / perRun * 1e3, 4);
    line["share"] = rounded(total > 0 ? cost.seconds / total : 0, 4);
    line["gflops"] = rounded(rate, 1);
    line["fraction_of_peak"] = fractionOfPeak(bench, cost.operations, seconds);
    lines += line.dump() + "\n";
  }
  return bench.lines.write(lines);
}

/// Runs the profile for about half a second, after the plain timing so that neither disturbs the
/// other.
static Status writeProfile(Bench &bench, Session &profiled, Work &work, double seconds) {
  const auto runs = std::clamp<int64_t>(static_cast<int64_t>(0.5 / seconds), 3, 1000);
  HEDDLE_TRY(runOnce(bench, profiled, work));
  profiled.resetProfile();
  for (int64_t run = 0; run < runs; ++run) {
    HEDDLE_TRY(runOnce(bench, profiled, work));
  }
  const std::vector<DispatchProfile> profile = profiled.profile();
  if (bench.options.roofline) {
    HEDDLE_TRY(writeCosts(bench, work.shape, "kernel", costsByKernel(profile), runs));
  }
  if (bench.options.profile) {
    HEDDLE_TRY(writeCosts(bench, work.shape, "dispatch", costsByDispatch(profile), runs));
  }
  return {};
}

/// Counts the operations of the timed output: outputs that are not requested cost nothing.
static Result<Operations> countOperations(const Bench &bench, Session &profiled, Work &work) {
  profiled.resetProfile();
  HEDDLE_TRY(runOnce(bench, profiled, work));
  Operations operations;
  for (const DispatchProfile &dispatch : profiled.profile()) {
    operations.add(dispatch);
  }
  return operations;
}

/// Adds the types in which weights are stored and products computed.
static void addPrecision(Json &line, const Model &model) {
  line["precision"] = model.precision();
  if (const std::vector<std::string> kept = keptLayersOf(model); !kept.empty()) {
    line["kept"] = kept;
  }
  line["cache_precision"] = model.cachePrecision();
}

/// Adds what the last run told a device, unless it was told nothing.
static void addLaunches(Json &line, const std::vector<CountedLaunches> &launches) {
  if (Json record = launchesRecord(launches); !record.empty()) {
    line["launches"] = std::move(record);
  }
}

static Status benchShape(Bench &bench, Session &session, const Shape &shape) {
  Work work = makeWork(bench, shape);
  LaunchUse before;
  const auto run = [&] {
    before = session.launchUse();
    return runOnce(bench, session, work);
  };
  HEDDLE_ASSIGN(const RunTimes times, timeWork(run, bench.options.runs));
  bench.note.add(shape.name, times);
  const double seconds = times.median;
  // Created only now: its threads must not exist during the timing.
  const SessionOptions profiling = {.threads = bench.options.threads, .profile = true};
  HEDDLE_ASSIGN(Session profiled, Session::create(bench.model, profiling));
  HEDDLE_ASSIGN(const Operations operations, countOperations(bench, profiled, work));
  const Json fraction = fractionOfPeak(bench, operations, seconds);
  const auto tokens = static_cast<double>(shape.tokens());
  const double rate = operations.all * 1e-9 / seconds;
  Json line = {{"engine", "heddle"},
               {"threads", bench.options.threads},
               {"shape", shape.name},
               {"tokens", shape.tokens()},
               {"ms", rounded(seconds * 1e3, 4)},
               {"spread", rounded(times.spread(), 3)},
               {"tokens_per_s", rounded(tokens / seconds, 1)},
               {"gflops", rounded(rate, 1)}};
  line["fraction_of_peak"] = fraction;
  addLaunches(line,
              launchesBetween(countedLaunches(0, before), countedLaunches(1, session.launchUse())));
  addPrecision(line, bench.model);
  line["isa"] = bench.model.isa();
  HEDDLE_TRY(bench.lines.write(line.dump() + "\n"));
  if (bench.options.roofline || bench.options.profile) {
    HEDDLE_TRY(writeProfile(bench, profiled, work, seconds));
  }
  return {};
}

static Status writeMachine(Bench &bench) {
  const int threads = bench.options.threads;
  const double bandwidth = bench.device.reading(beyondCaches);
  Json line = {{"engine", "heddle"}, {"kind", "machine"}, {"threads", threads}};
  line["isa"] = bench.model.isa();
  line["vectors"] = bench.device.vectors();
  line["peak_gflops"] = rounded(bench.peak, 1);
  line["bandwidth_gb_per_s"] = rounded(bandwidth, 1);
  return bench.lines.write(line.dump() + "\n");
}

/// Returns the lowest ids, which are the most common tokens of most vocabularies.
static std::vector<int32_t> makeShortlist(int32_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens(static_cast<size_t>(std::min<int64_t>(count, vocabulary)));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

/// Measures a case that arrives while answers run.
static Status benchArrivals(const Model &model, const BenchOptions &options,
                            const GenerationCase &each, OutputStream &lines, SpreadNote &note) {
  HEDDLE_ASSIGN(const Arrivals arrivals, measureArrivals(model, options, each));
  note.add(fmt::format("{}x{} beside {}", each.batch, each.beam, options.beside),
           arrivals.firstToken);
  Json line = {{"engine", "heddle"},
               {"kind", "arrival"},
               {"threads", options.threads},
               {"batch", each.batch},
               {"beam", each.beam},
               {"beside", options.beside},
               {"first_token_ms", rounded(arrivals.firstToken.median * 1e3, 3)},
               {"spread", rounded(arrivals.firstToken.spread(), 3)},
               {"step_ms", rounded(arrivals.step * 1e3, 3)},
               {"longest_step_ms", rounded(arrivals.longestStep * 1e3, 3)}};
  addPrecision(line, model);
  line["isa"] = model.isa();
  return lines.write(line.dump() + "\n");
}

/// Measures generation: one line for each of --cases.
static Status benchCases(const Model &model, const BenchOptions &options, SpreadNote &note) {
  OutputStream lines = OutputStream::standard();
  if (options.sharedLength > options.sourceLength) {
    return optionError(
        fmt::format("--shared-length is {}, expected at most {}, the --source-length",
                    options.sharedLength, options.sourceLength));
  }
  const SessionOptions session = {.threads = options.threads,
                                  .sharePrefixes = options.sharedLength > 0};
  for (const GenerationCase &each : options.cases) {
    HEDDLE_ASSIGN(CaseWork work, makeCase(model, each, options.sourceLength, options.targetLength,
                                          {.session = session, .runAhead = options.runsAhead}));
    if (options.beside > 0) {
      HEDDLE_TRY(checkArrivals(work, options, each));
    }
    const std::vector<int32_t> shortlist = makeShortlist(options.shortlist, work.vocabulary);
    GenerationLaunches before;
    const auto run = [&] {
      before = work.generator.launches();
      if (session.sharePrefixes) {
        // The cache still holds the prompts of earlier runs.
        work.sources = randomSources(work.random, each.batch, options.sourceLength,
                                     options.sharedLength, work.vocabulary);
      }
      return generateExactly(work.generator, work.sources, work.search, shortlist);
    };
    HEDDLE_ASSIGN(const RunTimes times, timeWork(run, options.runs));
    note.add(fmt::format("{}x{}", each.batch, each.beam), times);
    const double seconds = times.median;
    const double generated = static_cast<double>(each.batch) * options.targetLength;
    Json line = {{"engine", "heddle"},
                 {"threads", options.threads},
                 {"batch", each.batch},
                 {"beam", each.beam},
                 {"ms", rounded(seconds * 1e3, 3)},
                 {"spread", rounded(times.spread(), 3)},
                 {"tokens_per_s", rounded(generated / seconds, 1)}};
    if (const StepUse use = work.generator.stepUse(); use.steps > 0) {
      line["steps"] = use.steps;
      line["steps_ahead"] = use.ahead;
      line["steps_waited"] = use.reasons;
    }
    addLaunches(
        line, launchesBetween(countedLaunches(before), countedLaunches(work.generator.launches())));
    addPrecision(line, model);
    line["isa"] = model.isa();
    HEDDLE_TRY(lines.write(line.dump() + "\n"));
    if (options.beside > 0) {
      HEDDLE_TRY(benchArrivals(model, options, each, lines, note));
    }
  }
  return lines.finish();
}

void declare(OptionList &list, BenchOptions &options) {
  declareModel(list, options);
  declareWork(list, options).hinted();
  list.input("--lengths", options.lengths,
             "One ragged batch: the lengths in this file, one a line");
  list.whole("--shortlist", options.shortlist, 1, mostTokens, "N",
             "Only the N lowest tokens may come in --cases")
      .otherwise("all")
      .needs("--cases");
  list.whole("--shared-length", options.sharedLength, 1, mostTokens, "N",
             "The first N tokens of all sources of --cases are the same, in each run others: what "
             "prompts share is computed once")
      .otherwise("0")
      .needs("--cases");
  list.whole("--beside", options.beside, 1, mostTokens, "N",
             "Also the time to the first token of --cases that arrive while N answers run, and how "
             "long these wait for a step")
      .otherwise("0")
      .needs("--cases");
  list.flag("--no-run-ahead", options.runsAhead, false,
            "On a GPU, begin no step of --cases before the one before it has ended")
      .needs("--cases");
  list.whole("--runs", options.runs, int64_t(1), int64_t(mostTokens), "N",
             "Time exactly so many runs after one to warm up")
      .otherwise("at least 5 runs and 2 s, after 3");
  list.flag("--roofline", options.roofline,
            "Also the share and speed of every kernel, and the machine's peak and bandwidth");
  list.flag("--profile", options.profile, "Also the share and speed of every dispatch");
  declareExecution(list, options);
}

static Status measureWork(const Model &model, const BenchOptions &options, SpreadNote &note) {
  std::vector<Shape> shapes = options.shapes;
  if (!options.lengths.empty()) {
    HEDDLE_ASSIGN(Shape lengths, readLengths(options.lengths));
    shapes.push_back(std::move(lengths));
  }
  if (!options.cases.empty()) {
    HEDDLE_TRY(benchCases(model, options, note));
  }
  if (shapes.empty()) {
    return {};
  }
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseNamedEntry(model, options.entry));
  HEDDLE_TRY(checkShapes(*entry, options.shapes));
  HEDDLE_ASSIGN(const PortInfo *input, chooseInput(model, *entry));
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(MeasuredDevice device, MeasuredDevice::of(model, options.threads));
  Bench bench{options, model, *entry, *input, timedOutput(*entry), note, std::move(device)};
  bench.peak = bench.device.peak();
  if (options.roofline) {
    HEDDLE_TRY(writeMachine(bench));
  }
  for (const Shape &shape : shapes) {
    HEDDLE_TRY(benchShape(bench, session, shape));
  }
  return bench.lines.finish();
}

Status execute(const BenchOptions &given) {
  BenchOptions options = given;
  HEDDLE_TRY(pinToFirstProcessors(options.threads));
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (options.lengths.empty()) {
    HEDDLE_TRY(chooseWork(model, options));
  }
  SpreadNote note;
  HEDDLE_TRY(measureWork(model, options, note));
  if (!options.json) {
    note.print();
  }
  return {};
}

} // namespace heddle::tools
