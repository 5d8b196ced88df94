// SPDX-License-Identifier: Apache-2.0
///
/// The memory of caches, in blocks of HEDDLE_BLOCK positions. A block holds those positions of all
/// caches of a group, one cache after the other, so that one number addresses every layer, and a
/// sequence has one table of blocks however many layers there are. States are a group too, in
/// blocks of one.
#ifndef HEDDLE_RUNTIME_CACHE_BLOCKPOOL_H
#define HEDDLE_RUNTIME_CACHE_BLOCKPOOL_H

#include "heddle/Abi.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"
#include "runtime/Device/Device.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// One cache of a group.
struct CacheShape {
  /// Elements of a position, and their type.
  int64_t width;
  ElementType element;
  /// A block lies [width][positions], else [positions][width].
  bool transposed;
};

/// The bytes that the pools of a session may use together. One thread at a time.
struct CacheBudget {
  uint64_t bound = 0;
  /// Bytes of the blocks in use.
  uint64_t used = 0;
};

/// Whoever knows what kept blocks have.
class BlockKeeper {
public:
  virtual ~BlockKeeper() = default;
  /// The memory of a kept block, which nothing refers to, is needed: calls BlockPool::forget() for
  /// it, and for whatever is of no use without it.
  virtual void giveUp(int32_t block) = 0;
};

/// Blocks with reference counts. A block may be kept when nothing refers to it any more, until its
/// memory is needed: those that were released first are given up first. The same calls give the
/// same numbers. One thread at a time; the contents may be written by any.
class BlockPool {
public:
  BlockPool() = default;
  /// `name` is what messages call it. The budget must outlive the pool. Addresses for all of the
  /// budget are reserved at once, so `memory` never moves; pages cost memory as they are used. A
  /// block has that many `positions`. The stream, which copies, must outlive the pool too.
  static Result<BlockPool> create(std::string name, std::span<const CacheShape> caches,
                                  CacheBudget &budget, Device &device, DeviceStream &stream,
                                  int64_t positions = HEDDLE_BLOCK);

  /// Where a cache's part of block 0 begins, and bytes from a block to the next.
  std::byte *memory(size_t cache) const;
  uint64_t blockBytes() const { return stride; }

  /// Whether `blocks` more can be taken beside `promised` bytes that other pools of the budget are
  /// about to take: ResourceExhausted if not.
  Status checkRoom(int64_t blocks, uint64_t promised = 0) const;
  /// Room for the books of `blocks` more, so that taking them allocates nothing.
  void prepare(int64_t blocks);
  /// A block with one reference; there must be room. What an earlier sequence left in it is not
  /// cleared: nothing reads positions before they are written.
  int32_t take();
  /// One reference more; the block may be one that is kept and has none.
  void share(int32_t block);
  void release(int32_t block);
  int32_t referencesOf(int32_t block) const { return books[static_cast<size_t>(block)].references; }

  /// From now on the block is kept when its last reference goes. The keeper, which must outlive all
  /// calls that take blocks, is the same for all.
  void keep(int32_t block, BlockKeeper &keeper);
  /// It is not kept any longer.
  void forget(int32_t block);
  /// Copies the first `positions` of every cache.
  void copy(int32_t to, int32_t from, int64_t positions);

  /// Blocks that something refers to, and those that are kept though nothing does.
  int64_t inUse() const { return used; }
  int64_t idle() const { return unused; }
  /// Blocks ever taken: their numbers are below.
  int64_t taken() const { return static_cast<int64_t>(books.size()); }

private:
  /// What is known of one block. Those that are kept without references form a list.
  struct Book {
    int32_t references = 0;
    bool kept = false;
    int32_t older = -1;
    int32_t newer = -1;
  };

  void append(int32_t block);
  void unlink(int32_t block);
  /// The bytes that so many positions of a cache take, and those of its part of a block.
  static uint64_t bytesOf(const CacheShape &shape, int64_t positions);
  uint64_t partOf(const CacheShape &shape) const;

  std::string name;
  std::vector<CacheShape> shapes;
  CacheBudget *budget = nullptr;
  DeviceStream *stream = nullptr;
  DeviceMemory space;
  int64_t blockPositions = HEDDLE_BLOCK;
  uint64_t stride = 0;
  int64_t used = 0;
  /// Scratch of copy(), of one block: a part for each cache.
  std::vector<CopiedRows> copied;
  /// One for each block ever taken.
  std::vector<Book> books;
  BlockKeeper *keeper = nullptr;
  int64_t unused = 0;
  int32_t oldest = -1;
  int32_t newest = -1;
  /// The last one released is the first to be used again: its memory is warm.
  std::vector<int32_t> released;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_BLOCKPOOL_H
