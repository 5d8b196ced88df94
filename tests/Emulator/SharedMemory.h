// SPDX-License-Identifier: Apache-2.0
///
/// The shared memory of the emulated GPU. One block at a time uses it. Every access is checked
/// against the accesses of other threads to the same bytes since the last barrier, unless mbarriers
/// order them. Bulk copies and products of warpgroups access it through the asynchronous proxy:
/// they see what a thread has written only after a fence of that thread.
#ifndef HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
#define HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H

#include "tests/Emulator/Order.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::emulator {

/// Threads are those of the running block. Functions that check an access return a description of
/// the error, or an empty string.
class SharedMemory {
public:
  /// Provides `bytes` bytes for a block of `threads` threads, all uninitialised. If the block is
  /// not checked, no access is an error.
  void begin(size_t bytes, int threads, bool isChecked);
  /// Orders all earlier accesses before all later ones.
  void passBarrier() { ++epoch; }

  /// Returns whether an address is in shared memory, perhaps beyond the block's part.
  static bool contains(uint64_t address);
  std::string read(int thread, uint64_t address, size_t bytes);
  /// Checks a read of `count` threads from `first` on together; `thread` is the one of them that
  /// gives the address.
  std::string readTogether(int first, int count, int thread, uint64_t address, size_t bytes);
  std::string write(int thread, uint64_t address, size_t bytes);
  /// Begins a copy of a thread, which may write at any time until it lands.
  std::string beginCopy(int thread, uint64_t address, size_t bytes);
  void landCopy(int thread, uint64_t address, size_t bytes);

  /// Returns the thread whose copy to an address is in flight; -1 if there is none.
  int copierAt(uint64_t address) const;

  // --- the asynchronous proxy
  // ---------------------------------------------------------------------
  /// Orders the earlier accesses of a thread before later ones through the asynchronous proxy.
  void fence(int thread);
  /// Begins a bulk copy, and lands it, as an event of `agent` of the block's Order.
  std::string beginBulk(int thread, uint64_t address, size_t bytes);
  void landBulk(int agent, uint64_t address, size_t bytes);
  /// Checks that a thread may use an mbarrier, which another one may have initialised; through the
  /// asynchronous proxy if `isBulk`.
  std::string useBarrier(int thread, uint64_t address, bool isBulk) const;

  /// Begins to read 16 bytes for a product of a warpgroup, at any time until the end of the
  /// product. `known` is what all of its threads know.
  std::string beginProduct(int warpgroup, const Clock &known, uint64_t address);
  /// Ends it. `readers` are threads of the warps, which know that their warp has read.
  void endProduct(const std::vector<int> &readers, uint64_t address);
  static constexpr size_t productBytes = 16;
  /// Returns the address that a matrix descriptor means by one of 18 bits.
  static uint64_t addressOf(uint32_t inWindow);

private:
  /// The granularity of tracking, in bytes: no element is smaller.
  static constexpr size_t cellBytes = 2;
  static constexpr int nobody = -1;
  /// The reader of a cell that several threads have read.
  static constexpr int several = -2;
  struct Cell {
    /// The epochs of the last write and the last read, from 1 on; 0 if there was none.
    uint32_t written = 0;
    uint32_t seen = 0;
    int16_t writer = nobody;
    int16_t reader = nobody;
    int16_t copier = nobody;
    /// The products in flight that read it, and one of their warpgroups.
    uint8_t products = 0;
    uint8_t warpgroup = 0;
    /// Whether the last write was made through the asynchronous proxy.
    bool isAsync = false;
    /// The time of the last write in the block's Order, and the reads since then: a number of
    /// `readSets`. The latter is only used if the order is.
    uint32_t writtenAt = 0;
    uint32_t reads = 0;
  };
  /// An event of a thread.
  struct Event {
    int agent;
    uint32_t time;
  };
  /// A fence of a thread: accesses before `time` come before it.
  struct Fence {
    uint32_t time;
    uint32_t epoch;
  };

  size_t placeOf(uint64_t address) const;
  std::string describeOutside(uint64_t address, size_t bytes) const;
  std::string problemOfWrite(const std::string &who, int thread, size_t first, size_t last) const;
  std::string problemAt(const std::string &who, int thread, size_t place) const;
  std::string problemOfReads(const Cell &cell, int thread) const;
  std::string agentText(int agent) const;
  /// Returns whether the last write of a cell comes before the present of a thread, or of all
  /// threads that know `known`.
  bool isWrittenBefore(const Cell &cell, int thread) const;
  bool isWrittenBefore(const Cell &cell, const Clock &known) const;
  /// Returns whether the writer of a cell has executed a fence since, which `isKnown` knows.
  template <typename IsKnown> bool isFenced(const Cell &cell, IsKnown isKnown) const;
  template <typename IsWritten>
  std::string readWritten(int thread, int reader, uint64_t address, size_t bytes,
                          IsWritten isWritten);
  void noteRead(Cell &cell, int thread, int reader);
  void noteWrite(Cell &cell, int writer, bool isAsync);
  uint32_t withEvent(uint32_t set, const Event &event);

  bool isChecked = true;
  std::vector<Cell> cells;
  /// By thread.
  std::vector<std::vector<Fence>> fences;
  /// Sets of reads, which many cells have in common, the latest of each thread; number 0 is empty.
  std::vector<std::vector<Event>> readSets;
  /// A set, and the event that is added to it; and the results. Cells that are read together mostly
  /// have the same as the one before.
  struct Extension {
    uint32_t set;
    int agent;
    uint32_t time;
    bool operator==(const Extension &) const = default;
  };
  struct ExtensionHash {
    size_t operator()(const Extension &key) const {
      constexpr uint64_t odd = 0x9e3779b97f4a7c15;
      return ((key.set * odd + uint64_t(key.agent)) * odd + key.time) * odd >> 16;
    }
  };
  std::unordered_map<Extension, uint32_t, ExtensionHash> extended;
  std::optional<Extension> lastExtension;
  uint32_t lastExtended = 0;
  size_t size = 0;
  uint32_t epoch = 1;
};

/// Returns the shared memory of the running block.
SharedMemory &sharedMemory();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
