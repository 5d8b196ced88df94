// SPDX-License-Identifier: Apache-2.0
///
/// Reads shapes, cases and lengths, makes random batches, and times work.
#include "runtime/Tools/Measure/Workload.h"

#include "base/Utf8.h"
#include "heddle/Limits.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <optional>
#include <random>
#include <sched.h>
#include <system_error>

namespace heddle::tools {

// --- Options ------------------------------------------------------------------------------------

int64_t Shape::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
}

/// Calls `add` with every part of a comma-separated list, until one is invalid.
template <typename Add> static Status forEachPart(std::string_view list, const Add &add) {
  while (true) {
    const size_t comma = list.find(',');
    HEDDLE_TRY(add(list.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return {};
    }
    list.remove_prefix(comma + 1);
  }
}

static Result<Shape> parseShape(std::string_view text) {
  const size_t cross = text.find('x');
  std::optional<int64_t> sentences;
  std::optional<int64_t> length;
  if (cross != std::string_view::npos) {
    sentences = parseWhole(text.substr(0, cross), int64_t(1), shapeTokenLimit);
    length = parseWhole(text.substr(cross + 1), int64_t(1), shapeTokenLimit);
  }
  if (!sentences || !length) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format(
            "shape {} is not two positive numbers, expected SENTENCESxTOKENS such as 32x128",
            quote(text)));
  }
  if (*sentences > shapeTokenLimit / *length) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("shape {} has {} tokens, expected at most {}", quote(text),
                                    *sentences * *length, shapeTokenLimit));
  }
  return Shape{std::string(text), std::vector<int32_t>(static_cast<size_t>(*sentences),
                                                       static_cast<int32_t>(*length))};
}

Result<std::vector<Shape>> parseShapes(std::string_view list) {
  std::vector<Shape> shapes;
  int64_t tokens = 0;
  HEDDLE_TRY(forEachPart(list, [&](std::string_view part) -> Status {
    HEDDLE_ASSIGN(Shape shape, parseShape(part));
    tokens += shape.tokens();
    if (tokens > shapeTokenLimit) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("shapes have {} tokens up to {}, expected at most {} in all",
                                      tokens, quote(part), shapeTokenLimit));
    }
    shapes.push_back(std::move(shape));
    return {};
  }));
  return shapes;
}

Result<Shape> readLengths(const std::string &path) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  Shape shape{"lengths", {}};
  int64_t tokens = 0;
  while (true) {
    HEDDLE_ASSIGN(const std::optional<Line> line, reader.next());
    if (!line) {
      break;
    }
    HEDDLE_TRY(line->status);
    const std::optional<int64_t> length = parseWhole(line->text, int64_t(1), shapeTokenLimit);
    if (!length) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: {} is not a length, expected a positive number of tokens",
                      reader.where(), quote(line->text)));
    }
    tokens += *length;
    if (tokens > shapeTokenLimit) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} tokens up to here, expected at most {} in one batch",
                                      reader.where(), tokens, shapeTokenLimit));
    }
    shape.lengths.push_back(static_cast<int32_t>(*length));
  }
  if (shape.lengths.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no lengths, expected one a line", reader.name()));
  }
  return shape;
}

static Result<GenerationCase> parseCase(std::string_view text) {
  const size_t cross = text.find('x');
  std::optional<int32_t> batch;
  std::optional<int32_t> beam;
  if (cross != std::string_view::npos) {
    batch = parseWhole(text.substr(0, cross), 1, mostTokens);
    beam = parseWhole(text.substr(cross + 1), 1, mostBeams);
  }
  if (!batch || !beam) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{} is no case, expected SENTENCESxBEAM, for example 32x4", quote(text)));
  }
  return GenerationCase{*batch, *beam};
}

