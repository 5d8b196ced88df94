// SPDX-License-Identifier: Apache-2.0
///
/// A trie of texts by byte, each with a number: the constants of a schema, and the names of an
/// object's members.
#ifndef HEDDLE_FORMATS_JSONSCHEMA_BYTETRIE_H
#define HEDDLE_FORMATS_JSONSCHEMA_BYTETRIE_H

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

class ByteTrie {
public:
  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  ByteTrie() : nodes(1) {}

  /// Adds a non-empty text. If it exists already, its number stays.
  void insert(std::string_view text, uint32_t number);

  /// Returns the place after one more byte, or none.
  uint32_t step(uint32_t place, uint8_t byte) const;
  /// Returns the number of the text that ends at a place, or none.
  uint32_t numberAt(uint32_t place) const { return nodes[place].number; }
  /// Returns whether no text continues from a place.
  bool isLast(uint32_t place) const { return nodes[place].children.empty(); }
  bool empty() const { return nodes.size() == 1; }
  /// Returns the minimum and maximum number of the texts that pass through a place.
  std::pair<uint32_t, uint32_t> numbersBelow(uint32_t place) const {
    return {nodes[place].least, nodes[place].greatest};
  }

private:
  struct Node {
    /// Sorted by byte.
    std::vector<std::pair<uint8_t, uint32_t>> children;
    uint32_t number = none;
    uint32_t least = none;
    uint32_t greatest = 0;
  };
  std::vector<Node> nodes;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_BYTETRIE_H
