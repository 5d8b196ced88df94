// SPDX-License-Identifier: Apache-2.0
///
/// A sorted list of children suffices, because only the first bytes have many.
#include "formats/JsonSchema/ByteTrie.h"

#include <algorithm>

namespace heddle {

static bool isBefore(const std::pair<uint8_t, uint32_t> &child, uint8_t byte) {
  return child.first < byte;
}

uint32_t ByteTrie::step(uint32_t place, uint8_t byte) const {
  const auto &children = nodes[place].children;
  const auto child = std::lower_bound(children.begin(), children.end(), byte, isBefore);
  return child != children.end() && child->first == byte ? child->second : none;
}

void ByteTrie::insert(std::string_view text, uint32_t number) {
  uint32_t place = root;
  for (const char character : text) {
    Node &node = nodes[place];
    node.least = std::min(node.least, number);
    node.greatest = std::max(node.greatest, number);
    const auto byte = static_cast<uint8_t>(character);
    uint32_t next = step(place, byte);
    if (next == none) {
      next = static_cast<uint32_t>(nodes.size());
      node.children.insert(
          std::lower_bound(node.children.begin(), node.children.end(), byte, isBefore),
          {byte, next});
      nodes.emplace_back();
    }
    place = next;
  }
  Node &last = nodes[place];
  last.least = std::min(last.least, number);
  last.greatest = std::max(last.greatest, number);
  last.number = std::min(last.number, number);
}

} // namespace heddle
