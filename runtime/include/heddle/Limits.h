// SPDX-License-Identifier: Apache-2.0
///
/// Numbers and names that the compiler and the runtime both check by: the one definition of each.
#ifndef HEDDLE_LIMITS_H
#define HEDDLE_LIMITS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle {

/// Of an entry: inputs, outputs or caches.
inline constexpr size_t mostPorts = 1024;
/// Elements of a position of a cache.
inline constexpr uint64_t widestCache = uint64_t(1) << 20;
/// Columns of a grid.
inline constexpr uint32_t largestGrid = uint32_t(1) << 24;
/// Bytes of memory that each thread has for a kernel: in all, and for each row of the longest
/// sequence.
inline constexpr uint64_t largestScratch = uint64_t(1) << 30;
inline constexpr uint64_t largestScratchPerLongest = uint64_t(1) << 20;
/// Bytes of a buffer for each of its rows, and coefficients of sizes.
inline constexpr uint64_t largestCoefficient = uint64_t(1) << 40;

/// Hypotheses of a search, and those of its result.
inline constexpr int32_t mostBeams = 1024;
/// Exponents of lengths are within plus and minus this.
inline constexpr float largestLengthPenalty = 1e4F;
/// Beyond these, products of scores are infinite or all the same.
inline constexpr float leastRepetitionPenalty = 1e-6F;
inline constexpr float largestRepetitionPenalty = 1e6F;

/// The rules of search, as manifests and command lines have them: in the order of Rules.
inline constexpr std::string_view ruleNames[] = {"paper", "transformers", "ctranslate2"};
/// As messages list them.
inline constexpr std::string_view ruleNamesListed = "paper, transformers or ctranslate2";

} // namespace heddle

#endif // HEDDLE_LIMITS_H
