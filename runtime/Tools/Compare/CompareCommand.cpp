// SPDX-License-Identifier: Apache-2.0
///
/// Both models answer the same sources or prompts, then both are run on the first one's texts, then
/// both are timed alternately. The result is one record, or a table for readers.
#include "runtime/Tools/Commands.h"

#include "base/Utf8.h"
#include "runtime/Tools/Compare/CompareWork.h"
#include "runtime/Tools/Compare/Comparison.h"
#include "runtime/Tools/Compare/TextScores.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

/// The bytes of both models' logits in memory at once; a single longer text may need more.
static constexpr double logitsBytes = 128 << 20;

/// Returns the bytes of cache for one token of a target and of a source.
static Json cacheBytes(const ComparedModel &side) {
  const PagedDecoder &decoder = side.forcer->decoder();
  return {{"target", decoder.historyBytesPerPosition()},
          {"source", decoder.rowsOfMemory().perToken(decoder.memoryBytesPerPosition())}};
}

static Json describe(const CompareWork &work, const ComparedModel &side) {
  int64_t tokens = 0;
  for (size_t i = 0; i < work.sources().size(); ++i) {
    tokens += static_cast<int64_t>(side.generator ? work.generatedPart(side, i).size()
                                                  : work.sources()[i].size());
  }
  const RunTimes times(side.times);
  Json described = {{"file", side.model.path()},
                    {"precision", side.model.precision()},
                    {"cache_precision", side.model.cachePrecision()},
                    {"weight_bytes", side.model.weightsSize()}};
  if (const std::vector<std::string> kept = keptLayersOf(side.model); !kept.empty()) {
    described["kept"] = kept;
  }
  if (side.generator) {
    described["cache_bytes_per_token"] = cacheBytes(side);
  }
  described["tokens"] = tokens;
  described["seconds"] = times.median;
  described["spread"] = rounded(times.spread(), 3);
  described["tokens_per_s"] = rounded(static_cast<double>(tokens) / times.median, 1);
  described["least_seconds"] = side.leastSeconds;
  described["isa"] = side.model.isa();
  described["peak_gflops"] = rounded(side.roof.peak, 1);
  if (!side.roof.narrowPeaks.empty()) {
    described["narrow_peaks_gflops"] = narrowPeaksRecord(side.roof);
  }
  described["entries"] = entriesRecord(side.roof);
  return described;
}

/// Returns tokens per second if every dispatch were as fast as the machine allows.
static double tokensAtBest(const Json &side) {
  return side["tokens"].get<double>() / side["least_seconds"].get<double>();
}

/// Compares the generated texts. BLEU and chrF are computed on the text of the tokens, or on the
/// ids if there is no text.
static Result<Json> compareTexts(const CompareWork &work, const CompareOptions &options) {
  const auto textOf = [&](const ComparedModel &side, std::span<const int32_t> tokens) {
    return options.tokens ? Result<std::string>(tokenLine(tokens)) : side.generator->decode(tokens);
  };
  const ComparedModel &a = work.side(0);
  const ComparedModel &b = work.side(1);
  TokenAgreement agreement;
  TextScores scores;
  for (size_t i = 0; i < work.sources().size(); ++i) {
    const std::span<const int32_t> own = a.forcer->withoutEnd(work.generatedPart(a, i));
    const std::span<const int32_t> its = b.forcer->withoutEnd(work.generatedPart(b, i));
    agreement.add(own, its);
    HEDDLE_ASSIGN(const std::string reference, textOf(a, own));
    HEDDLE_ASSIGN(const std::string alike, textOf(b, own));
    if (reference != alike) {
      return work.differ(fmt::format("the same tokens are {} and {}, expected the same vocabulary",
                                     quote(reference), quote(alike)));
    }
    HEDDLE_ASSIGN(const std::string hypothesis, textOf(b, its));
    scores.add(hypothesis, reference);
  }
  return Json{{"equal_tokens", agreement.equalTokens()},
              {"identical_lines", agreement.identicalLines()},
              {"bleu", rounded(scores.bleu(), 4)},
              {"chrf", rounded(scores.chrf(), 4)}};
}

