// SPDX-License-Identifier: Apache-2.0
///
/// Makes searches, and has them ordered by the reference that tests of the runtime compare with its
/// searches.
#include "tests/EmulatedCompiler/OrderedSearches.h"

#include "tests/runtime/Artifact/OrderReference.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle {

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

SearchInMemory::SearchInMemory(const Search &search) {
  const Hypothesis &first = search.hypotheses.front();
  for (const Hypothesis &each : search.hypotheses) {
    for (const ExponentialSum &chunk : each.chunks) {
      pairs.push_back({chunk.largest, std::bit_cast<int32_t>(chunk.sum)});
    }
    pairs.insert(pairs.end(), each.best.begin(), each.best.end());
    pairs.resize(pairs.size() + search.padding, {kInfinity, 1});
    sums.push_back(each.sum);
  }
  record.pairs = pairs.data();
  record.pitch = static_cast<int64_t>(pairs.size() / sums.size() * sizeof pairs[0]);
  record.chunks = static_cast<int64_t>(first.chunks.size());
  record.best = static_cast<int64_t>(first.best.size());
  record.hypotheses = static_cast<int64_t>(search.hypotheses.size());
  record.wanted = static_cast<int64_t>(search.wanted);
  record.width = static_cast<int64_t>(search.width);
  record.refills = search.refills ? 1 : 0;
  record.sums = sums.data();
  record.ends = search.ends.data();
  record.end_count = static_cast<int64_t>(search.ends.size());
  record.banned = search.banned.data();
  record.banned_count = static_cast<int64_t>(search.banned.size());
  record.whole_blocks = static_cast<int64_t>(search.wholeBlocks);
  record.has_partial = search.hasPartial ? 1 : 0;
}

std::vector<Continuation> decide(const Search &search) {
  const SearchInMemory copied(search);
  const OrderedContinuations found(copied.record);
  std::vector<Continuation> slots;
  found.fill([&](int64_t, const OrderedSlot &slot) {
    if (slot.isFilled) {
      slots.push_back({static_cast<size_t>(slot.hypothesis), slot.token});
    }
  });
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