DeclaredOption &declareWork(OptionList &list, WorkOptions &options) {
  const auto readShapes = [](const std::string &text, std::vector<Shape> &shapes) -> std::string {
    Result<std::vector<Shape>> found = parseShapes(text);
    if (!found.ok()) {
      return fmt::format(": {}", found.status().message());
    }
    shapes = std::move(*found);
    return "";
  };
  const auto readCases = [](const std::string &text,
                            std::vector<GenerationCase> &cases) -> std::string {
    const Status status = forEachPart(text, [&](std::string_view part) -> Status {
      HEDDLE_ASSIGN(cases.emplace_back(), parseCase(part));
      return {};
    });
    return status.ok() ? "" : fmt::format(": {}", status.message());
  };
  DeclaredOption &shapes =
      list.value("--shapes", options.shapes, "LIST",
                 "Batches for one entry: SENTENCESxTOKENS, for example 1x16,32x128", readShapes)
          .otherwise("1x16,8x64 if nothing else is asked for, of a model that generates --cases "
                     "1x1,8x4");
  list.text("--entry", options.entry, "NAME", "The function of the model that batches run through")
      .otherwise("the first");
  list.value("--cases", options.cases, "LIST", "Generation: SENTENCESxBEAM, for example 1x1,32x4",
             readCases);
  list.whole("--source-length", options.sourceLength, 1, mostTokens, "N",
             "Tokens in each source of --cases")
      .needs("--cases");
  list.whole("--target-length", options.targetLength, 1, mostTokens, "N",
             "Tokens in each target of --cases")
      .needs("--cases");
  return shapes;
}

// --- Work ---------------------------------------------------------------------------------------

/// Returns the entry that reads the sources or prompts of a model that generates.
static const EntryInfo &readerOf(const Model &model) {
  return *model.findEntry(PagedDecoder::hasSources(model) ? "encode" : "decode");
}

/// Returns the input for the sources or prompts of a model that generates, the only one that is not
/// optional; null for a model that cannot generate.
static const PortInfo *sourcesOf(const Model &model) {
  const EntryInfo &encode = readerOf(model);
  const auto found = std::find_if(encode.inputs.begin(), encode.inputs.end(),
                                  [](const PortInfo &input) { return !input.optional; });
  return found == encode.inputs.end() ? nullptr : &*found;
}

Status chooseWork(const Model &model, WorkOptions &options) {
  if (!options.shapes.empty() || !options.cases.empty()) {
    return {};
  }
  const auto within = [](int32_t length, int64_t most) {
    return most == 0 ? length : static_cast<int32_t>(std::min<int64_t>(length, most));
  };
  const bool generates = options.entry.empty() && PagedDecoder::supports(model);
  const PortInfo *const sources = generates ? sourcesOf(model) : nullptr;
  if (sources != nullptr && sources->element == ElementType::I32) {
    options.cases = {{1, 1}, {8, 4}};
    options.sourceLength = within(options.sourceLength, readerOf(model).maxLength);
    options.targetLength = within(options.targetLength, model.findEntry("decode")->maxLength);
    // A prompt and its continuation share the positions.
    const int64_t most = model.findEntry("decode")->maxLength;
    if (!PagedDecoder::hasSources(model) && most != 0) {
      options.sourceLength = within(options.sourceLength, std::max<int64_t>(most / 2, 1));
      options.targetLength = within(options.targetLength, most - options.sourceLength + 1);
    }
    fmt::print(stderr,
               "heddle: note: no work is named, taking --cases 1x1,8x4 --source-length {} "
               "--target-length {}\n",
               options.sourceLength, options.targetLength);
    return {};
  }
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseNamedEntry(model, options.entry));
  // Images have whole rows of pixels.
  const auto whole = [&](int32_t length) {
    const auto multiple = static_cast<int32_t>(entry->lengthMultiple);
    const int32_t rows = (within(length, entry->maxLength) + multiple - 1) / multiple;
    const int32_t least = within(rows * multiple, entry->maxLength) / multiple * multiple;
    return std::max(least, multiple);
  };
  const std::string list = fmt::format("1x{},8x{}", whole(16), whole(64));
  HEDDLE_ASSIGN(options.shapes, parseShapes(list));
  fmt::print(stderr, "heddle: note: no work is named, taking --shapes {}\n", list);
  return {};
}

