// SPDX-License-Identifier: Apache-2.0
///
/// Byte pair encoding over ids: repeatedly merges the adjacent pair with the lowest rank, leftmost
/// first, until no pair can be merged. A heap and links between neighbours make the time almost
/// linear in the length of a word. The compiler uses it to find tokens that their own characters
/// merge to, the runtime to tokenise.
#ifndef HEDDLE_FORMATS_TOKENIZER_PAIRMERGING_H
#define HEDDLE_FORMATS_TOKENIZER_PAIRMERGING_H

#include "formats/Binary/Tokenizer_generated.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Returns the first slot to search for a pair, before masking to the table's size.
constexpr uint32_t mergePlace(uint32_t left, uint32_t right) {
  const uint64_t mixed = (uint64_t(left) << 32 | right) * 0x9E3779B97F4A7C15U;
  return static_cast<uint32_t>((mixed ^ mixed >> 29) * 0xD6E8FEB86659FD93U >> 32);
}

/// The merges of a tokenizer in the manifest's form: a power of two of slots, at least one free.
class MergeTable {
public:
  MergeTable() = default;
  explicit MergeTable(std::span<const manifest::MergeSlot> slots)
      : slots(slots.data()), mask(static_cast<uint32_t>(slots.size() - 1)) {}

  /// Returns the merge of a pair, or null.
  const manifest::MergeSlot *find(uint32_t left, uint32_t right) const {
    for (uint32_t at = mergePlace(left, right) & mask; slots[at].result() != 0;
         at = (at + 1) & mask) {
      if (slots[at].left() == left && slots[at].right() == right) {
        return &slots[at];
      }
    }
    return nullptr;
  }

private:
  const manifest::MergeSlot *slots = nullptr;
  uint32_t mask = 0;
};

/// Merges the ids of words; reuses its memory.
class PairMerger {
public:
  /// Merges in place.
  void merge(const MergeTable &table, std::vector<uint32_t> &ids) {
    links.clear();
    heap.clear();
    for (size_t i = 0; i < ids.size(); ++i) {
      links.push_back({i - 1, i + 1 < ids.size() ? i + 1 : none});
    }
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      if (const manifest::MergeSlot *const slot = table.find(ids[i], ids[i + 1])) {
        heap.push_back({slot->rank(), slot->result() - 1, i});
      }
    }
    std::make_heap(heap.begin(), heap.end(), isAfter);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), isAfter);
      const Candidate best = heap.back();
      heap.pop_back();
      apply(table, ids, best);
    }
    size_t count = 0;
    for (size_t at = 0; at < links.size(); at = links[at].next) {
      ids[count++] = ids[at];
    }
    ids.resize(count);
  }

private:
  static constexpr size_t none = static_cast<size_t>(-1);
  static constexpr size_t merged = static_cast<size_t>(-2);

  /// The neighbours of an id; `before` of the first id is none.
  struct Link {
    size_t before;
    size_t next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t result;
    size_t at;
  };

  static bool isAfter(const Candidate &left, const Candidate &right) {
    return left.rank != right.rank ? left.rank > right.rank : left.at > right.at;
  }

  /// Queues the pair of an id and the next one, which must exist, if it can be merged.
  void propose(const MergeTable &table, const std::vector<uint32_t> &ids, size_t at) {
    if (const manifest::MergeSlot *const slot = table.find(ids[at], ids[links[at].next])) {
      heap.push_back({slot->rank(), slot->result() - 1, at});
      std::push_heap(heap.begin(), heap.end(), isAfter);
    }
  }

  void apply(const MergeTable &table, std::vector<uint32_t> &ids, const Candidate &best) {
    const size_t right = links[best.at].next;
    if (links[best.at].before == merged || right == none) {
      return;
    }
    // The pair may have changed since. As in the reference, only the result is compared.
    const manifest::MergeSlot *const slot = table.find(ids[best.at], ids[right]);
    if (slot == nullptr || slot->result() - 1 != best.result) {
      return;
    }
    ids[best.at] = best.result;
    links[best.at].next = links[right].next;
    links[right].before = merged;
    if (links[right].next != none) {
      links[links[right].next].before = best.at;
      propose(table, ids, best.at);
    }
    if (links[best.at].before != none) {
      propose(table, ids, links[best.at].before);
    }
  }

  std::vector<Link> links;
  std::vector<Candidate> heap;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PAIRMERGING_H
