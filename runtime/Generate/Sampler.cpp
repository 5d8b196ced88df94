// SPDX-License-Identifier: Apache-2.0
///
/// Hashes bits into random numbers and draws from a distribution.
#include "runtime/Generate/Sampler.h"

#include <algorithm>
#include <cmath>

namespace heddle {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit of the input changes half
/// of the bits of the output.
static uint64_t mix(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

uint64_t sampleStream(std::span<const int32_t> source, std::span<const int32_t> prefix,
                      uint64_t sample) {
  uint64_t bits = mix(source.size());
  for (const std::span<const int32_t> tokens : {source, prefix}) {
    for (const int32_t token : tokens) {
      bits = mix(bits ^ static_cast<uint32_t>(token));
    }
  }
  return mix(bits ^ mix(sample));
}

double uniformNumber(uint64_t seed, uint64_t stream, uint64_t step) {
  // The 53 bits of a double's fraction.
  return static_cast<double>(mix(mix(mix(seed) ^ stream) ^ step) >> 11) * 0x1.0p-53;
}

/// Sorts the best tokens to the front until they add up to `mass`, and returns their number.
/// Usually a few suffice, so not all are sorted.
static size_t nucleus(std::vector<ScoredToken> &tokens, double mass, double temperature,
                      double best) {
  double sum = 0;
  size_t sorted = 0;
  for (size_t next = std::min<size_t>(64, tokens.size());;
       next = std::min(next * 16, tokens.size())) {
    std::partial_sort(tokens.begin() + static_cast<std::ptrdiff_t>(sorted),
                      tokens.begin() + static_cast<std::ptrdiff_t>(next), tokens.end(),
                      [](const ScoredToken &a, const ScoredToken &b) { return ranksBefore(a, b); });
    for (; sorted < next; ++sorted) {
      sum += std::exp((tokens[sorted].score - best) / temperature);
      if (sum >= mass) {
        return sorted + 1;
      }
    }
    if (sorted == tokens.size()) {
      return sorted;
    }
  }
}

ScoredToken drawToken(std::vector<ScoredToken> &tokens, const Distribution &from, double uniform) {
  const double best =
      std::max_element(tokens.begin(), tokens.end(),
                       [](const ScoredToken &a, const ScoredToken &b) { return a.score < b.score; })
          ->score;
  const auto weight = [&](const ScoredToken &token) {
    return std::exp((token.score - best) / from.temperature);
  };
  double total = 0;
  for (const ScoredToken &token : tokens) {
    total += weight(token);
  }
  size_t count = tokens.size();
  if (from.topP < 1) {
    count = nucleus(tokens, from.topP * total, from.temperature, best);
  }
  if (from.minP > 0) {
    // The best token has a weight of 1.
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(count);
    const auto likely = std::remove_if(
        tokens.begin(), end, [&](const ScoredToken &token) { return weight(token) < from.minP; });
    count = static_cast<size_t>(likely - tokens.begin());
  }
  if (from.topP < 1 || from.minP > 0) {
    total = 0;
    for (size_t i = 0; i < count; ++i) {
      total += weight(tokens[i]);
    }
  }
  double left = uniform * total;
  for (size_t i = 0; i < count; ++i) {
    left -= weight(tokens[i]);
    if (left < 0) {
      return tokens[i];
    }
  }
  // Rounding exhausted the mass: take the last token with a positive weight.
  while (count > 1 && weight(tokens[count - 1]) == 0) {
    --count;
  }
  return tokens[count - 1];
}

} // namespace heddle
