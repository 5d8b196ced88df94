// SPDX-License-Identifier: Apache-2.0
///
/// The memory of caches, in blocks of HEDDLE_BLOCK positions. A block holds these positions of all
/// caches of a group, one cache after the other, so that one number addresses every layer and a
/// sequence has one table of blocks regardless of the number of layers. States are a group too,
/// with blocks of one position.
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
  /// The elements of a position, and their type.
  int64_t width;
  ElementType element;
  /// Whether a block is stored [width][positions] instead of [positions][width].
  bool transposed;
};

/// The limit on the bytes that the pools of a session use together. Not thread-safe.
struct CacheBudget {
  uint64_t bound = 0;
  /// The bytes of the blocks in use.
  uint64_t used = 0;
};

/// The owner of the contents of kept blocks.
class BlockKeeper {
public:
  virtual ~BlockKeeper() = default;
  /// Called when the memory of a kept block without references is needed: calls BlockPool::forget()
  /// for the block and for all blocks that are useless without it.
  virtual void giveUp(int32_t block) = 0;
};

/// Blocks with reference counts. A block may be kept after its last reference is gone, until its
/// memory is needed: the blocks released first are given up first. The same calls return the same
/// numbers. Not thread-safe, except that any thread may write the contents.
class BlockPool {
public:
  BlockPool() = default;
  /// Creates a pool that messages call `name`. Addresses for the whole budget are reserved at once,
  /// so `memory` never moves; pages are committed as they are used. A block has `positions`
  /// positions. The budget and the stream, which copies blocks, must outlive the pool.
  static Result<BlockPool> create(std::string name, std::span<const CacheShape> caches,
                                  CacheBudget &budget, Device &device, DeviceStream &stream,
                                  int64_t positions = HEDDLE_BLOCK);

  /// Returns where a cache's part of block 0 begins; blockStride() is the distance between blocks
  /// in bytes. Null if the budget is less than a block.
  std::byte *memory(size_t cache) const;
  uint64_t blockBytes() const { return stride; }

  /// Checks that `blocks` more can be taken in addition to `promised` bytes that other pools of the
  /// budget are about to take; otherwise ResourceExhausted.
  Status checkRoom(int64_t blocks, uint64_t promised = 0) const;
  /// Reserves the bookkeeping for `blocks` more blocks, so that taking them allocates nothing.
  void prepare(int64_t blocks);
  /// Returns a block with one reference; there must be room. The contents of an earlier sequence
  /// are not cleared: positions are written before they are read.
  int32_t take();
  /// Adds a reference; the block may be a kept one without references.
  void share(int32_t block);
  void release(int32_t block);
  int32_t referencesOf(int32_t block) const { return books[static_cast<size_t>(block)].references; }

  /// Marks the block to be kept after its last reference is gone. All blocks have the same keeper,
  /// which must outlive all calls that take blocks.
  void keep(int32_t block, BlockKeeper &keeper);
  /// Ends the keeping of a block.
  void forget(int32_t block);
  /// Copies the first `positions` positions of every cache.
  void copy(int32_t to, int32_t from, int64_t positions);

  /// Return the number of blocks with references, and of kept blocks without.
  int64_t inUse() const { return used; }
  int64_t idle() const { return unused; }
  /// Returns the number of blocks ever taken; their numbers are less than that.
  int64_t taken() const { return static_cast<int64_t>(books.size()); }

private:
  /// The bookkeeping of one block. Kept blocks without references form a list.
  struct Book {
    int32_t references = 0;
    bool kept = false;
    int32_t older = -1;
    int32_t newer = -1;
  };

  void append(int32_t block);
  void unlink(int32_t block);
  /// Return the bytes of `positions` positions of a cache, and of its part of a block.
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
  /// Scratch of copy() for one block: one element for each cache.
  std::vector<CopiedRows> copied;
  /// One element for each block ever taken.
  std::vector<Book> books;
  BlockKeeper *keeper = nullptr;
  int64_t unused = 0;
  int32_t oldest = -1;
  int32_t newest = -1;
  /// A stack, so that the block released last, whose memory is warm, is reused first.
  std::vector<int32_t> released;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_BLOCKPOOL_H
