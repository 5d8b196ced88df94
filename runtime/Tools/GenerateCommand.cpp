// SPDX-License-Identifier: Apache-2.0
///
/// heddle generate: lines join the batch as they come, longest first of those that are there, and
/// are answered in their order. Never waits for a line while there is work to do.
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/GenerationRecord.h"
#include "runtime/Tools/Interruption.h"
#include "runtime/Tools/LineReader.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Progress.h"
#include "runtime/Tools/TextReader.h"
#include "runtime/Tools/TokenLine.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace heddle::tools {

/// How often a wait for input looks for Ctrl-C.
static constexpr int waitMilliseconds = 100;

namespace {
/// A line on its way.
struct Pending {
  std::string source;
  /// Nothing before it is finished.
  std::optional<std::string> answer;
};

/// The whole of one run.
class GenerateRun {
public:
  GenerateRun(const GenerateOptions &options, Generator generator, LineReader sources,
              OutputStream output, std::optional<int64_t> total)
      : options(options), generator(std::move(generator)), sources(std::move(sources)),
        output(std::move(output)), total(total),
        progress("sentences", options.json || (options.output == "-" && isatty(STDOUT_FILENO))) {}

  Status run();

  std::optional<LineReader> prefixes;
  std::optional<LineReader> shortlists;

private:
  struct Waiting {
    size_t number;
    GenerationRequest request;
  };

  Status takeLines();
  Result<std::optional<GenerationRequest>> requestOf(std::string_view line);
  Result<std::string_view> lineBeside(LineReader &reader) const;
  Status expectEnd(std::optional<LineReader> &reader) const;
  Status accept(const GenerationResult &result);
  Status writeAnswers();

  const GenerateOptions &options;
  Generator generator;
  LineReader sources;
  OutputStream output;
  std::optional<int64_t> total;
  Progress progress;
  bool ended = false;
  /// Lines that were not written yet; the first has the number `written`.
  std::deque<Pending> pending;
  size_t written = 0;
  std::map<int64_t, size_t> numbers;
  int64_t tokensGenerated = 0;
};
} // namespace

/// The line of a second file that belongs to the source just read.
Result<std::string_view> GenerateRun::lineBeside(LineReader &reader) const {
  HEDDLE_ASSIGN(const std::optional<std::string_view> line, reader.next());
  if (!line) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no line for {}, expected one for each "
                                                     "source",
                                                     reader.name(), sources.where()));
  }
  return *line;
}

/// After the last source: neither does a second file have more lines.
Status GenerateRun::expectEnd(std::optional<LineReader> &reader) const {
  if (!reader) {
    return {};
  }
  HEDDLE_ASSIGN(const std::optional<std::string_view> line, reader->next());
  if (line) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: a line without a source, expected as "
                                                     "many lines as {} has",
                                                     reader->where(), sources.name()));
  }
  return {};
}

/// What is asked of a line; nothing for an empty one.
Result<std::optional<GenerationRequest>> GenerateRun::requestOf(std::string_view line) {
  GenerationRequest request;
  request.options = options.generation;
  const auto tokensOf = [&](std::string_view text, bool source) -> Result<std::vector<int32_t>> {
    if (options.tokens) {
      return parseTokenLine(text);
    }
    return source ? generator.encodeSource(text) : generator.encodeTarget(text);
  };
  std::vector<int32_t> prefix, shortlist;
  if (prefixes) {
    HEDDLE_ASSIGN(const std::string_view text, lineBeside(*prefixes));
    Result<std::vector<int32_t>> tokens = tokensOf(text, false);
    HEDDLE_TRY_WITH(tokens.status(), prefixes->where());
    prefix = std::move(*tokens);
  }
  if (shortlists) {
    HEDDLE_ASSIGN(const std::string_view text, lineBeside(*shortlists));
    Result<std::vector<int32_t>> tokens = parseTokenLine(text);
    HEDDLE_TRY_WITH(tokens.status(), shortlists->where());
    shortlist = std::move(*tokens);
  }
  if (isBlank(line)) {
    return std::optional<GenerationRequest>();
  }
  Result<std::vector<int32_t>> source = tokensOf(line, true);
  HEDDLE_TRY_WITH(source.status(), sources.where());
  request.source = std::move(*source);
  HEDDLE_TRY_WITH(generator.check(request), sources.where());
  // One after the other: what was right without a file is wrong in it.
  if (prefixes) {
    request.prefix = std::move(prefix);
    HEDDLE_TRY_WITH(generator.check(request), prefixes->where());
  }
  if (shortlists) {
    request.shortlist = std::move(shortlist);
    HEDDLE_TRY_WITH(generator.check(request), shortlists->where());
  }
  return std::optional(std::move(request));
}

