// SPDX-License-Identifier: Apache-2.0
///
/// Pairs of sources and targets, decoded by compiled models: alone, together, in pieces.
#ifndef HEDDLE_TESTS_ENDTOEND_DECODEDPAIRS_H
#define HEDDLE_TESTS_ENDTOEND_DECODEDPAIRS_H

#include "tests/EndToEnd/CompiledModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <memory>
#include <string>

namespace heddle {

/// Loads a model of the oracles for a target.
inline std::unique_ptr<PagedDecoder> decoderOf(const std::string &binary, const std::string &isa,
                                               int threads) {
  Result<Model> model = Model::load(binary, {.isa = isa, .device = anyDevice});
  EXPECT_EQ(model.status().message(), "");
  Result<std::unique_ptr<PagedDecoder>> decoder =
      PagedDecoder::create(*model, {.threads = threads, .schedule = Schedule::Cooperative});
  EXPECT_EQ(decoder.status().message(), "");
  return *std::move(decoder);
}

struct Pair {
  /// Empty if the model has no sources.
  Tokens source;
  Tokens target;
};

/// Returns pairs of random lengths that the model allows.
inline std::vector<Pair> randomPairs(const PagedDecoder &decoder, size_t count,
                                     std::mt19937 &random) {
  const auto most = [](int64_t longest, int64_t wanted) {
    return static_cast<uint32_t>(longest == 0 ? wanted : std::min(longest, wanted));
  };
  const uint32_t source = most(decoder.longestSource(), 60);
  const uint32_t target = most(decoder.longestTarget(), 50);
  // Ids of both vocabularies are less than the smaller one.
  const int limit = static_cast<int>(decoder.vocabulary()) / 2;
  std::vector<Pair> pairs;
  for (size_t i = 0; i < count; ++i) {
    const size_t tokens = decoder.hasSources() ? random() % source + 1 : 0;
    Tokens read = randomTokens(random, tokens, limit);
    pairs.push_back({std::move(read), randomTokens(random, random() % target + 1, limit)});
  }
  return pairs;
}

inline std::vector<size_t> randomPieces(size_t total, std::mt19937 &random) {
  std::vector<size_t> pieces;
  for (size_t left = total; left > 0; left -= pieces.back()) {
    pieces.push_back(random() % std::min<size_t>(left, 20) + 1);
  }
  return pieces;
}

/// Returns the logits of all pairs, decoded together step by step: each step extends the unfinished
/// ones by a random number of tokens.
inline std::vector<std::vector<float>>
decodeTogether(PagedDecoder &decoder, const std::vector<Pair> &pairs, std::mt19937 &random) {
  std::vector<SourceView> sources;
  for (const Pair &pair : pairs) {
    sources.emplace_back(pair.source);
  }
  std::vector<SourceId> ids(pairs.size());
  EXPECT_EQ(decoder.encode(sources, ids).message(), "");
  std::vector<HypothesisId> hypotheses;
  for (const SourceId id : ids) {
    hypotheses.push_back(*decoder.start(id));
  }
  std::vector<std::vector<float>> logits(pairs.size());
  while (true) {
    std::vector<Extension> extensions;
    std::vector<size_t> which;
    size_t all = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto done = static_cast<size_t>(decoder.length(hypotheses[i]));
      const size_t left = pairs[i].target.size() - done;
      const size_t count = std::min<size_t>(left, random() % 4 == 0 ? random() % 9 : 1);
      all += left;
      if (count > 0) {
        extensions.push_back({hypotheses[i], std::span(pairs[i].target).subspan(done, count)});
        which.push_back(i);
      }
    }
    if (all == 0) {
      break;
    }
    Recorder recorder;
    EXPECT_EQ(decoder.decode(extensions, recorder).message(), "");
    int64_t row = 0;
    for (size_t i = 0; i < which.size(); ++i) {
      const auto count = static_cast<int64_t>(extensions[i].tokens.size());
      const std::vector<float> rows = recorder.rows(row, count);
      logits[which[i]].insert(logits[which[i]].end(), rows.begin(), rows.end());
      row += count;
    }
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    decoder.release(hypotheses[i]);
    decoder.release(ids[i]);
  }
  return logits;
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_DECODEDPAIRS_H