/// Runs both models on the first one's texts, and on the prompts that it continued.
static Result<DistributionDifference> compareDistributions(CompareWork &work) {
  const ComparedModel &first = work.side(0);
  const std::vector<Tokens> &sources = work.sources();
  DistributionDifference difference;
  const auto vocabulary = static_cast<double>(first.forcer->decoder().vocabulary());
  LogitsTable logits[2];
  for (size_t begin = 0; begin < sources.size();) {
    std::vector<ForcedSentence> batch;
    double rows = 0;
    for (size_t i = begin; i < sources.size(); ++i) {
      Tokens fed = first.forcer->fedFor(first.texts[i]);
      rows += static_cast<double>(fed.size());
      if (!batch.empty() && 2 * rows * vocabulary * sizeof(float) > logitsBytes) {
        break;
      }
      const std::span<const int32_t> source = sources[i];
      batch.push_back({work.continues() ? source.first(0) : source, std::move(fed)});
    }
    begin += batch.size();
    for (size_t side = 0; side < 2; ++side) {
      ComparedModel &each = work.side(side);
      HEDDLE_TRY_WITH(each.forcer->run(batch, {}, logits[side], {}), each.model.path());
    }
    for (int64_t row = 0; row < logits[0].rows(); ++row) {
      difference.add(logits[0].row(row), logits[1].row(row));
    }
  }
  return difference;
}

static Result<Json> compareEmbeddings(CompareWork &work) {
  EmbeddingDifference difference;
  for (const Tokens &source : work.sources()) {
    const auto length = static_cast<int32_t>(source.size());
    std::vector<float> embeddings[2];
    for (size_t side = 0; side < 2; ++side) {
      ComparedModel &each = work.side(side);
      embeddings[side].resize(static_cast<size_t>(each.width));
      HEDDLE_ASSIGN(const PortInfo *const ids,
                    chooseIds(each.model, *each.model.findEntry("embed")));
      const Input input{ids->name, source};
      const Output output{"embedding", embeddings[side]};
      HEDDLE_TRY_WITH(each.session->run("embed", {&length, 1}, {&input, 1}, {&output, 1}),
                      each.model.path());
    }
    difference.add(std::move(embeddings[0]), std::move(embeddings[1]));
  }
  return Json{{"mean_cosine", difference.meanCosine()},
              {"least_cosine", difference.leastCosine()},
              {"rank_correlation", difference.rankCorrelation()},
              {"ranked_texts", difference.ranked()}};
}

/// Compares the results of both models.
static Result<Json> compareResults(CompareWork &work, const CompareOptions &options) {
  if (!work.generates()) {
    return compareEmbeddings(work);
  }
  // The warm-up runs also produce the compared results.
  for (size_t side = 0; side < 2; ++side) {
    HEDDLE_TRY(work.run(work.side(side)));
  }
  HEDDLE_ASSIGN(Json difference, compareTexts(work, options));
  HEDDLE_ASSIGN(const DistributionDifference distributions, compareDistributions(work));
  difference["positions"] = distributions.positions();
  difference["kl_bits"] = distributions.kullbackLeibler();
  difference["jsd_bits"] = distributions.jensenShannon();
  return difference;
}

