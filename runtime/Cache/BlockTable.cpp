// SPDX-License-Identifier: Apache-2.0
///
/// Extends, shares and clears block tables.
#include "runtime/Cache/BlockTable.h"

#include "heddle/Abi.h"

#include <algorithm>
#include <cassert>

namespace heddle {

static int64_t blocksOf(int64_t positions) { return (positions + HEDDLE_BLOCK - 1) / HEDDLE_BLOCK; }

int64_t BlockTable::blocksFor(int64_t count) const {
  return blocksOf(positions + count) - blocksOf(positions);
}

int32_t BlockTable::partialBlock() const {
  return positions % HEDDLE_BLOCK == 0 ? -1 : list.back();
}

void BlockTable::prepare(int64_t count) {
  const auto most = static_cast<size_t>(blocksOf(positions + count));
  if (list.capacity() < most) {
    list.reserve(std::max(most, 2 * list.capacity()));
  }
}

void BlockTable::extend(BlockPool &pool, int64_t count) {
  const int32_t last = count == 0 ? -1 : partialBlock();
  if (last >= 0 && pool.referencesOf(last) > 1) {
    const int32_t own = pool.take();
    pool.copy(own, last, positions % HEDDLE_BLOCK);
    pool.release(last);
    list.back() = own;
  }
  for (int64_t more = blocksFor(count); more > 0; --more) {
    list.push_back(pool.take());
  }
  positions += count;
}

void BlockTable::extendApart(BlockPool &pool) {
  const int32_t own = pool.take();
  if (const int32_t last = partialBlock(); last >= 0) {
    pool.release(last);
    list.back() = own;
  } else {
    list.push_back(own);
  }
  positions += 1;
}

void BlockTable::follow(BlockPool &pool, const BlockTable &parent, bool takesLast) {
  const int32_t own = list.back();
  const bool isPartial = parent.partialBlock() >= 0;
  const size_t whole = parent.list.size() - (isPartial ? 1 : 0);
  assert(parent.positions + 1 == positions && whole + 1 == list.size());
  for (size_t i = parent.dropped; i < whole; ++i) {
    pool.share(parent.list[i]);
  }
  for (size_t i = dropped; i < whole; ++i) {
    pool.release(list[i]);
  }
  std::copy_n(parent.list.begin(), whole, list.begin());
  dropped = parent.dropped;
  if (isPartial && takesLast) {
    pool.share(parent.list.back());
    pool.release(own);
    list.back() = parent.list.back();
  }
}

void BlockTable::takeOver(BlockPool &pool, int32_t block) {
  pool.share(block);
  if (partialBlock() >= 0) {
    pool.release(list.back());
    list.back() = block;
  } else {
    list.push_back(block);
  }
  positions = static_cast<int64_t>(list.size()) * HEDDLE_BLOCK;
}

void BlockTable::exchange(BlockPool &pool, size_t index, int32_t block) {
  pool.share(block);
  pool.release(list[index]);
  list[index] = block;
}

void BlockTable::own(BlockPool &pool) {
  for (size_t i = dropped; i < list.size(); ++i) {
    if (pool.referencesOf(list[i]) > 1) {
      const int32_t copy = pool.take();
      pool.copy(copy, list[i], HEDDLE_BLOCK);
      pool.release(list[i]);
      list[i] = copy;
    }
  }
}

void BlockTable::shareWith(BlockPool &pool, const BlockTable &other) {
  list.assign(other.list.begin(), other.list.end());
  positions = other.positions;
  dropped = other.dropped;
  for (size_t i = dropped; i < list.size(); ++i) {
    pool.share(list[i]);
  }
}

void BlockTable::dropBefore(BlockPool &pool, int64_t first) {
  const auto end = static_cast<size_t>(std::clamp<int64_t>(first, 0, positions) / HEDDLE_BLOCK);
  for (; dropped < end; ++dropped) {
    pool.release(list[dropped]);
    list[dropped] = 0;
  }
}

void BlockTable::clear(BlockPool &pool) {
  // Released last blocks first: kept blocks are given up in that order, and a block is useless
  // without those before it.
  for (size_t i = list.size(); i > dropped; --i) {
    pool.release(list[i - 1]);
  }
  list.clear();
  positions = 0;
  dropped = 0;
}

} // namespace heddle
