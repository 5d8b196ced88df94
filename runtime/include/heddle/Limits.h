// SPDX-License-Identifier: Apache-2.0
///
/// Limits and names that both the compiler and the runtime check, each defined once.
#ifndef HEDDLE_LIMITS_H
#define HEDDLE_LIMITS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle {

/// The maximum number of inputs, of outputs or of caches of an entry.
inline constexpr size_t mostPorts = 1024;
/// The maximum number of row spaces of an entry.
inline constexpr size_t mostSpaces = 64;
/// The maximum number of elements of one position of a cache.
inline constexpr uint64_t widestCache = uint64_t(1) << 20;
/// The maximum number of elements of a weight, of a state, or of the constant dimensions of a
/// buffer.
inline constexpr int64_t mostElements = int64_t(1) << 40;
/// The maximum number of columns of a grid.
inline constexpr uint32_t largestGrid = uint32_t(1) << 24;
/// The maximum number of groups of weights that rows choose from: each group has a counter.
inline constexpr uint32_t mostGroups = uint32_t(1) << 16;
/// The maximum scratch memory of a thread for one kernel, in bytes: in total, and for each row of
/// the longest sequence.
inline constexpr uint64_t largestScratch = uint64_t(1) << 30;
inline constexpr uint64_t largestScratchPerLongest = uint64_t(1) << 20;
/// The number of threads of a device block is a multiple of the first constant and at most the
/// second; the third is the maximum size of its shared memory in bytes.
inline constexpr uint32_t blockThreadsStep = 32;
inline constexpr uint32_t mostBlockThreads = 1024;
inline constexpr uint32_t largestShared = 227 * 1024;
/// The maximum bytes of a partial result of a row, a column and a section (HeddleSections).
inline constexpr uint32_t largestPartialBytes = uint32_t(1) << 20;
/// The maximum bytes of a row that is rounded before a launch (HeddleRoundedRows), and what they
/// are a multiple of.
inline constexpr uint32_t largestRoundedBytes = uint32_t(1) << 20, roundedBytesStep = 32;
/// The maximum bytes of a buffer for each of its rows, and the largest coefficient of a size.
inline constexpr uint64_t largestCoefficient = uint64_t(1) << 40;

/// The number of codes that are stored together for integer products: as many as one instruction
/// multiplies and accumulates in each 32-bit lane.
inline constexpr int64_t codesTogether = 4;
/// The number of products of 8-bit codes, one factor unsigned, whose sum fits into 32 bits.
inline constexpr int64_t mostIntegersInSum = int64_t{1} << 16;

/// The maximum number of hypotheses of a search or of its result.
inline constexpr int32_t mostBeams = 1024;
/// The largest absolute value of the length penalty's exponent.
inline constexpr float largestLengthPenalty = 1e4F;
/// The range of repetition penalties. Outside it, products with scores are infinite or all equal.
inline constexpr float leastRepetitionPenalty = 1e-6F;
inline constexpr float largestRepetitionPenalty = 1e6F;

/// The names of search rules in manifests and on command lines, in the order of Rules.
inline constexpr std::string_view ruleNames[] = {"paper", "transformers", "ctranslate2"};
/// The names as messages list them.
inline constexpr std::string_view ruleNamesListed = "paper, transformers or ctranslate2";

} // namespace heddle

#endif // HEDDLE_LIMITS_H
