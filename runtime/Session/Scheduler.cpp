// SPDX-License-Identifier: Apache-2.0
///
/// Cuts batches into chunks and simulates how threads would process them.
#include "runtime/Session/Scheduler.h"

#include <algorithm>

namespace heddle {

/// The time of the slowest thread divided by the mean: below the first limit it counts as even,
/// above the second one barriers cost less.
static constexpr double evenEnough = 1.03;
static constexpr double tooUneven = 1.08;
/// The number of chunk counts that are tried.
static constexpr int trials = 8;

static double costOf(int64_t length, const SequenceCost &cost) {
  const double tokens = static_cast<double>(length);
  return tokens * cost.perToken + tokens * tokens * cost.perPair;
}

/// Cuts the sequences, in order, into at most `count` chunks of similar cost.
void Scheduler::cutInto(std::span<const int32_t> lengths, const SequenceCost &cost, int64_t count) {
  double total = 0;
  for (const int32_t length : lengths) {
    total += costOf(length, cost);
  }
  list.clear();
  double before = 0;
  int64_t current = -1;
  int64_t token = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = lengths[i];
    const double own = costOf(length, cost);
    // A sequence belongs to the chunk that contains its middle.
    const auto slot = static_cast<int64_t>((before + own / 2) / total * static_cast<double>(count));
    if (list.empty() || slot != current) {
      list.push_back({static_cast<int64_t>(i), 0, token, 0, 0, 0, 0});
      current = slot;
    }
    Chunk &chunk = list.back();
    chunk.sequences += 1;
    chunk.tokens += length;
    chunk.longest = std::max(chunk.longest, length);
    chunk.pairs += static_cast<double>(length) * static_cast<double>(length);
    chunk.cost += own;
    before += own;
    token += length;
  }
  // In descending order of cost: the small chunks at the end even out the load.
  std::sort(list.begin(), list.end(), [](const Chunk &a, const Chunk &b) {
    return a.cost != b.cost ? a.cost > b.cost : a.firstSequence < b.firstSequence;
  });
}

/// Simulates threads that each take the next chunk when they are idle.
double Scheduler::imbalance(int threads) {
  busy.assign(static_cast<size_t>(threads), 0);
  double total = 0;
  for (const Chunk &chunk : list) {
    *std::min_element(busy.begin(), busy.end()) += chunk.cost;
    total += chunk.cost;
  }
  return *std::max_element(busy.begin(), busy.end()) * threads / total;
}

bool Scheduler::cut(std::span<const int32_t> lengths, const SequenceCost &cost, int threads,
                    int64_t chunkTokens, Schedule wanted) {
  if (wanted == Schedule::Cooperative) {
    cutInto(lengths, cost, 1);
    return false;
  }
  int64_t tokens = 0;
  for (const int32_t length : lengths) {
    tokens += length;
  }
  const int64_t atLeast = (tokens + chunkTokens - 1) / chunkTokens;
  if (threads == 1) {
    cutInto(lengths, cost, atLeast);
    return true;
  }
  // Multiples of the number of threads, from chunks of the requested size to smaller ones.
  const int64_t smallest = std::min(chunkTokens, smallestChunkTokens);
  const int64_t first = (atLeast + threads - 1) / threads * threads;
  int64_t best = 0;
  double bestImbalance = wanted == Schedule::Chunked ? 1e30 : tooUneven;
  for (int i = 0; i < trials; ++i) {
    const int64_t count = first + int64_t(i) * threads;
    if (i > 0 && (tokens / count < smallest || count > static_cast<int64_t>(lengths.size()))) {
      break;
    }
    cutInto(lengths, cost, count);
    const double found = imbalance(threads);
    if (found < bestImbalance) {
      best = count;
      bestImbalance = found;
    }
    if (found < evenEnough) {
      return true;
    }
  }
  cutInto(lengths, cost, best == 0 ? 1 : best);
  return best != 0;
}

} // namespace heddle
