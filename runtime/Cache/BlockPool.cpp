// SPDX-License-Identifier: Apache-2.0
///
/// Takes, shares, copies, keeps and releases blocks.
#include "runtime/Cache/BlockPool.h"

#include "formats/Binary/Layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace heddle {

Result<BlockPool> BlockPool::create(std::string name, std::span<const CacheShape> caches,
                                    CacheBudget &budget, Device &device, DeviceStream &stream,
                                    int64_t positions) {
  BlockPool pool;
  pool.name = std::move(name);
  pool.shapes.assign(caches.begin(), caches.end());
  pool.budget = &budget;
  pool.stream = &stream;
  pool.copied.reserve(caches.size());
  pool.blockPositions = positions;
  for (const CacheShape &shape : caches) {
    pool.stride += pool.partOf(shape);
  }
  if (pool.stride != 0) {
    const uint64_t most =
        std::min<uint64_t>(budget.bound / pool.blockBytes(), std::numeric_limits<int32_t>::max());
    HEDDLE_ASSIGN(pool.space, device.allocate(most * pool.blockBytes(), MemoryUse::Cache,
                                              "the cache of the " + pool.name));
  }
  return pool;
}

uint64_t BlockPool::bytesOf(const CacheShape &shape, int64_t positions) {
  return static_cast<uint64_t>(shape.width * positions) * infoOf(shape.element).bytes();
}

uint64_t BlockPool::partOf(const CacheShape &shape) const {
  // Kernels require whole words, whatever precedes them.
  return alignUp(bytesOf(shape, blockPositions), sizeof(float));
}

std::byte *BlockPool::memory(size_t cache) const {
  uint64_t before = 0;
  for (size_t i = 0; i < cache; ++i) {
    before += partOf(shapes[i]);
  }
  return space.size() == 0 ? nullptr : space.data() + before;
}

Status BlockPool::checkRoom(int64_t blocks, uint64_t promised) const {
  // A group without caches has blocks of zero bytes, limited only by the range of block numbers.
  const auto most = std::numeric_limits<int32_t>::max();
  const uint64_t bytes = blockBytes();
  const uint64_t taken = budget->used + std::min(promised, budget->bound - budget->used);
  const uint64_t left = bytes == 0 ? most : (budget->bound - taken) / bytes;
  const uint64_t mine = bytes == 0 ? most : space.size() / bytes;
  if (static_cast<uint64_t>(blocks) > std::min(left, mine - static_cast<uint64_t>(used))) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("the cache is full: the {} needs {} more blocks of {} bytes, "
                                    "and {} of {} bytes are in use",
                                    name, blocks, blockBytes(), taken, budget->bound));
  }
  return {};
}

void BlockPool::prepare(int64_t blocks) {
  const size_t most = books.size() + static_cast<size_t>(blocks);
  if (books.capacity() < most) {
    books.reserve(std::max(most, 2 * books.capacity()));
  }
  // Releasing must not allocate either.
  if (released.capacity() < books.capacity()) {
    released.reserve(books.capacity());
  }
}

int32_t BlockPool::take() {
  prepare(1);
  const bool hasMore =
      stride == 0 || books.size() < static_cast<size_t>(space.size() / blockBytes());
  if (released.empty() && !hasMore) {
    keeper->giveUp(oldest);
  }
  int32_t block = 0;
  if (released.empty()) {
    block = static_cast<int32_t>(books.size());
    books.push_back({.references = 1});
  } else {
    block = released.back();
    released.pop_back();
    books[static_cast<size_t>(block)].references = 1;
  }
  ++used;
  budget->used += blockBytes();
  return block;
}

/// Appends a block to the end of the list, so that it is given up last.
void BlockPool::append(int32_t block) {
  Book &book = books[static_cast<size_t>(block)];
  book.older = newest;
  book.newer = -1;
  (newest < 0 ? oldest : books[static_cast<size_t>(newest)].newer) = block;
  newest = block;
  ++unused;
}

void BlockPool::unlink(int32_t block) {
  const Book &book = books[static_cast<size_t>(block)];
  (book.older < 0 ? oldest : books[static_cast<size_t>(book.older)].newer) = book.newer;
  (book.newer < 0 ? newest : books[static_cast<size_t>(book.newer)].older) = book.older;
  --unused;
}

void BlockPool::share(int32_t block) {
  Book &book = books[static_cast<size_t>(block)];
  if (book.references++ == 0) {
    unlink(block);
    ++used;
    budget->used += blockBytes();
  }
}

void BlockPool::release(int32_t block) {
  Book &book = books[static_cast<size_t>(block)];
  if (--book.references > 0) {
    return;
  }
  --used;
  budget->used -= blockBytes();
  if (book.kept) {
    append(block);
  } else {
    released.push_back(block);
  }
}

void BlockPool::keep(int32_t block, BlockKeeper &keeper) {
  this->keeper = &keeper;
  books[static_cast<size_t>(block)].kept = true;
}

void BlockPool::forget(int32_t block) {
  Book &book = books[static_cast<size_t>(block)];
  if (book.kept && book.references == 0) {
    unlink(block);
    released.push_back(block);
  }
  book.kept = false;
}

void BlockPool::copy(int32_t to, int32_t from, int64_t positions) {
  std::byte *target = space.data() + static_cast<uint64_t>(to) * stride;
  const std::byte *source = space.data() + static_cast<uint64_t>(from) * stride;
  copied.clear();
  for (const CacheShape &shape : shapes) {
    // In a block of keys, the codes follow the scales of all positions: it is copied as a whole.
    const bool isWhole = shape.transposed && shape.element == ElementType::I8;
    const uint64_t rows = shape.transposed && !isWhole ? static_cast<uint64_t>(shape.width) : 1;
    copied.push_back({target, source, rows,
                      bytesOf(shape, isWhole ? blockPositions : positions) / rows,
                      bytesOf(shape, blockPositions) / rows});
    target += partOf(shape);
    source += partOf(shape);
  }
  stream->copy(copied);
}

} // namespace heddle
