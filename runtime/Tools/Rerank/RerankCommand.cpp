// SPDX-License-Identifier: Apache-2.0
///
/// Ranks texts by how well they answer a query, with a cross-encoder: a classifier with one label
/// that reads the query and a text as one sequence.
#include "runtime/Tools/Commands.h"

#include "runtime/Session/Classifier.h"
#include "runtime/Tools/Embed/RunSize.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Similarity/Ranking.h"

#include <chrono>
#include <fmt/format.h>

namespace heddle::tools {

static constexpr int64_t mostTexts = 1'000'000'000;

void declare(OptionList &list, RerankOptions &options) {
  declareModel(list, options);
  list.text("--query", options.query, "TEXT", "What the texts are to answer");
  declareTexts(list, options);
  list.whole("--top", options.top, int64_t(1), mostTexts, "N", "Show only the N best")
      .otherwise("all");
  declareOnError(list, options.onError, "it is left out");
  declareExecution(list, options);
  list.check([&list, &options]() -> std::string {
    return !options.query.empty()  ? ""
           : list.given("--query") ? "--query is empty, expected a text"
                                   : "--query TEXT is missing";
  });
}

namespace {
/// A session that runs the entry of a classifier on pairs of texts.
class PairScorer {
public:
  static Result<PairScorer> create(const RerankOptions &options);

  /// Scores the texts of a block, in order; 0 for those that cannot be used, whose status has the
  /// reason. If the run ends early, the texts that were not scored are removed.
  Result<std::vector<float>> score(std::vector<Text> &texts, LineErrors &errors);

private:
  /// The pairs of one run.
  struct Batch {
    std::vector<TokenPair> pairs;
    int64_t tokens = 0;
    /// The indices of the texts in the block.
    std::vector<size_t> places;
  };

  PairScorer(Session session, Classifier classifier, std::string query)
      : session(std::move(session)), classifier(std::move(classifier)), query(std::move(query)) {}
  Status run(Batch &batch, std::vector<float> &scores);

  Session session;
  RunSize runSize;
  Classifier classifier;
  std::string query;
};
} // namespace

Result<PairScorer> PairScorer::create(const RerankOptions &options) {
  HEDDLE_ASSIGN(const Model loaded, loadModel(options.model, options));
  HEDDLE_TRY(requireEntry(loaded, classifyEntry, "classify", "a cross-encoder").status());
  HEDDLE_ASSIGN(Classifier classifier, Classifier::of(loaded));
  HEDDLE_TRY(classifier.checkCrossEncoder());
  HEDDLE_TRY(checkTokenizer(loaded, "one to read pairs of texts"));
  // A query that cannot be used is reported before any text is read.
  HEDDLE_TRY_WITH(classifier.read(options.query, "").status(), "--query");
  HEDDLE_ASSIGN(Session session, Session::create(loaded, {.threads = options.threads}));
  return PairScorer(std::move(session), std::move(classifier), options.query);
}

Status PairScorer::run(Batch &batch, std::vector<float> &scores) {
  std::vector<float> results(batch.pairs.size());
  const auto begin = std::chrono::steady_clock::now();
  HEDDLE_TRY(classifier.run(session, batch.pairs, results));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  runSize.took(batch.tokens, time.count());
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
    Result<TokenPair> pair =
        text.status.ok() ? classifier.read(query, text.text) : Result<TokenPair>(text.status);
    if (pair.ok()) {
      if (const Status checked = checkText(classifier.entry(), classifier.ids(), pair->ids);
          !checked.ok()) {
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
    const auto size = static_cast<int64_t>(pair->ids.size());
    if (batch.tokens > 0 && batch.tokens + size > runSize.tokens()) {
      HEDDLE_TRY(run(batch, scores));
    }
    batch.pairs.push_back(*std::move(pair));
    batch.tokens += size;
    batch.places.push_back(end);
  }
  if (batch.tokens > 0) {
    HEDDLE_TRY(run(batch, scores));
  }
  texts.resize(end);
  scores.resize(end);
  return scores;
}

Status execute(const RerankOptions &options) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::openTexts(options.input, options.inputFormat));
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