/// Reads what lines there are, a block at most, and queues them, longest first: sentences that run
/// together then end together. Waits only when there is nothing else to do.
Status GenerateRun::takeLines() {
  std::vector<Waiting> block;
  size_t bytes = 0;
  while (!ended && block.size() < blockTexts && bytes < blockBytes && !interrupted()) {
    const bool idle = generator.idle() && block.empty() && pending.empty();
    HEDDLE_ASSIGN(const bool ready, sources.ready(idle ? waitMilliseconds : 0));
    if (!ready && idle) {
      continue;
    }
    if (!ready) {
      break;
    }
    HEDDLE_ASSIGN(const std::optional<std::string_view> line, sources.next());
    if (!line) {
      ended = true;
      HEDDLE_TRY(expectEnd(prefixes));
      HEDDLE_TRY(expectEnd(shortlists));
      break;
    }
    bytes += line->size();
    Result<std::optional<GenerationRequest>> request = requestOf(*line);
    HEDDLE_TRY(request.status());
    const size_t number = written + pending.size();
    pending.push_back({std::string(*line), std::nullopt});
    if (*request) {
      block.push_back({number, std::move(**request)});
    } else {
      pending.back().answer = emptyRecord(options, *line);
    }
  }
  std::sort(block.begin(), block.end(), [](const Waiting &a, const Waiting &b) {
    return a.request.source.size() != b.request.source.size()
               ? a.request.source.size() > b.request.source.size()
               : a.number < b.number;
  });
  for (Waiting &waiting : block) {
    HEDDLE_ASSIGN(const int64_t id, generator.add(std::move(waiting.request)));
    numbers[id] = waiting.number;
  }
  return {};
}

Status GenerateRun::accept(const GenerationResult &result) {
  const size_t number = numbers.extract(result.id).mapped();
  HEDDLE_TRY_WITH(result.status, fmt::format("{}:{}", sources.name(), number + 1));
  Pending &line = pending[number - written];
  for (const Hypothesis &hypothesis : result.hypotheses) {
    tokensGenerated += static_cast<int64_t>(hypothesis.tokens.size());
  }
  Result<std::string> record = generationRecord(options, generator, line.source, result);
  HEDDLE_TRY_WITH(record.status(), fmt::format("{}:{}", sources.name(), number + 1));
  line.answer = std::move(*record);
  return {};
}

/// Writes the lines that are finished and have nothing unfinished before them.
Status GenerateRun::writeAnswers() {
  std::string lines;
  while (!pending.empty() && pending.front().answer) {
    lines += *pending.front().answer;
    pending.pop_front();
    ++written;
  }
  return lines.empty() ? Status() : output.write(lines);
}

Status GenerateRun::run() {
  noteInterruptions();
  Status failure;
  while (failure.ok() && !interrupted()) {
    // The next block is read when the last one is on its way.
    if (generator.waiting() == 0 && !ended) {
      failure = takeLines();
    }
    if (failure.ok() && !generator.idle() && !interrupted()) {
      Result<std::vector<GenerationResult>> step = generator.step();
      failure = step.status();
      for (size_t i = 0; failure.ok() && i < step->size(); ++i) {
        failure = accept((*step)[i]);
      }
    }
    // What was finished before a failure is not lost.
    HEDDLE_TRY(writeAnswers());
    progress.update(static_cast<int64_t>(written), total, tokensGenerated);
    if (ended && pending.empty()) {
      return output.finish();
    }
  }
  return failure.ok() ? output.finish() : failure;
}

Status execute(const GenerateOptions &options) {
  HEDDLE_ASSIGN(LineReader sources, openSources(options.input, options.tokens));
  HEDDLE_ASSIGN(const std::optional<int64_t> total, countTexts(options.input));
  std::optional<LineReader> beside[2];
  const std::string *const paths[] = {&options.prefix, &options.shortlist};
  // A prefix is what a text is, a shortlist always ids.
  const bool areTokens[] = {options.tokens, true};
  for (size_t i = 0; i < 2; ++i) {
    if (!paths[i]->empty()) {
      HEDDLE_ASSIGN(LineReader reader, openSources(*paths[i], areTokens[i]));
      beside[i].emplace(std::move(reader));
    }
  }
  HEDDLE_ASSIGN(const Model model, Model::load(options.model, {.isa = options.isa}));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  const SessionOptions session = {.threads = options.threads,
                                  .cacheBytes = static_cast<uint64_t>(options.cacheMegabytes)
                                                << 20};
  HEDDLE_ASSIGN(Generator generator,
                Generator::create(model, {.session = session, .batchTokens = options.batchTokens}));
  // Options that do not go with this model are said before anything is read. How long a text may
  // become can depend on its source.
  GenerationRequest any{.source = {0}, .options = options.generation};
  if (!any.options.maxLength) {
    any.options.minLength.reset();
  }
  HEDDLE_TRY(generator.check(any));
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(options.output));
  GenerateRun run(options, std::move(generator), std::move(sources), std::move(output), total);
  for (size_t i = 0; i < 2; ++i) {
    if (beside[i]) {
      (i == 0 ? run.prefixes : run.shortlists).emplace(*std::move(beside[i]));
    }
  }
  return run.run();
}

} // namespace heddle::tools
