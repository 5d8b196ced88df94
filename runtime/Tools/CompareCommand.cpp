// SPDX-License-Identifier: Apache-2.0
///
/// heddle compare: both models search for the texts of the same sources, then both are given the
/// first one's texts, then the clock is on both in turn.
#include "heddle/Generation.h"
#include "runtime/Base/Utf8.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Comparison.h"
#include "runtime/Tools/LineReader.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/TeacherForcing.h"
#include "runtime/Tools/TextScores.h"
#include "runtime/Tools/Timing.h"
#include "runtime/Tools/TokenLine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

/// Logits of both models that are in memory at once; those of a longer text alone may take more.
static constexpr double logitsBytes = 128 << 20;
/// Rounds of both models are timed until each has taken so long, at least three; where a round
/// takes minutes one has to do.
static constexpr double roundsTime = 2.0;
static constexpr double longestTime = 60.0;
static constexpr size_t fewestRounds = 3;

namespace {
/// One of the two models.
struct Side {
  explicit Side(Model loaded) : model(std::move(loaded)) {}

  Model model;
  // Of models that generate.
  std::optional<Generator> generator;
  std::optional<TeacherForcer> forcer;
  // Of models that embed.
  std::optional<Session> session;
  int64_t width = 0;

  std::vector<Tokens> texts = {};
  std::vector<double> times = {};
};

/// One run of the command.
struct Comparer {
  const CompareOptions &options;
  std::array<Side, 2> sides;
  std::vector<Tokens> sources = {};

  bool generates() const { return sides[0].generator.has_value(); }
  Status open();
  Status readSources();
  Result<Json> run();

private:
  Status openGenerating();
  Status openEmbedding();
  Result<Tokens> sourceOf(std::string_view line) const;
  Result<Tokens> sourceFor(const Side &side, std::string_view line) const;
  Result<std::string> textOf(const Side &side, std::span<const int32_t> tokens) const;
  Status work(Side &side);
  Status time();
  Result<Json> compareTexts();
  Result<DistributionDifference> compareDistributions();
  Result<Json> compareEmbeddings();
  Json describe(const Side &side) const;
};
} // namespace

// --- What is compared --------------------------------------------------------------------------

/// The failure for two models that are not of one kind.
static Status differ(const Side &a, const Side &b, const std::string &what) {
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{} and {}: {}", a.model.path(), b.model.path(), what));
}

Status Comparer::openGenerating() {
  for (Side &side : sides) {
    const SessionOptions session = {.threads = options.threads};
    HEDDLE_ASSIGN(Generator generator, Generator::create(side.model, {.session = session}));
    side.generator.emplace(std::move(generator));
    HEDDLE_ASSIGN(TeacherForcer forcer, TeacherForcer::create(side.model, session));
    side.forcer.emplace(std::move(forcer));
  }
  const int64_t tokens[] = {sides[0].forcer->decoder().vocabulary(),
                            sides[1].forcer->decoder().vocabulary()};
  if (tokens[0] != tokens[1]) {
    return differ(sides[0], sides[1],
                  fmt::format("the vocabularies have {} and {} tokens, expected the same one",
                              tokens[0], tokens[1]));
  }
  return {};
}

Status Comparer::openEmbedding() {
  if (options.beam) {
    return differ(sides[0], sides[1], "--beam is given, and the models do not generate");
  }
  for (Side &side : sides) {
    HEDDLE_ASSIGN(Session session, Session::create(side.model, {.threads = options.threads}));
    HEDDLE_TRY_WITH(session.embeddingWidth().status(),
                    "the models do not generate, expected ones that embed");
    HEDDLE_ASSIGN(side.width, session.embeddingWidth());
    side.session.emplace(std::move(session));
  }
  if (sides[0].width != sides[1].width) {
    return differ(sides[0], sides[1],
                  fmt::format("the embeddings have {} and {} numbers, expected as many",
                              sides[0].width, sides[1].width));
  }
  return {};
}

Status Comparer::open() {
  const bool generate[] = {PagedDecoder::supports(sides[0].model),
                           PagedDecoder::supports(sides[1].model)};
  if (generate[0] != generate[1]) {
    return differ(sides[0], sides[1],
                  fmt::format("only the {} generates, expected both or neither",
                              generate[0] ? "first" : "second"));
  }
  for (const Side &side : sides) {
    if (!options.tokens && !side.model.hasTokenizer()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: the model has no tokenizer, expected one or --tokens",
                                      side.model.path()));
    }
  }
  return generate[0] ? openGenerating() : openEmbedding();
}

