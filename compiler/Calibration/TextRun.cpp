// SPDX-License-Identifier: Apache-2.0
///
/// Runs an encoder in a session, and a generating model in its decoder: each source with the answer
/// that the model gives, or each text alone, in one pass.
#include "compiler/Calibration/TextRun.h"

#include "formats/Binary/GenerationCheck.h"
#include "heddle/Generation.h"
#include "runtime/Session/PagedDecoder.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

namespace heddle {

using Tokens = std::vector<int32_t>;

/// The memory limit for the rows of a batch; a single longer text may exceed it.
static constexpr double batchBytes = 64 << 20;
static constexpr int64_t batchTokens = 4096;
/// The longest answer, in tokens; a decoder's later inputs are similar.
static constexpr int32_t mostAnswered = 128;

namespace {
/// A text, and the tokens that the decoder is fed for it.
struct Item {
  Tokens source, fed;
};

/// A requested output.
struct Wanted {
  size_t number;
  const PortInfo *port;
  std::vector<float> rows = {};
};

/// Discards the logits of texts, whose tokens are known.
class NoLogits final : public LogitsSink {
public:
  void begin(int64_t, int64_t, int) override {}
  bool wants(int64_t) const override { return false; }
  void deliver(int, int64_t, int64_t, const float *, int64_t) override {}
};
} // namespace

struct TextRun::State {
  explicit State(Model model) : model(std::move(model)) {}

  Status tokenize(const CalibrationTexts &texts);
  void feedTexts();
  Status answer(const CalibrationTexts &texts, int threads);
  std::span<const Item> batchFrom(size_t begin, int64_t width) const;
  Status runBatch(std::span<const Item> batch, std::vector<Wanted> &first,
                  std::vector<Wanted> &second);
  Status runSession(std::span<const Item> batch, std::vector<Wanted> &wanted);
  Status runDecoder(std::span<const Item> batch, std::vector<Wanted> &encoded,
                    std::vector<Wanted> &decoded);

