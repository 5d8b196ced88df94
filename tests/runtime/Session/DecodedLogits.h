// SPDX-License-Identifier: Apache-2.0
///
/// Shared by tests of decoding: random tokens, and recorded logits.
#ifndef HEDDLE_TESTS_RUNTIME_SESSION_DECODEDLOGITS_H
#define HEDDLE_TESTS_RUNTIME_SESSION_DECODEDLOGITS_H

#include "runtime/Session/PagedDecoder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <span>
#include <vector>

namespace heddle {

using Tokens = std::vector<int32_t>;

inline Tokens randomTokens(std::mt19937 &random, size_t count, int limit) {
  Tokens tokens(count);
  for (int32_t &token : tokens) {
    token = static_cast<int32_t>(random() % static_cast<unsigned>(limit));
  }
  return tokens;
}

/// Records logits, [rows][vocabulary].
class Recorder : public LogitsSink {
public:
  void begin(int64_t rows, int64_t vocabulary, int workers) override {
    width = vocabulary;
    threads = workers;
    logits.assign(static_cast<size_t>(rows * vocabulary), -1.0f);
  }
  bool wants(int64_t chunk) const override { return chunk != unwanted; }
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override {
    EXPECT_LT(worker, threads);
    const int64_t first = chunk * logitsChunk;
    EXPECT_EQ(count, std::min(logitsChunk, width - first));
    for (int64_t row = 0; row < static_cast<int64_t>(logits.size()) / width; ++row) {
      std::copy_n(values + row * stride, count, logits.begin() + row * width + first);
    }
  }

  /// Returns the logits of some rows.
  std::vector<float> rows(int64_t begin, int64_t count) const {
    return {logits.begin() + begin * width, logits.begin() + (begin + count) * width};
  }

  std::vector<float> logits;
  int64_t width = 0;
  int threads = 0;
  int64_t unwanted = -1;
};

/// Takes the best tokens of every row from a device that selects, with the pairs of its chunks. A
/// token may be excluded.
class SelectionRecorder : public Recorder {
public:
  void offerSelection(int64_t most, int64_t /*vocabulary*/) override { offered = most; }
  int64_t bestNeeded(int64_t row) const override { return row == copied ? -1 : best; }
  void exclude(int64_t /*row*/, std::vector<int32_t> &tokens) const override {
    tokens.insert(tokens.end(), excluded.begin(), excluded.end());
  }
  void begin(int64_t rows, int64_t vocabulary, int workers) override {
    Recorder::begin(rows, vocabulary, workers);
    selections.assign(static_cast<size_t>(rows), {});
  }
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override {
    if (offered == 0) {
      return Recorder::deliver(worker, chunk, count, values, stride);
    }
    // Rows after the last that is copied are not in memory.
    std::copy_n(values + copied * stride, count,
                logits.begin() + copied * width + chunk * logitsChunk);
  }
  void deliverSelected(int64_t row, const SelectedTokens &tokens) override {
    Selected &selection = selections[static_cast<size_t>(row)];
    EXPECT_TRUE(selection.pieces.empty());
    selection.pieces.assign(tokens.pieces.begin(), tokens.pieces.end());
    selection.best.assign(tokens.best.begin(), tokens.best.end());
  }

  int64_t offered = 0;
  int64_t best = 2;
  /// The row whose logits are taken; -1: none.
  int64_t copied = -1;
  std::vector<int32_t> excluded;
  /// A copy of what a row was given.
  struct Selected {
    std::vector<float> pieces = {};
    std::vector<SelectedToken> best = {};
  };
  std::vector<Selected> selections;
};

inline SourceId encodeOne(PagedDecoder &decoder, const Tokens &source) {
  const SourceView tokens = source;
  SourceId id{};
  EXPECT_EQ(decoder.encode({&tokens, 1}, {&id, 1}).message(), "");
  return id;
}

/// Returns the logits of one target, passed in pieces of these lengths.
inline std::vector<float> logitsOf(PagedDecoder &decoder, const Tokens &source,
                                   const Tokens &target, const std::vector<size_t> &pieces) {
  const SourceId id = encodeOne(decoder, source);
  const HypothesisId hypothesis = *decoder.start(id);
  std::vector<float> logits;
  size_t done = 0;
  for (const size_t piece : pieces) {
    const Extension extension{hypothesis, std::span(target).subspan(done, piece)};
    Recorder recorder;
    EXPECT_EQ(decoder.decode({&extension, 1}, recorder).message(), "");
    logits.insert(logits.end(), recorder.logits.begin(), recorder.logits.end());
    done += piece;
    EXPECT_EQ(decoder.length(hypothesis), static_cast<int64_t>(done));
  }
  EXPECT_EQ(done, target.size());
  decoder.release(hypothesis);
  decoder.release(id);
  return logits;
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_SESSION_DECODEDLOGITS_H
