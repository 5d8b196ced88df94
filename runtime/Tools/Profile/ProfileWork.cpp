// SPDX-License-Identifier: Apache-2.0
///
/// Runs entries and generation repeatedly.
#include "runtime/Tools/Profile/ProfileWork.h"

#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace heddle::tools {

namespace {

/// Batches of one entry, one after another.
class EntryWork final : public ProfileWork {
public:
  EntryWork(std::string title, Session session, const EntryInfo &entry, const PortInfo &input)
      : name(std::move(title)), session(std::move(session)), entry(entry), input(input),
        output(timedOutput(entry)) {}

  void add(std::vector<int32_t> lengths, InputValues values) {
    std::vector<int32_t> widths = imageWidths(entry, lengths);
    const auto rows = static_cast<size_t>(output.rowsOf(lengths, widths));
    result.resize(std::max(result.size(), rows * static_cast<size_t>(rowWidth(output))));
    batches.push_back({std::move(lengths), std::move(widths), std::move(values), rows});
  }

  std::string title() const override { return name; }
  int64_t tokens() const override {
    int64_t sum = 0;
    for (const Batch &batch : batches) {
      sum = std::accumulate(batch.lengths.begin(), batch.lengths.end(), sum);
    }
    return sum;
  }
  Status run() override {
    for (const Batch &batch : batches) {
      const Input given = batch.values.of(input);
      const Output wanted{
          output.name, std::span(result).first(batch.rows * static_cast<size_t>(rowWidth(output)))};
      HEDDLE_TRY(session.run(entry.name, batch.lengths, {&given, 1}, {&wanted, 1}, batch.widths)
                     .annotate(name));
    }
    ++runs;
    return {};
  }
  std::vector<DispatchProfile> profile() const override { return session.profile(); }
  std::vector<DispatchRun> trace() const override { return session.trace(); }
  void resetProfile() override { session.resetProfile(); }
  std::vector<CountedLaunches> launches() const override {
    return countedLaunches(runs, session.launchUse());
  }

private:
  struct Batch {
    std::vector<int32_t> lengths, widths;
    InputValues values;
    size_t rows;
  };
  std::string name;
  Session session;
  // Parts of the model, which the session keeps alive.
  const EntryInfo &entry;
  const PortInfo &input;
  const PortInfo &output;
  std::vector<Batch> batches;
  std::vector<float> result;
  int64_t runs = 0;
};

/// Generation from all sources at once.
class GenerationWork final : public ProfileWork {
public:
  GenerationWork(std::string title, Generator generator, std::vector<std::vector<int32_t>> sources,
                 const GenerationOptions &options)
      : name(std::move(title)), generator(std::move(generator)), sources(std::move(sources)),
        options(options) {}

  std::string title() const override { return name; }
  int64_t tokens() const override { return generated; }
  Status run() override {
    generated = 0;
    for (const std::vector<int32_t> &source : sources) {
      HEDDLE_TRY(generator.add(requestFor(generator, source, options)).status().annotate(name));
    }
    while (!generator.idle()) {
      HEDDLE_ASSIGN(const std::vector<GenerationResult> finished, generator.step());
      for (const GenerationResult &result : finished) {
        HEDDLE_TRY(result.status.annotate(name));
        for (const Hypothesis &hypothesis : result.hypotheses) {
          generated += static_cast<int64_t>(hypothesis.tokens.size()) - result.prefix;
        }
      }
    }
    return {};
  }
  std::vector<DispatchProfile> profile() const override { return generator.profile(); }
  std::vector<DispatchRun> trace() const override { return generator.trace(); }
  void resetProfile() override { generator.resetProfile(); }
  SelectionUse selection() const override { return generator.selectionUse(); }
  std::vector<CountedLaunches> launches() const override {
    return countedLaunches(generator.launches());
  }

private:
  std::string name;
  Generator generator;
  std::vector<std::vector<int32_t>> sources;
  GenerationOptions options;
  int64_t generated = 0;
};

} // namespace

