// SPDX-License-Identifier: Apache-2.0
///
/// The tokens of a hypothesis, for rules on repetition: which there are, and what followed the last
/// few of them before. A token more costs little time, however many there are.
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
  /// The tokens, sorted, each once.
  std::span<const int32_t> distinct() const { return sorted; }
  /// Appends what would make the last tokens a group of `size`, at least 1, that was there before;
  /// a token may be there more than once.
  void findRepeated(size_t size, std::vector<int32_t> &found) const;

private:
  static constexpr int32_t none = -1;

  std::vector<int32_t> tokens;
  /// For each of them, where the same one was before.
  std::vector<int32_t> earlier;
  std::vector<int32_t> sorted;
  /// Where each of these is last.
  std::vector<int32_t> latest;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_TOKENHISTORY_H