/// Returns a row: two cells, and their relation.
static std::string rowText(std::string_view name, const std::string &a, const std::string &b,
                           std::string_view rest = "") {
  std::string row = fmt::format("{:<28}{:>16}{:>16}  {}", name, a, b, rest);
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

static std::string ratioText(double a, double b) {
  return a > 0 ? fmt::format("{:.3f}x", b / a) : std::string();
}

/// Returns a row of two whole numbers.
static std::string countsText(std::string_view name, const Json &a, const Json &b) {
  return rowText(name, a.dump(), b.dump(), ratioText(a.get<double>(), b.get<double>()));
}

/// Returns a model's file, and its layers of other precisions.
static std::string headText(std::string_view name, const Json &side) {
  std::string text = fmt::format("{}  {}\n", name, side["file"].get<std::string>());
  for (const std::string &kept : side.value("kept", std::vector<std::string>())) {
    text += fmt::format("   keeps {}\n", kept);
  }
  return text;
}

/// Formats the record as lines: the numbers of both models side by side with their quotients, then
/// the differences between their results.
static std::string compareTable(const Json &record) {
  const Json &a = record["a"];
  const Json &b = record["b"];
  const Json &difference = record["b_against_a"];
  std::string text = headText("a", a) + headText("b", b) + "\n";
  text += rowText(fmt::format("{} sentences", record["sentences"].dump()), "a", "b", "ratio");
  text += rowText("tokens/s", fmt::format("{:.1f}", a["tokens_per_s"].get<double>()),
                  fmt::format("{:.1f}", b["tokens_per_s"].get<double>()),
                  fmt::format("{:.3f}x", record["speed_ratio"].get<double>()));
  text +=
      rowText("predicted", "", "", fmt::format("{:.3f}x", record["predicted_ratio"].get<double>()));
  text += countsText("tokens", a["tokens"], b["tokens"]);
  text +=
      rowText("precision", a["precision"].get<std::string>(), b["precision"].get<std::string>());
  text += rowText("caches", a["cache_precision"].get<std::string>(),
                  b["cache_precision"].get<std::string>());
  text += countsText("weight bytes", a["weight_bytes"], b["weight_bytes"]);
  if (!a.contains("cache_bytes_per_token")) {
    return text + fmt::format("\ncosine of embeddings: mean {:.6f}, least {:.6f}\nrank correlation "
                              "of the similarities of all pairs of {} texts: {:.6f}\n",
                              difference["mean_cosine"].get<double>(),
                              difference["least_cosine"].get<double>(),
                              difference["ranked_texts"].dump(),
                              difference["rank_correlation"].get<double>());
  }
  for (const char *const kind : {"target", "source"}) {
    // Models that continue prompts have no source memory.
    if (a["cache_bytes_per_token"][kind] == 0 && b["cache_bytes_per_token"][kind] == 0) {
      continue;
    }
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

void declare(OptionList &list, CompareOptions &options) {
  list.argument("A.so", options.model, "A model that heddlec compiled").required();
  list.argument("B.so", options.other, "The model that it is compared with").required();
  list.flag("--json", options.json, "For programs: JSON instead of a table, and no progress line");
  declareCorpus(list, options);
}

Status execute(const CompareOptions &options) {
  // As in `heddle profile`, whose roofs the prediction uses.
  HEDDLE_TRY(pinToFirstProcessors(options.threads));
  HEDDLE_ASSIGN(CompareWork work, CompareWork::open(options));
  HEDDLE_ASSIGN(Json difference, compareResults(work, options));
  HEDDLE_TRY(work.time());
  HEDDLE_TRY(work.predict());
  Json record = {{"sentences", work.sources().size()}, {"threads", options.threads}};
  record["a"] = describe(work, work.side(0));
  record["b"] = describe(work, work.side(1));
  record["speed_ratio"] = rounded(
      record["b"]["tokens_per_s"].get<double>() / record["a"]["tokens_per_s"].get<double>(), 4);
  record["predicted_ratio"] = rounded(tokensAtBest(record["b"]) / tokensAtBest(record["a"]), 4);
  record["b_against_a"] = std::move(difference);
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(options.json ? jsonText(record) + "\n" : compareTable(record)));
  HEDDLE_TRY(output.finish());
  if (!options.json) {
    SpreadNote note;
    note.add("a", RunTimes(work.side(0).times));
    note.add("b", RunTimes(work.side(1).times));
    note.print();
  }
  return work.leftOut();
}

} // namespace heddle::tools