static SessionOptions sessionOptions(const ProfileOptions &options) {
  return {.threads = options.threads,
          .profile = true,
          .traceRuns = options.trace.empty() ? 0 : tracedRuns};
}

static Result<std::unique_ptr<EntryWork>> entryWork(const Model &model, std::string title,
                                                    std::string_view entryName,
                                                    const ProfileOptions &options) {
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(model, entryName));
  HEDDLE_ASSIGN(const PortInfo *input, chooseInput(model, *entry));
  HEDDLE_ASSIGN(Session session, Session::create(model, sessionOptions(options)));
  return std::make_unique<EntryWork>(std::move(title), std::move(session), *entry, *input);
}

static Result<std::unique_ptr<ProfileWork>> caseWork(const Model &model, const GenerationCase &each,
                                                     const ProfileOptions &options) {
  // Every run does all its work: prefixes are not shared.
  SessionOptions session = sessionOptions(options);
  session.sharePrefixes = false;
  HEDDLE_ASSIGN(CaseWork work, makeCase(model, each, options.sourceLength, options.targetLength,
                                        {.session = session}));
  return std::unique_ptr<ProfileWork>(
      new GenerationWork(fmt::format("{}x{}, {} to {} tokens", each.batch, each.beam,
                                     options.sourceLength, options.targetLength),
                         std::move(work.generator), std::move(work.sources), work.search));
}

/// Texts to embed or generate from: those of a file, or of a caller.
namespace {
struct Texts {
  const ProfileOptions &options;
  std::span<const std::string> given;

  bool areGiven() const { return !given.empty(); }
  /// Returns the ids of every non-empty text or line of ids; `encode` encodes a text.
  using Encode = std::function<Result<std::vector<int32_t>>(std::string_view)>;
  Result<std::vector<std::vector<int32_t>>> ids(const Encode &encode) const;
  Status readFile(const Encode &encode, std::vector<std::vector<int32_t>> &all) const;
  /// Returns their name in titles and messages.
  std::string title() const;
  std::string name() const { return areGiven() ? title() : options.input; }
};
} // namespace

std::string Texts::title() const {
  if (areGiven()) {
    return fmt::format("{} {}", given.size(), given.size() == 1 ? "text" : "texts");
  }
  return options.input == "-" ? "standard input"
                              : std::filesystem::path(options.input).filename().string();
}

Status Texts::readFile(const Encode &encode, std::vector<std::vector<int32_t>> &all) const {
  HEDDLE_ASSIGN(LineReader reader, openSources(options.input, options.tokens, options.inputFormat));
  while (true) {
    // An empty line is an empty text, but no ids.
    HEDDLE_ASSIGN(const std::optional<Line> line,
                  options.tokens ? reader.nextText() : reader.next());
    if (!line) {
      return {};
    }
    // A skipped line would change the measured work.
    HEDDLE_TRY(line->status);
    Result<std::vector<int32_t>> ids =
        options.tokens ? parseTokenLine(line->text) : encode(line->text);
    HEDDLE_TRY_WITH(ids.status(), reader.where());
    all.push_back(*std::move(ids));
  }
}

Result<std::vector<std::vector<int32_t>>> Texts::ids(const Encode &encode) const {
  std::vector<std::vector<int32_t>> all;
  for (size_t i = 0; i < given.size(); ++i) {
    Result<std::vector<int32_t>> ids = encode(given[i]);
    HEDDLE_TRY_WITH(ids.status(), fmt::format("text {}", i + 1));
    all.push_back(*std::move(ids));
  }
  if (!areGiven()) {
    HEDDLE_TRY(readFile(encode, all));
  }
  std::erase_if(all, [](const std::vector<int32_t> &ids) { return ids.empty(); });
  if (all.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no tokens, expected {}", name(),
                                    areGiven() ? "some in one of them" : "a text a line"));
  }
  return all;
}