/// The ids of a line as one of the models cuts it.
Result<Tokens> Comparer::sourceFor(const Side &side, std::string_view line) const {
  if (!side.generator) {
    Result<Tokens> ids = options.tokens ? parseTokenLine(line) : side.model.tokenize(line);
    HEDDLE_TRY(ids.status());
    HEDDLE_ASSIGN(const PortInfo *const input,
                  chooseInput(side.model, *side.model.findEntry("embed")));
    HEDDLE_TRY(checkTokens("text", *ids, input->limit));
    return ids;
  }
  Result<Tokens> ids = options.tokens ? parseTokenLine(line) : side.generator->encodeSource(line);
  HEDDLE_TRY(ids.status());
  GenerationRequest request{.source = *ids};
  request.options.beam = options.beam;
  HEDDLE_TRY(side.generator->check(request));
  return ids;
}

Result<Tokens> Comparer::sourceOf(std::string_view line) const {
  Result<Tokens> ids = sourceFor(sides[0], line);
  HEDDLE_TRY_WITH(ids.status(), sides[0].model.path());
  Result<Tokens> others = sourceFor(sides[1], line);
  HEDDLE_TRY_WITH(others.status(), sides[1].model.path());
  if (*ids != *others) {
    return HEDDLE_ERROR(InvalidArgument, "the models cut the text into different tokens, expected "
                                         "the same vocabulary");
  }
  return ids;
}

Status Comparer::readSources() {
  HEDDLE_ASSIGN(LineReader lines, LineReader::open(options.input));
  while (true) {
    HEDDLE_ASSIGN(const std::optional<std::string_view> line, lines.next());
    if (!line) {
      break;
    }
    if (line->find_first_not_of(" \t") == std::string_view::npos) {
      continue;
    }
    Result<Tokens> source = sourceOf(*line);
    HEDDLE_TRY_WITH(source.status(), lines.where());
    sources.push_back(*std::move(source));
  }
  return !sources.empty()
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: no texts, expected at least one", lines.name()));
}

// --- Speed -------------------------------------------------------------------------------------

/// What is timed: all sources through one model.
Status Comparer::work(Side &side) {
  if (side.generator) {
    GenerationOptions search;
    search.beam = options.beam;
    HEDDLE_ASSIGN(side.texts, generateBest(*side.generator, sources, search, side.model.path()));
    return {};
  }
  // A block at a time: what is embedded together is in memory together.
  constexpr size_t blockTexts = 64;
  HEDDLE_ASSIGN(const PortInfo *const ids, chooseInput(side.model, *side.model.findEntry("embed")));
  std::vector<float> embeddings;
  for (size_t begin = 0; begin < sources.size(); begin += blockTexts) {
    const size_t end = std::min(sources.size(), begin + blockTexts);
    std::vector<int32_t> lengths;
    Tokens tokens;
    for (size_t i = begin; i < end; ++i) {
      lengths.push_back(static_cast<int32_t>(sources[i].size()));
      tokens.insert(tokens.end(), sources[i].begin(), sources[i].end());
    }
    embeddings.resize((end - begin) * static_cast<size_t>(side.width));
    const Input input{ids->name, tokens};
    const Output output{"embedding", embeddings};
    HEDDLE_TRY_WITH(side.session->run("embed", lengths, {&input, 1}, {&output, 1}),
                    side.model.path());
  }
  return {};
}

/// Both in turn, so that what the machine does besides falls on both.
Status Comparer::time() {
  const auto now = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
  double total = 0;
  const auto isEnough = [&] {
    const size_t rounds = sides[1].times.size();
    return (rounds >= fewestRounds && total >= 2 * roundsTime) ||
           (rounds >= 1 && total >= longestTime);
  };
  while (!isEnough()) {
    for (Side &side : sides) {
      const double begin = now();
      HEDDLE_TRY(work(side));
      side.times.push_back(now() - begin);
      total += side.times.back();
    }
  }
  return {};
}

// --- Results -----------------------------------------------------------------------------------

static double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

/// Bytes of cache that one position takes, of a target and of a source.
static Json cacheBytes(const Side &side) {
  if (!side.forcer) {
    return {};
  }
  const PagedDecoder &decoder = side.forcer->decoder();
  return {{"target", decoder.historyBytesPerPosition()},
          {"source", decoder.memoryBytesPerPosition()}};
}

