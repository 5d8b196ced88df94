// SPDX-License-Identifier: Apache-2.0
///
/// Attention on the emulated GPU: sequences with random numbers, batches of parts of them, and the
/// expected result of each row.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDATTENTION_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDATTENTION_H

#include "compiler/Parameters/Precision.h"
#include "dialects/Transformer/Visibility.h"
#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace heddle {

/// The parameters of an attention.
struct AttentionShape {
  int64_t heads, keySize, valueSize;
  transformer::Visibility visibility = {};
  FloatProducts products = FloatProducts::Exact;
  /// Whether keys and values are in caches.
  bool isCached = false;
  Kept kept = Kept::F32;
  int64_t keyShare = 1, valueShare = 1;
  int64_t biasDistance = 0;
  /// Queries, keys and values are columns of wider rows, from this column on.
  int64_t before = 0;
  /// The function of a score: "", "tanh", or "bias", which takes the bias too.
  std::string score = {};
  /// The treatment of keys hidden from a row: "", "added", "score", "product".
  std::string hidden = {};
  float scale = 0.25F;
  /// Whether scores are sums over pairs: weighted tanh(q + k) of a head's elements.
  bool hasPairs = false;
  /// With pairs: heads and taps of each input of locations, and the filters, if there are some.
  std::vector<int64_t> locationHeads = {}, locationTaps = {};
  int64_t locationFilters = 0;
  /// What the result is. Sums are those of values with weights that another kernel has computed.
  enum class Result : uint8_t { Values, Weights, Scores, Sums };
  Result result = Result::Values;

  int64_t queryWidth() const { return heads * keySize; }
  int64_t keyWidth() const { return heads / keyShare * keySize; }
  int64_t valueWidth() const { return heads / valueShare * valueSize; }
  /// Numbers near a key, and lines.
  int64_t near() const {
    return std::inner_product(locationHeads.begin(), locationHeads.end(), locationTaps.begin(),
                              int64_t{0});
  }
  int64_t lines() const { return locationFilters > 0 ? locationFilters : near(); }
  /// The elements of a row of the result, in a batch whose longest sequence has so many keys.
  int64_t resultWidth(int64_t longest = 0) const {
    return heads * (hasValues() ? valueSize : longest);
  }
  bool hasValues() const { return result == Result::Values || result == Result::Sums; }
};

/// Queries, keys and values of a sequence, the same in every batch.
struct AttentionSequence {
  /// Keys and values as they are read from caches.
  std::vector<float> queries, keys, values;
  /// The scales of codes, one for each head of a position.
  std::vector<float> keyScales, valueScales;
  /// Numbers of keys for each row: for each input [length][heads][length].
  std::vector<std::vector<float>> locations;
  /// Given weights, [length][heads][length]; NaN for keys that a row does not see.
  std::vector<float> weights;
  int64_t length;

  AttentionSequence(const AttentionShape &shape, int64_t length, uint32_t seed);
};

/// The rows of a sequence that are in a batch: with caches those from `first` on, and the cache
/// ends with the last of them; otherwise all rows.
struct AttentionPart {
  const AttentionSequence *sequence;
  int64_t first, rows;
};

/// An attention kernel and its expected results.
class CompiledAttention {
public:
  explicit CompiledAttention(const AttentionShape &shape, const std::string &target = "sm_80");

  mlir::LLVM::LLVMFuncOp body() const { return kernel.body(); }
  /// Returns the launch of a batch.
  KernelLaunch launchOf(const std::vector<AttentionPart> &batch) const;
  /// Returns the result of a batch, row by row; `launch` may cover a part of the work.
  KernelOutcome run(const std::vector<AttentionPart> &batch, const KernelLaunch &launch) const;
  KernelOutcome run(const std::vector<AttentionPart> &batch) const {
    return run(batch, launchOf(batch));
  }
  /// Returns the result of one sequence alone, launched with this much less shared memory than it
  /// needs.
  KernelOutcome runAlone(int64_t length, uint32_t sharedLess = 0) const;
  /// Returns the expected result for a row of a sequence, all heads.
  std::vector<double> expectedRow(const AttentionSequence &sequence, int64_t row) const;
  /// Returns the expected weights of all keys, or their scores.
  std::vector<double> expectedWeights(const AttentionSequence &sequence, int64_t row,
                                      int64_t head) const;

private:
  double scoreOf(const AttentionSequence &sequence, int64_t row, int64_t head, int64_t key) const;
  std::vector<double> scoresOf(const AttentionSequence &sequence, int64_t row, int64_t head) const;
  double biasOf(int64_t head, int64_t distance) const;
  /// Returns what locations add to element `d` of a key.
  double locationOf(const AttentionSequence &sequence, int64_t row, int64_t d, int64_t key) const;
  /// Returns 2^(score - maximum) of all keys.
  std::vector<double> exponentials(const AttentionSequence &sequence, int64_t row,
                                   int64_t head) const;

  AttentionShape shape;
  std::vector<float> biases, pairWeights, filters, lineWeights;
  CompiledKernel kernel;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDATTENTION_H
