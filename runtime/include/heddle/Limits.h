// SPDX-License-Identifier: Apache-2.0
///
/// Limits and names that both compiler and runtime check, each defined once.
#ifndef HEDDLE_LIMITS_H
#define HEDDLE_LIMITS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle {

/// The most inputs, outputs or caches of an entry.
inline constexpr size_t mostPorts = 1024;
/// The most row spaces of an entry.
inline constexpr size_t mostSpaces = 64;
/// The most elements of one position of a cache.
inline constexpr uint64_t widestCache = uint64_t(1) << 20;
/// The most elements of a tensor of weights, of a state, or of the constant dimensions of a buffer.
inline constexpr int64_t mostElements = int64_t(1) << 40;
/// The most columns of a grid.
inline constexpr uint32_t largestGrid = uint32_t(1) << 24;
/// The most groups of weights that rows choose from: each has a counter.
inline constexpr uint32_t mostGroups = uint32_t(1) << 16;
/// The most scratch bytes of a thread for one kernel: in total, and for each row of the longest
/// sequence.
inline constexpr uint64_t largestScratch = uint64_t(1) << 30;
inline constexpr uint64_t largestScratchPerLongest = uint64_t(1) << 20;
/// The threads of a block of a device: a multiple of the first, at most the second; and the most
/// bytes of its shared memory.
inline constexpr uint32_t blockThreadsStep = 32;
inline constexpr uint32_t mostBlockThreads = 1024;
inline constexpr uint32_t largestShared = 227 * 1024;
/// The most bytes of a buffer for each of its rows, and the largest coefficient of a size.
inline constexpr uint64_t largestCoefficient = uint64_t(1) << 40;

/// Codes that lie together where they are multiplied as integers: as many as one instruction
/// multiplies and adds for each lane of 32 bits.
inline constexpr int64_t codesTogether = 4;
/// So many products of codes of 8 bits, one of them without sign, have a sum of 32 bits.
inline constexpr int64_t mostIntegersInSum = int64_t{1} << 16;

/// The most hypotheses of a search or of its result.
inline constexpr int32_t mostBeams = 1024;
/// The largest absolute value of the exponent of lengths.
inline constexpr float largestLengthPenalty = 1e4F;
/// The range of repetition penalties: outside it, products of scores are infinite or all equal.
inline constexpr float leastRepetitionPenalty = 1e-6F;
inline constexpr float largestRepetitionPenalty = 1e6F;

/// The names of search rules in manifests and command lines, in the order of Rules.
inline constexpr std::string_view ruleNames[] = {"paper", "transformers", "ctranslate2"};
/// The list of names for messages.
inline constexpr std::string_view ruleNamesListed = "paper, transformers or ctranslate2";

} // namespace heddle

#endif // HEDDLE_LIMITS_H
