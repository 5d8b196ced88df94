// SPDX-License-Identifier: Apache-2.0
///
/// Shows where the time of work is spent: as a table, as JSON and as a trace.
#include "runtime/Tools/Commands.h"

#include "heddle/Limits.h"
#include "runtime/Device/Device.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Measure/MachineRoof.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Profile/MeasuredWork.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

static std::string dump(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Returns "contract_512x512", or the number of functions that a row sums.
static std::string kernelOf(const ProfileRow &row) {
  return row.kernels == 1 ? row.kernel : fmt::format("{} and {} more", row.kernel, row.kernels - 1);
}

/// Returns "87% memory". If the work seems faster than the machine, the measurement is too
/// inaccurate for a number.
static std::string roofText(const ProfileRow &row) {
  if (row.leastSeconds <= 0) {
    return "";
  }
  const std::string share = row.ofRoof() > 1 ? ">100%" : fmt::format("{:.0f}%", row.ofRoof() * 100);
  return fmt::format("{} {}", share, row.boundByMemory() ? "memory" : "compute");
}

static std::string tableRow(const ProfileRow &row, const MeasuredWork &measured, bool withEntry) {
  const auto rate = [](double value) {
    return value >= 0.05 ? fmt::format("{:.1f}", value) : std::string();
  };
  return fmt::format("{:>6.1f}%{:>11.4f}{:>9}{:>10}{:>8}{:>14}  {:<8}{:<44} {}\n",
                     row.seconds / measured.seconds * 100, row.seconds * 1e3, row.calls,
                     rate(row.rate()), rate(row.traffic()), roofText(row),
                     withEntry ? row.entry : "", kernelOf(row), row.name);
}

/// "moe.experts: 4 groups of weights, 1 idle; rows of each in a run: 118 0 12 7".
static std::string groupsText(const ProfileRow &row) {
  if (row.groupRows.empty()) {
    return "";
  }
  const auto idle = std::count(row.groupRows.begin(), row.groupRows.end(), uint64_t(0));
  return fmt::format("{}: {} groups of weights, {} idle; rows of each in a run: {}\n", row.name,
                     row.groupRows.size(), idle, fmt::join(row.groupRows, " "));
}

/// Returns the reasons why fractions of the roof are doubtful, one per line.
static std::string doubts(const MeasuredWork &measured) {
  std::string text;
  if (isDisturbed(measured.peaks[0], measured.peaks[1])) {
    text += fmt::format("The peak was {:.1f} GFLOP/s before the runs and {:.1f} after them: other "
                        "work disturbed the machine. The higher one is the roof.\n",
                        measured.peaks[0], measured.peaks[1]);
  }
  const auto above = std::count_if(measured.rows.begin(), measured.rows.end(),
                                   [](const ProfileRow &row) { return row.ofRoof() > 1; });
  if (above > 0) {
    text += fmt::format("{} {} above the roof: it was measured too low, or what they read was in a "
                        "nearer cache.\n",
                        above, above == 1 ? "row is" : "rows are");
  }
  return text;
}

/// Returns reasons after a colon; an empty text if there are none.
static std::string reasonsText(const std::vector<std::string> &reasons) {
  return reasons.empty() ? "" : fmt::format(": {}", fmt::join(reasons, ", "));
}

/// Returns how the tokens came from a GPU; an empty text for other devices.
static std::string selectionText(const SelectionUse &use) {
  if (use.selected + use.copied == 0) {
    return "";
  }
  return fmt::format("tokens selected on the GPU: {} of {} rows, logits copied of {}{}\n",
                     use.selected, use.selected + use.copied, use.copied, reasonsText(use.reasons));
}

static std::string table(const MeasuredWork &measured) {
  std::set<std::string_view> entries;
  for (const ProfileRow &row : measured.rows) {
    entries.insert(row.entry);
  }
  std::string text = fmt::format("\n{}: {:.4f} ms a run ({:.4f} to {:.4f}), {:.1f} tokens/s; "
                                 "medians of {} {}\n",
                                 measured.title, measured.seconds * 1e3, measured.times.least * 1e3,
                                 measured.times.most * 1e3,
                                 static_cast<double>(measured.tokens) / measured.seconds,
                                 measured.runs, measured.runs == 1 ? "run" : "runs");
  for (const auto &[name, entry] : measured.roof.entries) {
    text += fmt::format("{} reads {:.2f} MB a pass", name, entry.passBytes * 1e-6);
    text += std::isinf(entry.bandwidth)
                ? std::string("\n")
                : fmt::format(", at {:.1f} GB/s at best\n", entry.bandwidth);
  }
  for (const auto &[arithmetic, peak] : measured.roof.narrowPeaks) {
    if (std::isfinite(peak)) {
      text += fmt::format("products of {}: {:.1f} 10^9 operations/s at best\n", nameOf(arithmetic),
                          peak);
    }
  }
  text += selectionText(measured.selection);
  text += launchesText(measured.launches);
  text += fmt::format("{:>7}{:>11}{:>9}{:>10}{:>8}{:>14}  {:<8}{:<44} {}\n", "share", "ms", "calls",
                      "GFLOP/s", "GB/s", "of the roof", entries.size() > 1 ? "entry" : "", "kernel",
                      "name");
  for (const ProfileRow &row : measured.rows) {
    text += tableRow(row, measured, entries.size() > 1);
  }
  text += fmt::format("{:>6.1f}%{:>11.4f}  outside dispatches\n",
                      measured.outside() / measured.seconds * 100, measured.outside() * 1e3);
  for (const ProfileRow &row : measured.rows) {
    text += groupsText(row);
  }
  return text + doubts(measured);
}

/// Returns the row of a trace that names a process or thread.
static Json label(const char *what, int process, int thread, const std::string &name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// Runs the work once more and writes complete events in the format of the Trace Event Profiling
/// Tool: a process for each piece of work, a row for each thread. Times are in microseconds.
static Status traceWork(ProfileWork &work, int process, int threads, OutputStream &file,
                        const char *&separator) {
  work.resetProfile();
  HEDDLE_TRY(work.run());
  const std::vector<DispatchProfile> profile = work.profile();
  const std::vector<DispatchRun> runs = work.trace();
  std::string events;
  const auto add = [&](const Json &event) {
    events += separator + dump(event, -1);
    separator = ",\n";
  };
  add(label("process_name", process, 0, work.title()));
  for (int thread = 0; thread < threads; ++thread) {
    add(label("thread_name", process, thread, fmt::format("thread {}", thread)));
  }
  for (const DispatchRun &run : runs) {
    const DispatchProfile &dispatch = profile[run.dispatch];
    add({{"name", dispatch.name},
         {"cat", dispatch.entry},
         {"ph", "X"},
         {"ts", rounded(run.start * 1e6, 3)},
         {"dur", rounded(run.seconds * 1e6, 3)},
         {"pid", process},
         {"tid", run.thread},
         {"args",
          {{"kernel", dispatch.kernel},
           {"flops", run.flops},
           {"weight_bytes", run.weightBytes},
           {"cache_bytes", run.cacheBytes}}}});
  }
  const auto longest = std::count_if(runs.begin(), runs.end(),
                                     [](const DispatchRun &run) { return run.thread == 0; });
  if (longest >= tracedRuns) {
    fmt::print(stderr, "heddle: note: {}: the trace ends after {} dispatches of a thread\n",
               work.title(), tracedRuns);
  }
  return file.write(events);
}

static Status writeTrace(std::vector<std::unique_ptr<ProfileWork>> &works,
                         const ProfileOptions &options, OutputStream &file) {
  HEDDLE_TRY(file.write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"));
  const char *separator = "";
  for (size_t i = 0; i < works.size(); ++i) {
    HEDDLE_TRY(traceWork(*works[i], static_cast<int>(i) + 1, options.threads, file, separator));
  }
  HEDDLE_TRY(file.write("\n]}\n"));
  return file.finish();
}

/// Returns "; 117.5 GFLOP/s, 12.1 GB/s from memory", as far as these are known.
static std::string limitsText(double peak, double bandwidth) {
  std::vector<std::string> known;
  if (std::isfinite(peak)) {
    known.push_back(fmt::format("{:.1f} GFLOP/s", peak));
  }
  if (std::isfinite(bandwidth)) {
    known.push_back(fmt::format("{:.1f} GB/s from memory", bandwidth));
  }
  return known.empty() ? "" : fmt::format("; {}", fmt::join(known, ", "));
}

/// Opens a file before anything is measured, so that an invalid name is reported at once.
static Result<std::optional<OutputStream>> openIfNamed(const std::string &path) {
  if (path.empty()) {
    return std::optional<OutputStream>();
  }
  HEDDLE_ASSIGN(OutputStream stream, OutputStream::open(path));
  return std::optional<OutputStream>(std::move(stream));
}

static constexpr int64_t mostRuns = 1'000'000;
static constexpr std::string_view jsonEnding[] = {".json"};
static constexpr Word<ProfileBy> byWords[] = {{"name", ProfileBy::Name},
                                              {"dispatch", ProfileBy::Dispatch},
                                              {"layer", ProfileBy::Layer},
                                              {"kind", ProfileBy::Kind}};

void declare(OptionList &list, ProfileOptions &options) {
  declareModel(list, options);
  declareWork(list, options);
  list.input("--input", options.input,
             "Texts to embed or generate from: one a line, .jsonl has {\"text\": ...} a "
             "line, - is standard input")
      .hinted();
  declareInputFormat(list, options.inputFormat).needs("--input");
  list.flag("--tokens", options.tokens, "Lines of --input are token ids with spaces between them")
      .needs("--input");
  refuseFormatOfTokens(list);
  list.whole("--beam", options.beam, 1, mostBeams, "K", "Hypotheses for each text of --input")
      .otherwise("the model's")
      .needs("--input");
  list.word("--by", options.by, byWords, "WHAT",
            "What has a row: a name (numbers of layers left out), a dispatch, a layer, or a kind "
            "of kernel");
  list.whole("--runs", options.runs, int64_t(1), mostRuns, "N",
             "Runs to measure, after one to warm up; times are medians of them")
      .otherwise(fmt::format("{}", options.runs));
  list.file("--trace", options.trace, "One more run as a trace for chrome://tracing or Perfetto",
            "FILE.json")
      .endings(jsonEnding, "a .json file")
      .written();
  list.file("--output", options.output, "All numbers", "FILE.json")
      .endings(jsonEnding, "a .json file")
      .written();
  declareExecution(list, options);
}

Status execute(const ProfileOptions &given) {
  ProfileOptions options = given;
  HEDDLE_TRY(pinToFirstProcessors(options.threads));
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (options.input.empty()) {
    HEDDLE_TRY(chooseWork(model, options));
  }
  HEDDLE_ASSIGN(std::optional<OutputStream> traceFile, openIfNamed(options.trace));
  HEDDLE_ASSIGN(std::optional<OutputStream> recordFile, openIfNamed(options.output));
  HEDDLE_ASSIGN(auto works, makeProfileWork(model, options));
  HEDDLE_ASSIGN(MeasuredDevice device, MeasuredDevice::of(model, options.threads));
  double peak = device.peak();
  const double bandwidth = device.reading(beyondCaches);
  Json record = machineRecord(model, options, peak, bandwidth);
  record["works"] = Json::array();
  OutputStream out = OutputStream::standard();
  if (!options.json) {
    HEDDLE_TRY(out.write(fmt::format(
        "{}: {}, {}, {} {}{}\n", options.model,
        precisionText(model.precision(), keptLayersOf(model)), model.isa(), options.threads,
        options.threads == 1 ? "thread" : "threads", limitsText(peak, bandwidth))));
  }
  SpreadNote note;
  for (const std::unique_ptr<ProfileWork> &work : works) {
    HEDDLE_ASSIGN(const MeasuredWork measured, measureWork(*work, options, peak, device));
    note.add(measured.title, measured.times);
    // Before the next work, the peak is that after this one, or higher.
    peak = measured.roof.peak;
    record["works"].push_back(recordOf(measured));
    if (!options.json) {
      HEDDLE_TRY(out.write(table(measured)));
    }
  }
  if (options.json) {
    HEDDLE_TRY(out.write(dump(record, 2) + "\n"));
  }
  if (recordFile) {
    HEDDLE_TRY(recordFile->write(dump(record, 2) + "\n"));
    HEDDLE_TRY(recordFile->finish());
  }
  HEDDLE_TRY(traceFile ? writeTrace(works, options, *traceFile) : out.finish());
  if (!options.json) {
    note.print();
  }
  return {};
}

} // namespace heddle::tools
