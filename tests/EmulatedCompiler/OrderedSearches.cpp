// SPDX-License-Identifier: Apache-2.0
///
/// The rules are written once more, from runtime/Generate: no search of the runtime is made here.
#include "tests/EmulatedCompiler/OrderedSearches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle {

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

static bool contains(const std::vector<int32_t> &list, int32_t token) {
  return std::ranges::find(list, token) != list.end();
}

/// Candidates::collect() and BeamSearch::gather().
static std::vector<Continuation> gather(const Search &search) {
  std::vector<Continuation> all;
  for (size_t parent = 0; parent < search.hypotheses.size(); ++parent) {
    const Hypothesis &hypothesis = search.hypotheses[parent];
    const double normaliser = logSumExp(hypothesis.chunks);
    size_t kept = 0;
    for (const SelectedToken &each : hypothesis.best) {
      if (each.logit > -kInfinity && !contains(search.banned, each.token) && kept < search.wanted) {
        const double score = double(each.logit) - normaliser;
        all.push_back({parent, each.token, hypothesis.sum + score});
        ++kept;
      }
    }
  }
  std::ranges::sort(all, [](const Continuation &a, const Continuation &b) {
    return a.sum != b.sum ? a.sum > b.sum
                          : std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
  });
  all.resize(std::min(all.size(), search.wanted));
  return all;
}

std::vector<Continuation> decide(const Search &search) {
  const std::vector<Continuation> all = gather(search);
  std::vector<Continuation> slots;
  const auto ends = [&](size_t i) { return contains(search.ends, all[i].token); };
  const auto goOn = [&](size_t i) {
    if (slots.size() < search.width) {
      slots.push_back(all[i]);
    }
  };
  size_t spare = search.width;
  const size_t considered = search.refills ? std::min(search.width, all.size()) : all.size();
  for (size_t i = 0; i < considered; ++i) {
    if (!ends(i)) {
      goOn(i);
    } else if (search.refills) {
      while (spare < all.size() && ends(spare)) {
        ++spare;
      }
      if (spare < all.size()) {
        goOn(spare++);
      }
    }
  }
  return slots;
}

// --- random searches -----------------------------------------------------------------------------

Hypothesis Random::hypothesis(size_t chunks, size_t best) {
  Hypothesis made;
  made.sum = -double(upTo(3)) / 3;
  for (size_t i = 0; i < chunks; ++i) {
    const float sum = 1 + float(upTo(1 << 20)) / 1500;
    made.chunks.push_back(isOneOf(7) ? ExponentialSum() : ExponentialSum{number() * 3, sum});
  }
  std::vector<int32_t> tokens(2 * best + 2);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::shuffle(tokens, engine);
  for (size_t i = 0; i < best; ++i) {
    made.best.push_back({number(), tokens[i]});
  }
  std::ranges::sort(made.best, [](const SelectedToken &a, const SelectedToken &b) {
    return std::pair(-a.logit, a.token) < std::pair(-b.logit, b.token);
  });
  for (size_t i = isOneOf(3) ? from(0, int64_t(best)) : best; i < best; ++i) {
    made.best[i] = {-kInfinity, 0};
  }
  return made;
}

Search Random::search(size_t hypotheses, size_t best, size_t chunks) {
  Search made;
  for (size_t i = 0; i < hypotheses; ++i) {
    made.hypotheses.push_back(hypothesis(chunks, best));
    if (i > 0 && isOneOf(2)) {
      made.hypotheses[i].chunks = made.hypotheses[0].chunks;
    }
  }
  made.width = hypotheses + from(0, 3);
  made.ends.resize(from(0, 3));
  made.banned.resize(from(0, 3));
  for (std::vector<int32_t> *list : {&made.ends, &made.banned}) {
    std::ranges::generate(*list, [&] { return int32_t(upTo(int64_t(2 * best))); });
  }
  made.wanted = isOneOf(3) ? from(1, int64_t(2 * best)) : made.width * (1 + made.ends.size());
  made.refills = isOneOf(2);
  made.wholeBlocks = from(0, 3) * (isOneOf(5) ? 20 : 1);
  made.hasPartial = isOneOf(2);
  made.padding = from(0, 2);
  made.rowsBefore = from(0, 2);
  return made;
}

} // namespace heddle