Json Comparer::describe(const Side &side) const {
  int64_t tokens = 0;
  for (const Tokens &text : side.generator ? side.texts : sources) {
    tokens += static_cast<int64_t>(text.size());
  }
  const double seconds = median(side.times);
  Json described = {{"file", side.model.path()},
                    {"precision", side.model.precision()},
                    {"weight_bytes", side.model.weightsSize()}};
  if (side.generator) {
    described["cache_bytes_per_token"] = cacheBytes(side);
  }
  described["tokens"] = tokens;
  described["seconds"] = seconds;
  described["tokens_per_s"] = rounded(static_cast<double>(tokens) / seconds, 1);
  return described;
}

/// The text of tokens for BLEU and chrF: of ids, where there is no other.
Result<std::string> Comparer::textOf(const Side &side, std::span<const int32_t> tokens) const {
  return options.tokens ? Result<std::string>(tokenLine(tokens)) : side.generator->decode(tokens);
}

Result<Json> Comparer::compareTexts() {
  TokenAgreement agreement;
  TextScores scores;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::span<const int32_t> own = sides[0].forcer->withoutEnd(sides[0].texts[i]);
    const std::span<const int32_t> its = sides[1].forcer->withoutEnd(sides[1].texts[i]);
    agreement.add(own, its);
    HEDDLE_ASSIGN(const std::string reference, textOf(sides[0], own));
    HEDDLE_ASSIGN(const std::string alike, textOf(sides[1], own));
    if (reference != alike) {
      return differ(sides[0], sides[1],
                    fmt::format("the same tokens are {} and {}, expected the same vocabulary",
                                quote(reference), quote(alike)));
    }
    HEDDLE_ASSIGN(const std::string hypothesis, textOf(sides[1], its));
    scores.add(hypothesis, reference);
  }
  return Json{{"equal_tokens", agreement.equalTokens()},
              {"identical_lines", agreement.identicalLines()},
              {"bleu", rounded(scores.bleu(), 4)},
              {"chrf", rounded(scores.chrf(), 4)}};
}

/// Both models on what the first one wrote.
Result<DistributionDifference> Comparer::compareDistributions() {
  DistributionDifference difference;
  const auto vocabulary = static_cast<double>(sides[0].forcer->decoder().vocabulary());
  LogitsTable logits[2];
  for (size_t begin = 0; begin < sources.size();) {
    std::vector<ForcedSentence> batch;
    double rows = 0;
    for (size_t i = begin; i < sources.size(); ++i) {
      Tokens fed = sides[0].forcer->fedFor(sides[0].texts[i]);
      rows += static_cast<double>(fed.size());
      if (!batch.empty() && 2 * rows * vocabulary * sizeof(float) > logitsBytes) {
        break;
      }
      batch.push_back({sources[i], std::move(fed)});
    }
    begin += batch.size();
    for (size_t side = 0; side < sides.size(); ++side) {
      HEDDLE_TRY_WITH(sides[side].forcer->run(batch, {}, logits[side], {}),
                      sides[side].model.path());
    }
    for (int64_t row = 0; row < logits[0].rows(); ++row) {
      difference.add(logits[0].row(row), logits[1].row(row));
    }
  }
  return difference;
}

Result<Json> Comparer::compareEmbeddings() {
  double sum = 0;
  double least = 1;
  for (const Tokens &source : sources) {
    const auto length = static_cast<int32_t>(source.size());
    std::vector<float> embeddings[2];
    for (size_t side = 0; side < sides.size(); ++side) {
      Side &each = sides[side];
      embeddings[side].resize(static_cast<size_t>(each.width));
      HEDDLE_ASSIGN(const PortInfo *const ids,
                    chooseInput(each.model, *each.model.findEntry("embed")));
      const Input input{ids->name, source};
      const Output output{"embedding", embeddings[side]};
      HEDDLE_TRY_WITH(each.session->run("embed", {&length, 1}, {&input, 1}, {&output, 1}),
                      each.model.path());
    }
    const double cosine = cosineOf(embeddings[0], embeddings[1]);
    sum += cosine;
    least = std::min(least, cosine);
  }
  return Json{{"mean_cosine", sum / static_cast<double>(sources.size())}, {"least_cosine", least}};
}

