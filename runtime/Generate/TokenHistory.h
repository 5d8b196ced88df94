// SPDX-License-Identifier: Apache-2.0
///
/// The tokens of a hypothesis, for the repetition rules: the distinct tokens, and the tokens that
/// followed earlier occurrences of the last n-gram. Appending a token takes little time, whatever
/// the length.
#ifndef HEDDLE_RUNTIME_GENERATE_TOKENHISTORY_H
#define HEDDLE_RUNTIME_GENERATE_TOKENHISTORY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

class TokenHistory {
public:
  TokenHistory() = default;
  explicit TokenHistory(std::vector<int32_t> tokens);

  void add(int32_t token);
  /// Returns the distinct tokens, sorted.
  std::span<const int32_t> distinct() const { return sorted; }
  /// Appends to `found` the tokens that would make the last `size` >= 1 tokens an n-gram that
  /// occurred before; it may contain duplicates.
  void findRepeated(size_t size, std::vector<int32_t> &found) const;

private:
  static constexpr int32_t none = -1;

  std::vector<int32_t> tokens;
  /// For each position, the previous position of the same token.
  std::vector<int32_t> earlier;
  std::vector<int32_t> sorted;
  /// For each distinct token, its last position.
  std::vector<int32_t> latest;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_TOKENHISTORY_H