static Result<std::unique_ptr<ProfileWork>> generateTexts(const Model &model, const Texts &texts) {
  // Every run does all its work: prefixes are not shared.
  SessionOptions session = sessionOptions(texts.options);
  session.sharePrefixes = false;
  HEDDLE_ASSIGN(Generator generator, Generator::create(model, {.session = session}));
  HEDDLE_ASSIGN(auto sources, texts.ids([&](std::string_view text) {
    return generator.hasSources() ? generator.encodeSource(text) : generator.encodePrompt(text);
  }));
  const GenerationOptions search = {.beam = texts.options.beam, .sample = false};
  for (const std::vector<int32_t> &source : sources) {
    HEDDLE_TRY(generator.check(requestFor(generator, source, search)).annotate(texts.name()));
  }
  // Sentences that run together then end together.
  std::sort(sources.begin(), sources.end(), [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return std::unique_ptr<ProfileWork>(
      new GenerationWork(texts.title(), std::move(generator), std::move(sources), search));
}

static Result<std::unique_ptr<ProfileWork>> encodeTexts(const Model &model, const Texts &texts) {
  std::string_view entry = texts.options.entry;
  if (entry.empty() && model.findEntry("embed") != nullptr) {
    entry = "embed";
  }
  HEDDLE_ASSIGN(const EntryInfo *reader, chooseEntry(model, entry));
  HEDDLE_TRY(chooseIds(model, *reader).status());
  HEDDLE_ASSIGN(std::unique_ptr<EntryWork> work,
                entryWork(model, texts.title(), entry, texts.options));
  HEDDLE_ASSIGN(const auto all,
                texts.ids([&](std::string_view text) { return model.tokenize(text); }));
  for (size_t begin = 0; begin < all.size(); begin += blockTexts) {
    std::vector<int32_t> lengths;
    std::vector<int32_t> ids;
    for (size_t i = begin; i < std::min(all.size(), begin + blockTexts); ++i) {
      lengths.push_back(static_cast<int32_t>(all[i].size()));
      ids.insert(ids.end(), all[i].begin(), all[i].end());
    }
    work->add(std::move(lengths), {std::move(ids), {}});
  }
  return std::unique_ptr<ProfileWork>(std::move(work));
}

Result<std::vector<std::unique_ptr<ProfileWork>>>
makeProfileWork(const Model &model, const ProfileOptions &options,
                std::span<const std::string> texts) {
  std::vector<std::unique_ptr<ProfileWork>> list;
  HEDDLE_TRY(chooseNamedEntry(model, options.entry).status());
  for (const Shape &shape : options.shapes) {
    HEDDLE_ASSIGN(std::unique_ptr<EntryWork> work,
                  entryWork(model, shape.name, options.entry, options));
    HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(model, options.entry));
    HEDDLE_TRY(checkShapes(*entry, {&shape, 1}));
    HEDDLE_ASSIGN(const PortInfo *input, chooseInput(model, *entry));
    work->add(shape.lengths, randomValues(shape, *input));
    list.push_back(std::move(work));
  }
  for (const GenerationCase &each : options.cases) {
    HEDDLE_ASSIGN(std::unique_ptr<ProfileWork> work, caseWork(model, each, options));
    list.push_back(std::move(work));
  }
  if (!options.input.empty() || !texts.empty()) {
    if (!options.tokens) {
      HEDDLE_TRY(checkTokenizer(model));
    }
    const bool generates = model.findEntry("decode") != nullptr && options.entry.empty();
    if (options.beam && !generates) {
      return optionError("--beam is given, and nothing is generated: leave it out");
    }
    HEDDLE_ASSIGN(std::unique_ptr<ProfileWork> work, generates
                                                         ? generateTexts(model, {options, texts})
                                                         : encodeTexts(model, {options, texts}));
    list.push_back(std::move(work));
  }
  return list;
}

} // namespace heddle::tools