  Model model;
  /// The entry that reads texts, and the one that is fed answers or, without another entry, texts.
  const EntryInfo *entry = nullptr, *decoder = nullptr;
  std::optional<Session> session;
  std::unique_ptr<PagedDecoder> paged;
  std::vector<Item> items;
  int64_t tokens = 0, cut = 0;
};

TextRun::TextRun(std::unique_ptr<State> state) : state(std::move(state)) {}
TextRun::TextRun(TextRun &&other) noexcept = default;
TextRun::~TextRun() = default;
int64_t TextRun::tokens() const { return state->tokens; }
int64_t TextRun::textsOfMostTokens() const { return state->cut; }

// --- texts ---------------------------------------------------------------------------------------

/// Returns the entry with the first of these outputs; null if there is none.
static const EntryInfo *findObserved(const Model &model, std::span<const std::string> outputs) {
  const auto hasName = [&](const PortInfo &port) { return port.name == outputs.front(); };
  for (const EntryInfo &entry : model.entries()) {
    if (std::ranges::any_of(entry.outputs, hasName)) {
      return &entry;
    }
  }
  return nullptr;
}

Status TextRun::State::tokenize(const CalibrationTexts &texts) {
  const int64_t longest = (entry != nullptr ? entry : decoder)->maxLength;
  for (const std::string &text : texts.texts) {
    HEDDLE_ASSIGN(Tokens source, model.tokenize(text, longest));
    if (source.empty()) {
      continue;
    }
    cut += static_cast<int64_t>(source.size()) == longest ? 1 : 0;
    tokens += static_cast<int64_t>(source.size());
    items.push_back({std::move(source), {}});
  }
  return {};
}

/// Feeds every text to the model as a prompt.
void TextRun::State::feedTexts() {
  for (Item &item : items) {
    item.fed = std::exchange(item.source, {});
  }
}

/// Lets the model answer every text.
Status TextRun::State::answer(const CalibrationTexts &texts, int threads) {
  HEDDLE_ASSIGN(Generator generator, Generator::create(model, {.session = {.threads = threads}}));
  HEDDLE_ASSIGN(paged, PagedDecoder::create(model, {.threads = threads}));
  const auto longest = static_cast<int32_t>(std::min<int64_t>(
      paged->longestTarget() == 0 ? mostAnswered : paged->longestTarget(), mostAnswered));
  std::map<int64_t, Item *> asked;
  for (Item &item : items) {
    GenerationRequest request{.source = item.source};
    request.options.beam = 1;
    request.options.minLength = 0;
    request.options.maxLength = longest;
    HEDDLE_ASSIGN(const int64_t id, generator.add(std::move(request)));
    asked[id] = &item;
  }
  while (!generator.idle()) {
    HEDDLE_ASSIGN(std::vector<GenerationResult> finished, generator.step());
    for (GenerationResult &result : finished) {
      HEDDLE_TRY_WITH(result.status, texts.path);
      Item &item = *asked.at(result.id);
      item.fed = paged->start();
      if (!result.hypotheses.empty()) {
        const Tokens &best = result.hypotheses.front().tokens;
        std::copy_if(best.begin(), best.end(), std::back_inserter(item.fed),
                     [&](int32_t token) { return !paged->isEnd(token); });
      }
      if (paged->longestTarget() != 0) {
        item.fed.resize(std::min(item.fed.size(), static_cast<size_t>(paged->longestTarget())));
      }
      tokens += static_cast<int64_t>(item.fed.size());
    }
  }
  return {};
}

Result<TextRun> TextRun::create(const std::string &binary, std::span<const std::string> outputs,
                                const CalibrationTexts &texts, int threads) {
  HEDDLE_ASSIGN(Model model, Model::load(binary));
  auto state = std::make_unique<State>(std::move(model));
  const bool generates = PagedDecoder::supports(state->model);
  const bool continues = generates && !PagedDecoder::hasSources(state->model);
  state->entry =
      generates ? state->model.findEntry(encodeEntry) : findObserved(state->model, outputs);
  state->decoder = generates ? state->model.findEntry(decodeEntry) : nullptr;
  if (state->entry == nullptr && !continues) {
    return HEDDLE_ERROR(Internal, "no entry has the output " + outputs.front());
  }
  HEDDLE_TRY_WITH(state->tokenize(texts), texts.path);
  if (continues) {
    HEDDLE_ASSIGN(state->paged, PagedDecoder::create(state->model, {.threads = threads}));
    state->feedTexts();
  } else if (generates) {
    HEDDLE_TRY(state->answer(texts, threads));
  } else {
    HEDDLE_ASSIGN(Session session, Session::create(state->model, {.threads = threads}));
    state->session.emplace(std::move(session));
  }
  return TextRun(std::move(state));
}

// --- runs ----------------------------------------------------------------------------------------

/// Returns the next texts that fit into one batch, at least one.
std::span<const Item> TextRun::State::batchFrom(size_t begin, int64_t width) const {
  size_t end = begin;
  int64_t count = 0;
  while (end < items.size()) {
    count += static_cast<int64_t>(items[end].source.size() + items[end].fed.size());
    const double bytes = static_cast<double>(count) * static_cast<double>(width) * sizeof(float);
    if (end > begin && (bytes > batchBytes || count > batchTokens)) {
      break;
    }
    ++end;
  }
  return std::span(items).subspan(begin, end - begin);
}

/// Allocates the outputs of a batch.
static std::vector<Output> makeOutputs(std::vector<Wanted> &wanted,
                                       std::span<const int32_t> lengths) {
  std::vector<Output> outputs;
  for (Wanted &each : wanted) {
    each.rows.resize(static_cast<size_t>(each.port->rowsOf(lengths) * each.port->shape.back()));
    outputs.push_back({each.port->name, each.rows});
  }
  return outputs;
}

static std::vector<int32_t> lengthsOf(std::span<const Item> batch, Tokens Item::*tokens) {
  std::vector<int32_t> lengths;
  for (const Item &item : batch) {
    lengths.push_back(static_cast<int32_t>((item.*tokens).size()));
  }
  return lengths;
}

Status TextRun::State::runSession(std::span<const Item> batch, std::vector<Wanted> &wanted) {
  Tokens ids;
  for (const Item &item : batch) {
    ids.insert(ids.end(), item.source.begin(), item.source.end());
  }
  const std::vector<int32_t> lengths = lengthsOf(batch, &Item::source);
  const auto input =
      std::ranges::find_if(entry->inputs, [](const PortInfo &port) { return !port.optional; });
  const Input given{input->name, ids};
  const std::vector<Output> outputs = makeOutputs(wanted, lengths);
  return session->run(entry->name, lengths, {&given, 1}, outputs);
}

namespace {
/// Resources of a pass in the decoder, released when it ends.
struct Pass {
  PagedDecoder &decoder;
  std::vector<SourceId> sources = {};
  std::vector<HypothesisId> hypotheses = {};

