// SPDX-License-Identifier: Apache-2.0
///
/// A hash table of children with chaining, and lists of siblings for giving up a block with all its
/// descendants.
#include "runtime/Cache/PrefixTree.h"

#include <algorithm>
#include <bit>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heddle {

static uint64_t hashOf(uint64_t parent, BlockTokens tokens) {
  return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), parent);
}

void PrefixTree::prepare(int64_t more) {
  const auto count = static_cast<size_t>(blocks->taken() + more);
  if (count <= entries.size()) {
    return;
  }
  const size_t room = std::bit_ceil(count);
  std::vector<int32_t> wider(room, -1);
  entries.resize(room);
  buckets = std::move(wider);
  for (size_t block = 0; block < entries.size(); ++block) {
    if (entries[block].number != 0) {
      enterBucket(static_cast<int32_t>(block));
    }
  }
}

void PrefixTree::enterBucket(int32_t block) {
  Entry &entry = entryOf(block);
  int32_t &first = buckets[entry.hash & (buckets.size() - 1)];
  entry.nextInBucket = first;
  first = block;
}

void PrefixTree::leaveBucket(int32_t block) {
  int32_t *next = &buckets[entryOf(block).hash & (buckets.size() - 1)];
  while (*next != block) {
    next = &entryOf(*next).nextInBucket;
  }
  *next = entryOf(block).nextInBucket;
}

bool PrefixTree::holds(const PrefixPlace &place) const {
  return place.number == root.number ||
         (place.block >= 0 && entries[static_cast<size_t>(place.block)].number == place.number);
}

std::optional<PrefixPlace> PrefixTree::find(const PrefixPlace &place, BlockTokens tokens) const {
  if (buckets.empty()) {
    return std::nullopt;
  }
  const uint64_t hash = hashOf(place.number, tokens);
  int32_t block = buckets[hash & (buckets.size() - 1)];
  while (block >= 0) {
    const Entry &entry = entries[static_cast<size_t>(block)];
    if (entry.parent == place.number && std::ranges::equal(entry.tokens, tokens)) {
      return PrefixPlace{block, entry.number};
    }
    block = entry.nextInBucket;
  }
  return std::nullopt;
}

std::optional<PrefixPlace> PrefixTree::add(const PrefixPlace &place, BlockTokens tokens,
                                           int32_t block) {
  if (!holds(place)) {
    return std::nullopt;
  }
  if (const std::optional<PrefixPlace> known = find(place, tokens)) {
    return known;
  }
  Entry &entry = entryOf(block);
  entry = {.number = ++lastNumber,
           .parent = place.number,
           .hash = hashOf(place.number, tokens),
           .parentBlock = place.block};
  std::ranges::copy(tokens, entry.tokens.begin());
  enterBucket(block);
  if (place.block >= 0) {
    Entry &parent = entryOf(place.block);
    entry.nextSibling = parent.firstChild;
    if (parent.firstChild >= 0) {
      entryOf(parent.firstChild).previousSibling = block;
    }
    parent.firstChild = block;
  }
  blocks->keep(block, *this);
  return PrefixPlace{block, entry.number};
}

/// Removes a block without children from the tree.
void PrefixTree::remove(int32_t block) {
  Entry &entry = entryOf(block);
  leaveBucket(block);
  if (entry.previousSibling >= 0) {
    entryOf(entry.previousSibling).nextSibling = entry.nextSibling;
  } else if (entry.parentBlock >= 0) {
    entryOf(entry.parentBlock).firstChild = entry.nextSibling;
  }
  if (entry.nextSibling >= 0) {
    entryOf(entry.nextSibling).previousSibling = entry.previousSibling;
  }
  entry.number = 0;
  blocks->forget(block);
}

/// Gives up descendants first. They may still be in use if their sequence has given back blocks
/// that it no longer reads.
void PrefixTree::giveUp(int32_t block) {
  int32_t at = block;
  while (true) {
    while (entryOf(at).firstChild >= 0) {
      at = entryOf(at).firstChild;
    }
    const int32_t parent = entryOf(at).parentBlock;
    remove(at);
    if (at == block) {
      return;
    }
    at = parent;
  }
}

} // namespace heddle