Result<Json> Comparer::run() {
  // What warms up is also what is compared.
  Json difference;
  if (generates()) {
    for (Side &side : sides) {
      HEDDLE_TRY(work(side));
    }
    HEDDLE_ASSIGN(difference, compareTexts());
    HEDDLE_ASSIGN(const DistributionDifference distributions, compareDistributions());
    difference["positions"] = distributions.positions();
    difference["kl_bits"] = distributions.kullbackLeibler();
    difference["jsd_bits"] = distributions.jensenShannon();
  } else {
    HEDDLE_ASSIGN(difference, compareEmbeddings());
  }
  HEDDLE_TRY(time());
  Json result = {{"sentences", sources.size()}, {"threads", options.threads}};
  result["a"] = describe(sides[0]);
  result["b"] = describe(sides[1]);
  result["speed_ratio"] = rounded(
      result["b"]["tokens_per_s"].get<double>() / result["a"]["tokens_per_s"].get<double>(), 4);
  result["b_against_a"] = difference;
  return result;
}

// --- The table ---------------------------------------------------------------------------------

static std::string rowText(std::string_view name, const std::string &a, const std::string &b,
                           std::string_view rest = "") {
  std::string row = fmt::format("{:<28}{:>16}{:>16}  {}", name, a, b, rest);
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

static std::string ratioText(double a, double b) {
  return a > 0 ? fmt::format("{:.3f}x", b / a) : std::string();
}

/// A row of two whole numbers.
static std::string countsText(std::string_view name, const Json &a, const Json &b) {
  return rowText(name, a.dump(), b.dump(), ratioText(a.get<double>(), b.get<double>()));
}

static std::string tableOf(const Json &result) {
  const Json &a = result["a"];
  const Json &b = result["b"];
  const Json &difference = result["b_against_a"];
  std::string text =
      fmt::format("a  {}\nb  {}\n\n", a["file"].get<std::string>(), b["file"].get<std::string>());
  text += rowText(fmt::format("{} sentences", result["sentences"].dump()), "a", "b", "ratio");
  text += rowText("tokens/s", fmt::format("{:.1f}", a["tokens_per_s"].get<double>()),
                  fmt::format("{:.1f}", b["tokens_per_s"].get<double>()),
                  fmt::format("{:.3f}x", result["speed_ratio"].get<double>()));
  text += countsText("tokens", a["tokens"], b["tokens"]);
  text += countsText("weight bytes", a["weight_bytes"], b["weight_bytes"]);
  if (!a.contains("cache_bytes_per_token")) {
    return text + fmt::format("\ncosine of embeddings: mean {:.6f}, least {:.6f}\n",
                              difference["mean_cosine"].get<double>(),
                              difference["least_cosine"].get<double>());
  }
  for (const char *const kind : {"target", "source"}) {
    text += countsText(fmt::format("cache bytes a {} token", kind),
                       a["cache_bytes_per_token"][kind], b["cache_bytes_per_token"][kind]);
  }
  const auto number = [&](const char *key) { return difference[key].get<double>(); };
  text += fmt::format("\nb against a: {:.2f} % of tokens equal, {:.2f} % of lines identical, BLEU "
                      "{:.2f}, chrF {:.2f}\n",
                      100 * number("equal_tokens"), 100 * number("identical_lines"), number("bleu"),
                      number("chrf"));
  return text + fmt::format("distributions after a's texts: KL {:.6f}, JSD {:.6f} bits a token, of "
                            "{} tokens\n",
                            number("kl_bits"), number("jsd_bits"), difference["positions"].dump());
}

Status execute(const CompareOptions &options) {
  HEDDLE_ASSIGN(Model a, Model::load(options.model, {.isa = options.isa}));
  HEDDLE_ASSIGN(Model b, Model::load(options.other, {.isa = options.isa}));
  Comparer comparer{options, {Side(std::move(a)), Side(std::move(b))}};
  HEDDLE_TRY(comparer.open());
  HEDDLE_TRY(comparer.readSources());
  HEDDLE_ASSIGN(const Json result, comparer.run());
  OutputStream output = OutputStream::standard();
  const auto replace = Json::error_handler_t::replace;
  HEDDLE_TRY(
      output.write(options.json ? result.dump(-1, ' ', false, replace) + "\n" : tableOf(result)));
  return output.finish();
}

} // namespace heddle::tools
