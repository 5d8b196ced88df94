// SPDX-License-Identifier: Apache-2.0
///
/// What the kernels that order hypotheses compute (heddle/HypothesisOrder.h), in the plainest way:
/// for decoders of tests, and as a kernel of the test models. Needs nothing but its headers.
#ifndef HEDDLE_TESTS_RUNTIME_ARTIFACT_ORDERREFERENCE_H
#define HEDDLE_TESTS_RUNTIME_ARTIFACT_ORDERREFERENCE_H

#include "heddle/DoubleMath.h"
#include "heddle/HypothesisOrder.h"
#include "heddle/Selection.h"

namespace heddle {

/// What a row of the next step continues.
struct OrderedSlot {
  int64_t hypothesis = 0;
  int32_t token = 0;
  bool isFilled = false;
};

/// The continuations of a search.
class OrderedContinuations {
public:
  explicit OrderedContinuations(const HeddleOrderedSearch &search) : search(search) {
    for (int64_t hypothesis = 0; hypothesis < search.hypotheses; ++hypothesis) {
      collect(hypothesis);
    }
    sort();
    all = all < search.wanted ? all : search.wanted;
  }

  /// Calls function(place, slot) for all rows of the search.
  template <typename Function> void fill(const Function &function) const {
    int64_t filled = 0;
    int64_t spare = search.width;
    const int64_t considered = search.refills != 0 && all > search.width ? search.width : all;
    for (int64_t i = 0; i < considered && filled < search.width; ++i) {
      int64_t taken = i;
      if (ends(i)) {
        while (spare < all && ends(spare)) {
          ++spare;
        }
        if (search.refills == 0 || spare >= all) {
          continue;
        }
        taken = spare++;
      }
      function(filled++, OrderedSlot{list[taken].hypothesis, list[taken].token, true});
    }
    for (; filled < search.width; ++filled) {
      function(filled, OrderedSlot());
    }
  }

private:
  struct Continuation {
    double sum;
    int64_t hypothesis;
    int32_t token;
  };

  static bool isIn(const int32_t *tokens, int64_t count, int32_t token) {
    for (int64_t i = 0; i < count; ++i) {
      if (tokens[i] == token) {
        return true;
      }
    }
    return false;
  }
  bool ends(int64_t i) const { return isIn(search.ends, search.end_count, list[i].token); }

public:
  /// Returns logSumExp() of pairs.
  static double normalizer(const float *pairs, int64_t chunks) {
    HostDoubles operations;
    DoubleMath math(operations);
    double largest = -__builtin_inf();
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const double own = pairs[2 * chunk];
      largest = largest < own ? own : largest;
    }
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      if (pairs[2 * chunk + 1] != 0) {
        sum += double(pairs[2 * chunk + 1]) * math.exponential(double(pairs[2 * chunk]) - largest);
      }
    }
    return sum == 0 ? -__builtin_inf() : largest + math.logarithm(sum);
  }

private:
  void collect(int64_t hypothesis) {
    const auto *const pairs = reinterpret_cast<const float *>(
        static_cast<const char *>(search.pairs) + hypothesis * search.pitch);
    const auto *const best = reinterpret_cast<const SelectedToken *>(pairs + 2 * search.chunks);
    const double whole = normalizer(pairs, search.chunks);
    int64_t own = 0;
    for (int64_t i = 0; i < search.best && own < search.wanted; ++i) {
      if (best[i].logit > -__builtin_inff() &&
          !isIn(search.banned, search.banned_count, best[i].token)) {
        const double score = double(best[i].logit) - whole;
        list[all].sum = search.sums[hypothesis] + score;
        list[all].hypothesis = hypothesis;
        list[all].token = best[i].token;
        ++all;
        ++own;
      }
    }
  }

  static bool isBefore(const Continuation &a, const Continuation &b) {
    if (a.sum != b.sum) {
      return a.sum > b.sum;
    }
    return a.hypothesis != b.hypothesis ? a.hypothesis < b.hypothesis : a.token < b.token;
  }
  void sort() {
    for (int64_t end = 1; end < all; ++end) {
      for (int64_t i = end; i > 0 && isBefore(list[i], list[i - 1]); --i) {
        const Continuation own = list[i];
        list[i] = list[i - 1];
        list[i - 1] = own;
      }
    }
  }

  const HeddleOrderedSearch &search;
  Continuation list[mostContinuations];
  int64_t all = 0;
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_ARTIFACT_ORDERREFERENCE_H