Status checkShapes(const EntryInfo &entry, std::span<const Shape> shapes) {
  for (const Shape &shape : shapes) {
    const int32_t longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
    if (entry.maxLength != 0 && longest > entry.maxLength) {
      return optionError(fmt::format("--shapes: {} has sequences of {} tokens, expected at most "
                                     "{}, the positions of the model",
                                     shape.name, longest, entry.maxLength));
    }
  }
  return {};
}

const PortInfo &timedOutput(const EntryInfo &entry) {
  const auto found =
      std::find_if(entry.outputs.begin(), entry.outputs.end(),
                   [](const PortInfo &port) { return port.name == "last_hidden_state"; });
  return found == entry.outputs.end() ? entry.outputs.front() : *found;
}

static std::vector<int32_t> randomIds(const Shape &shape, const PortInfo &input) {
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

InputValues randomValues(const Shape &shape, const PortInfo &input) {
  if (input.element == ElementType::I32) {
    return {randomIds(shape, input), {}};
  }
  std::mt19937_64 random(0);
  std::uniform_real_distribution<float> range(0, 1);
  std::vector<float> rows(static_cast<size_t>(shape.tokens() * rowWidth(input)));
  std::generate(rows.begin(), rows.end(), [&] { return range(random); });
  return {{}, std::move(rows)};
}

std::vector<int32_t> imageWidths(const EntryInfo &entry, std::span<const int32_t> lengths) {
  std::vector<int32_t> widths;
  for (size_t i = 0; entry.hasWidths && i < lengths.size(); ++i) {
    int32_t width = 1;
    for (int64_t each = 1; each * each <= lengths[i] && each <= GridSize::mostAcross; ++each) {
      width = lengths[i] % each == 0 ? static_cast<int32_t>(each) : width;
    }
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::vector<int32_t>> randomSources(std::mt19937_64 &random, int32_t count,
                                                int32_t length, int32_t shared,
                                                int64_t vocabulary) {
  // Low ids are special tokens in most vocabularies.
  const int64_t low = std::min<int64_t>(4, vocabulary - 1);
  std::vector<std::vector<int32_t>> sources(static_cast<size_t>(count));
  for (std::vector<int32_t> &source : sources) {
    source.assign(sources.front().begin(),
                  sources.front().begin() +
                      (&source == sources.data() ? 0 : std::min(shared, length)));
    while (source.size() < static_cast<size_t>(length)) {
      const uint64_t token = random() % static_cast<uint64_t>(vocabulary - low);
      source.push_back(static_cast<int32_t>(low + static_cast<int64_t>(token)));
    }
  }
  return sources;
}

Result<CaseWork> makeCase(const Model &model, const GenerationCase &each, int32_t sourceLength,
                          int32_t targetLength, GeneratorOptions asked) {
  if (!PagedDecoder::supports(model)) {
    return optionError(fmt::format("--cases: {}: the model does not generate, expected one with a "
                                   "decoder, or --shapes",
                                   model.path()));
  }
  // Every run does all its work: all prompts in one step, without sharing.
  const int64_t tokens = int64_t(each.batch) * each.beam * sourceLength;
  asked.batchTokens = asked.promptTokens = asked.promptTokensBeside = tokens;
  HEDDLE_ASSIGN(Generator generator, Generator::create(model, asked));
  const int64_t longest = generator.longestSource();
  if (longest != 0 && sourceLength > longest) {
    return optionError(fmt::format("--source-length is {}, expected at most {}, the positions of "
                                   "the model",
                                   sourceLength, longest));
  }
  // The generator was created, so there are sources.
  const PortInfo &ids = *sourcesOf(model);
  if (ids.element == ElementType::F32) {
    return optionError(
        fmt::format("--cases: {}: the sources of \"{}\" are rows of floats, expected "
                    "a model of texts, or --shapes",
                    model.path(), ids.name));
  }
  const int64_t vocabulary = ids.limit;
  const GenerationOptions search = {.rules = Rules::CTranslate2,
                                    .beam = each.beam,
                                    .minLength = targetLength,
                                    .maxLength = targetLength};
  CaseWork work{std::move(generator), search, {}, vocabulary};
  work.sources = randomSources(work.random, each.batch, sourceLength, 0, vocabulary);
  if (const Status status =
          work.generator.check(requestFor(work.generator, work.sources.front(), search));
      !status.ok()) {
    return optionError(fmt::format("--target-length {}: {}", targetLength, status.message()));
  }
  return work;
}

Status generateExactly(Generator &generator, std::span<const std::vector<int32_t>> sources,
                       const GenerationOptions &options, std::span<const int32_t> shortlist) {
  for (const std::vector<int32_t> &source : sources) {
    GenerationRequest request = requestFor(generator, source, options);
    request.shortlist.assign(shortlist.begin(), shortlist.end());
    HEDDLE_TRY(generator.add(std::move(request)).status());
  }
  while (!generator.idle()) {
    HEDDLE_ASSIGN(const std::vector<GenerationResult> finished, generator.step());
    for (const GenerationResult &result : finished) {
      HEDDLE_TRY(result.status);
      const std::vector<Hypothesis> &found = result.hypotheses;
      const int64_t tokens =
          found.empty() ? 0 : static_cast<int64_t>(found[0].tokens.size()) - result.prefix;
      if (tokens != *options.maxLength) {
        return HEDDLE_ERROR(Internal, fmt::format("{} tokens were generated, expected {}", tokens,
                                                  *options.maxLength));
      }
    }
  }
  return {};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

RunTimes::RunTimes(const std::vector<double> &seconds)
    : median(tools::median(seconds)), least(*std::min_element(seconds.begin(), seconds.end())),
      most(*std::max_element(seconds.begin(), seconds.end())) {}

void SpreadNote::add(std::string work, const RunTimes &times) {
  if (times.spread() > mostSpread) {
    works.push_back(std::move(work));
  }
}

std::string SpreadNote::text() const {
  return works.empty()
             ? std::string()
             : fmt::format(
                   "heddle: note: the runs of {} differ much: the median is more than {} "
                   "times the least time; other work disturbed the machine, measure again\n",
                   fmt::join(works, ", "), mostSpread);
}

void SpreadNote::print() const { std::fputs(text().c_str(), stderr); }

Result<RunTimes> timeWork(const std::function<Status()> &work,
                          const std::function<double()> &seconds, int64_t runs) {
  for (int run = 0; run < (runs > 0 ? 1 : warmUpRuns); ++run) {
    HEDDLE_TRY(work());
  }
  std::vector<double> times;
  const double start = seconds();
  const auto isEnough = [&] {
    return runs > 0 ? times.size() >= static_cast<size_t>(runs)
                    : times.size() >= fewestRuns && seconds() - start >= shortestTime;
  };
  while (!isEnough()) {
    const double begin = seconds();
    HEDDLE_TRY(work());
    times.push_back(seconds() - begin);
  }
  return RunTimes(times);
}

Result<RunTimes> timeWork(const std::function<Status()> &work, int64_t runs) {
  const auto clock = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  return timeWork(work, clock, runs);
}

Status pinToFirstProcessors(int threads) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("cannot ask which processors may be used: {}",
                                                 std::generic_category().message(errno)));
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&first) < threads; ++processor) {
    if (CPU_ISSET(processor, &allowed)) {
      CPU_SET(processor, &first);
    }
  }
  if (::sched_setaffinity(0, sizeof first, &first) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("cannot stay on the first {} processors: {}",
                                                 threads, std::generic_category().message(errno)));
  }
  return {};
}

} // namespace heddle::tools
