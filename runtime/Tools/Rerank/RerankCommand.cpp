// SPDX-License-Identifier: Apache-2.0
///
/// Ranks texts by how well they answer a query, with a cross-encoder: a classifier with one label
/// that reads the query and a text as one sequence.
#include "runtime/Tools/Commands.h"

#include "runtime/Tools/Embed/RunSize.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Similarity/Ranking.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <span>

namespace heddle::tools {

static constexpr int64_t mostTexts = 1'000'000'000;

void declare(OptionList &list, RerankOptions &options) {
  declareModel(list, options);
  list.text("--query", options.query, "TEXT", "What the texts are to answer");
  list.input("--input", options.input,
             "The texts: one a line, .jsonl has {\"text\": ...} a line, - is standard input")
      .required();
  list.whole("--top", options.top, int64_t(1), mostTexts, "N", "Show only the N best")
      .otherwise("all");
  declareOnError(list, options.onError, "it is left out");
  declareExecution(list, options);
  list.check([&options]() -> std::string {
    return options.query.empty() ? "--query TEXT is missing" : "";
  });
}

namespace {
/// A session, and what it gives the entry of a classifier.
class PairScorer {
public:
  static Result<PairScorer> create(const RerankOptions &options);

  /// Scores the texts of a block, in order; 0 for those that cannot be used, whose status says
  /// why. Ends early when the run is over; `texts` loses the others.
  Result<std::vector<float>> score(std::vector<Text> &texts, LineErrors &errors);

private:
  /// Pairs of one run, end to end.
  struct Batch {
    std::vector<int32_t> lengths;
    std::vector<int32_t> ids;
    std::vector<int32_t> types;
    /// The texts' places in the block.
    std::vector<size_t> places;
  };

  PairScorer(Session session, const EntryInfo &entry, const PortInfo &ids, const PortInfo *types,
             std::string query)
      : session(std::move(session)), entry(&entry), ids(&ids), types(types),
        query(std::move(query)) {}
  Status run(Batch &batch, std::vector<float> &scores);

  Session session;
  RunSize runSize;
  // Parts of the model, which the session keeps alive.
  const EntryInfo *entry;
  const PortInfo *ids;
  // Null: the model has no token types.
  const PortInfo *types;
  std::string query;
};
} // namespace

/// A model whose classifier gives a sequence one score.
static Status checkCrossEncoder(const Model &model, const EntryInfo &entry) {
  const PortInfo &output = entry.outputs.front();
  if (output.shape.front() != sequencesDimension || rowWidth(output) != 1) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: the classifier has {} scores for a {}, expected one for a sequence",
                    model.path(), rowWidth(output),
                    output.shape.front() == sequencesDimension ? "sequence" : "token"));
  }
  return {};
}

Result<PairScorer> PairScorer::create(const RerankOptions &options) {
  HEDDLE_ASSIGN(const Model loaded, loadModel(options.model, options));
  HEDDLE_ASSIGN(const EntryInfo *const entry, chooseEntry(loaded, "classify"));
  HEDDLE_ASSIGN(const PortInfo *const ids, chooseIds(loaded, *entry));
  HEDDLE_TRY(checkCrossEncoder(loaded, *entry));
  HEDDLE_TRY(checkTokenizer(loaded, "one to read pairs of texts"));
  // A query that cannot be used is told before any text is read.
  HEDDLE_TRY_WITH(loaded.tokenizePair(options.query, "").status(), "--query");
  const auto types =
      std::find_if(entry->inputs.begin(), entry->inputs.end(),
                   [](const PortInfo &input) { return input.name == "token_type_ids"; });
  HEDDLE_ASSIGN(Session session, Session::create(loaded, {.threads = options.threads}));
  return PairScorer(std::move(session), *entry, *ids,
                    types == entry->inputs.end() ? nullptr : &*types, options.query);
}

Status PairScorer::run(Batch &batch, std::vector<float> &scores) {
  std::vector<Input> inputs = {{ids->name, std::span<const int32_t>(batch.ids)}};
  if (types != nullptr) {
    inputs.emplace_back(types->name, std::span<const int32_t>(batch.types));
  }
  std::vector<float> results(batch.lengths.size());
  const Output output{entry->outputs.front().name, results};
  const auto begin = std::chrono::steady_clock::now();
  HEDDLE_TRY(session.run(entry->name, batch.lengths, inputs, {&output, 1}));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  runSize.took(static_cast<int64_t>(batch.ids.size()), time.count());
  for (size_t i = 0; i < results.size(); ++i) {
    scores[batch.places[i]] = results[i];
  }
  batch = {};
  return {};
}

Result<std::vector<float>> PairScorer::score(std::vector<Text> &texts, LineErrors &errors) {
  std::vector<float> scores(texts.size());
  Batch batch;
  size_t end = 0;
  for (; end < texts.size() && !interrupted(); ++end) {
    Text &text = texts[end];
    Result<TokenPair> pair = text.status.ok() ? session.model().tokenizePair(query, text.text)
                                              : Result<TokenPair>(text.status);
    if (pair.ok()) {
      if (const Status checked = checkText(*entry, *ids, pair->ids); !checked.ok()) {
        pair = checked;
      }
    }
    if (!pair.ok()) {
      text.status = text.failure(pair.status());
      if (!errors.goOn(text.status)) {
        break;
      }
      continue;
    }
    if (!batch.ids.empty() &&
        static_cast<int64_t>(batch.ids.size() + pair->ids.size()) > runSize.tokens()) {
      HEDDLE_TRY(run(batch, scores));
    }
    batch.lengths.push_back(static_cast<int32_t>(pair->ids.size()));
    batch.ids.insert(batch.ids.end(), pair->ids.begin(), pair->ids.end());
    batch.types.insert(batch.types.end(), pair->typeIds.begin(), pair->typeIds.end());
    batch.places.push_back(end);
  }
  if (!batch.ids.empty()) {
    HEDDLE_TRY(run(batch, scores));
  }
  texts.resize(end);
  scores.resize(end);
  return scores;
}

Status execute(const RerankOptions &options) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::openTexts(options.input));
  HEDDLE_ASSIGN(PairScorer scorer, PairScorer::create(options));
  noteInterruptions();
  Ranking ranking(options.top);
  LineErrors errors(options.onError, reader.name());
  Progress progress("texts", options.json);
  std::vector<Text> texts;
  while (!errors.stopped() && !interrupted()) {
    int64_t line = reader.number();
    HEDDLE_TRY(reader.nextBlock(texts));
    if (texts.empty()) {
      break;
    }
    HEDDLE_ASSIGN(const std::vector<float> scores, scorer.score(texts, errors));
    for (size_t i = 0; i < scores.size(); ++i) {
      ++line;
      if (texts[i].status.ok()) {
        ranking.add(scores[i], std::move(texts[i].text), line);
      }
    }
    progress.update(reader.number(), std::nullopt);
  }
  HEDDLE_TRY(errors.failure());
  if (interrupted()) {
    return {};
  }
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(rankedText(ranking.take(), "score", options.json)));
  return errors.finish(output, reader.number());
}

} // namespace heddle::tools
