// SPDX-License-Identifier: Apache-2.0
///
/// Searches whose hypotheses a device orders, and what the rules of the host make of them.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_ORDEREDSEARCHES_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_ORDEREDSEARCHES_H

#include "heddle/HypothesisOrder.h"
#include "heddle/Selection.h"
#include "runtime/Kernels/LogSumExp.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace heddle {

/// A hypothesis: the sum of its log-probabilities, and what is selected of its logits.
struct Hypothesis {
  double sum = 0;
  std::vector<ExponentialSum> chunks = {};
  std::vector<SelectedToken> best = {};
};

struct Search {
  std::vector<Hypothesis> hypotheses = {};
  size_t wanted = 0, width = 0;
  bool refills = false;
  std::vector<int32_t> ends = {}, banned = {};
  size_t wholeBlocks = 0;
  bool hasPartial = false;
  /// Words behind the best tokens of a row, and rows of others before those of the search.
  size_t padding = 0, rowsBefore = 0;
};

/// The same in memory, as kernels read it, without places in a step.
struct SearchInMemory {
  explicit SearchInMemory(const Search &search);

  std::vector<SelectedToken> pairs;
  std::vector<double> sums;
  HeddleOrderedSearch record = {};
};

struct Continuation {
  size_t parent;
  int32_t token;
};

/// Returns the continuations that go on, as BeamSearch::decide() does before the last step.
std::vector<Continuation> decide(const Search &search);

/// Makes random searches. Few different numbers make ties likely.
class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}

  int64_t upTo(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(engine); }
  size_t from(int64_t least, int64_t most) { return size_t(least + upTo(most - least)); }
  bool isOneOf(int64_t count) { return upTo(count - 1) == 0; }
  float number() { return float(upTo(20)) / 4 - 3; }
  /// Tokens are below 2 * best + 2.
  Hypothesis hypothesis(size_t chunks, size_t best);
  Search search(size_t hypotheses, size_t best, size_t chunks);

private:
  std::mt19937 engine;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_ORDEREDSEARCHES_H
