// SPDX-License-Identifier: Apache-2.0
///
/// Builds the trie node by node, depth first. The children of a node need a base at which all their
/// slots are free. Only the last blocks are searched, which keeps the time almost linear.
#include "formats/Tokenizer/DoubleArrayBuilder.h"

#include <algorithm>
#include <optional>
#include <span>

namespace heddle {

namespace {

class Builder {
public:
  std::vector<uint32_t> build(std::span<const DoubleArrayKey> keys);

private:
  static constexpr uint32_t blockSize = 256;
  // The number of last blocks that are searched for free slots.
  static constexpr uint32_t openBlocks = 4;

  /// Keys that share their first `depth` bytes, and the node at which those end.
  struct Work {
    std::span<const DoubleArrayKey> keys;
    size_t depth;
    uint32_t node;
  };

  void addBlock();
  void place(const Work &work, std::vector<Work> &queue);
  uint32_t chooseBase(uint32_t node, std::span<const unsigned char> labels);
  bool fits(uint32_t node, uint32_t base, std::span<const unsigned char> labels) const;

  std::vector<uint32_t> units;
  std::vector<bool> used;
  // A base belongs to one node. Otherwise a child of one would be mistaken for a child of the
  // other.
  std::vector<bool> baseUsed;
};

} // namespace

void Builder::addBlock() {
  units.resize(units.size() + blockSize, 0);
  used.resize(units.size(), false);
  baseUsed.resize(units.size(), false);
}

bool Builder::fits(uint32_t node, uint32_t base, std::span<const unsigned char> labels) const {
  // An offset of 21 bits, or one of 29 that is a multiple of 256.
  const uint32_t offset = node ^ base;
  if (baseUsed[base] || (offset >= 1U << 21 && offset % 256 != 0) || offset >= 1U << 29) {
    return false;
  }
  return std::none_of(labels.begin(), labels.end(),
                      [&](unsigned char label) { return used[base ^ label]; });
}

uint32_t Builder::chooseBase(uint32_t node, std::span<const unsigned char> labels) {
  const auto blocks = static_cast<uint32_t>(units.size()) / blockSize;
  const uint32_t first = blocks > openBlocks ? blocks - openBlocks : 0;
  for (uint32_t at = first * blockSize; at < units.size(); ++at) {
    if (!used[at] && fits(node, at ^ labels[0], labels)) {
      return at ^ labels[0];
    }
  }
  // In a new block, everything fits if the low bits equal those of the node.
  addBlock();
  return blocks * blockSize | (node & (blockSize - 1));
}

void Builder::place(const Work &work, std::vector<Work> &queue) {
  constexpr uint32_t endsKey = 1U << 8;
  std::vector<unsigned char> labels;
  std::vector<Work> children;
  std::optional<uint32_t> value;
  for (size_t begin = 0; begin < work.keys.size();) {
    const std::string_view text = work.keys[begin].text;
    size_t end = begin + 1;
    if (text.size() == work.depth) {
      value = work.keys[begin].value;
      labels.push_back(0);
    } else {
      while (end < work.keys.size() && work.keys[end].text[work.depth] == text[work.depth]) {
        ++end;
      }
      labels.push_back(static_cast<unsigned char>(text[work.depth]));
      children.push_back({work.keys.subspan(begin, end - begin), work.depth + 1, 0});
    }
    begin = end;
  }
  const uint32_t base = chooseBase(work.node, labels);
  baseUsed[base] = true;
  const uint32_t offset = work.node ^ base;
  units[work.node] |= offset < 1U << 21 ? offset << 10 : offset << 2 | 1U << 9;
  for (const unsigned char label : labels) {
    used[base ^ label] = true;
    units[base ^ label] = label;
  }
  if (value) {
    units[work.node] |= endsKey;
    units[base] = *value | 1U << 31;
  }
  // The first child is processed first.
  for (size_t i = children.size(); i > 0; --i) {
    Work &child = children[i - 1];
    child.node = base ^ static_cast<unsigned char>(child.keys[0].text[work.depth]);
    queue.push_back(child);
  }
}

std::vector<uint32_t> Builder::build(std::span<const DoubleArrayKey> keys) {
  addBlock();
  // The root is in use: no base leads to it.
  used[0] = true;
  baseUsed[0] = true;
  std::vector<Work> queue;
  if (!keys.empty()) {
    queue.push_back({keys, 0, 0});
  }
  while (!queue.empty()) {
    const Work work = queue.back();
    queue.pop_back();
    place(work, queue);
  }
  // A free unit must not be mistaken for a child, so its label is that of an unused base.
  for (uint32_t block = 0; block < units.size(); block += blockSize) {
    uint32_t freeBase = block;
    while (freeBase + 1 < block + blockSize && baseUsed[freeBase]) {
      ++freeBase;
    }
    for (uint32_t at = block; at < block + blockSize; ++at) {
      units[at] = used[at] ? units[at] : at ^ freeBase;
    }
  }
  return std::move(units);
}

std::vector<uint32_t> buildDoubleArray(std::vector<DoubleArrayKey> keys) {
  std::erase_if(keys, [](const DoubleArrayKey &key) {
    return key.text.empty() || key.text.find('\0') != key.text.npos;
  });
  std::sort(keys.begin(), keys.end(), [](const DoubleArrayKey &left, const DoubleArrayKey &right) {
    return left.text < right.text;
  });
  return Builder().build(keys);
}

} // namespace heddle