  ~Pass() {
    for (const HypothesisId hypothesis : hypotheses) {
      decoder.release(hypothesis);
    }
    for (const SourceId source : sources) {
      decoder.release(source);
    }
  }
};
} // namespace

Status TextRun::State::runDecoder(std::span<const Item> batch, std::vector<Wanted> &encoded,
                                  std::vector<Wanted> &decoded) {
  std::vector<SourceView> sources;
  for (const Item &item : batch) {
    sources.emplace_back(item.source);
  }
  Pass pass{*paged};
  std::vector<SourceId> ids(sources.size());
  HEDDLE_TRY(paged->encode(sources, ids, makeOutputs(encoded, lengthsOf(batch, &Item::source))));
  pass.sources = std::move(ids);
  if (decoded.empty()) {
    return {};
  }
  std::vector<Extension> extensions;
  for (size_t i = 0; i < batch.size(); ++i) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, paged->start(pass.sources[i]));
    pass.hypotheses.push_back(hypothesis);
    extensions.push_back({hypothesis, batch[i].fed});
  }
  NoLogits none;
  const std::vector<Output> outputs = makeOutputs(decoded, lengthsOf(batch, &Item::fed));
  return paged->decode(extensions, none, {.rows = outputs});
}

/// Returns the outputs of an entry among these names.
static std::vector<Wanted> wantedOf(const EntryInfo *entry, std::span<const std::string> names) {
  std::vector<Wanted> wanted;
  for (size_t number = 0; entry != nullptr && number < names.size(); ++number) {
    for (const PortInfo &port : entry->outputs) {
      if (port.name == names[number]) {
        wanted.push_back({number, &port});
      }
    }
  }
  return wanted;
}

Status TextRun::run(std::span<const std::string> outputs, const RowsSink &sink,
                    const std::function<void(size_t)> &onTexts) {
  std::vector<Wanted> first = wantedOf(state->entry, outputs);
  std::vector<Wanted> second = wantedOf(state->decoder, outputs);
  int64_t width = 0;
  for (const std::vector<Wanted> *const wanted : {&first, &second}) {
    for (const Wanted &each : *wanted) {
      width += each.port->shape.back();
    }
  }
  for (size_t done = 0; done < state->items.size();) {
    const std::span<const Item> batch = state->batchFrom(done, width);
    HEDDLE_TRY(state->paged ? state->runDecoder(batch, first, second)
                            : state->runSession(batch, first));
    for (const std::vector<Wanted> *const wanted : {&first, &second}) {
      for (const Wanted &each : *wanted) {
        sink(each.number, each.rows);
      }
    }
    done += batch.size();
    onTexts(done);
  }
  return {};
}

} // namespace heddle
