// SPDX-License-Identifier: Apache-2.0
///
/// The shared memory of the emulated GPU. One block at a time uses it. Every access is checked
/// against the accesses of other threads to the same bytes since the last barrier.
#ifndef HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
#define HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::emulator {

/// Threads are those of the running block. Functions that check an access return a description of
/// the error, or an empty string.
class SharedMemory {
public:
  /// Provides `bytes` bytes for a block, all uninitialised.
  void begin(size_t bytes);
  /// Orders all earlier accesses before all later ones.
  void passBarrier() { ++epoch; }

  /// Returns whether an address is in shared memory, perhaps beyond the block's part.
  static bool contains(uint64_t address);
  /// The thread number of a joint read of several lanes.
  static constexpr int several = -2;
  std::string read(int thread, uint64_t address, size_t bytes);
  std::string write(int thread, uint64_t address, size_t bytes);
  /// Begins a copy of a thread, which may write at any time until it lands.
  std::string beginCopy(int thread, uint64_t address, size_t bytes);
  void landCopy(int thread, uint64_t address, size_t bytes);

  /// Returns the thread whose copy to an address is in flight; -1 if there is none.
  int copierAt(uint64_t address) const;

private:
  /// The granularity of tracking, in bytes: no element is smaller.
  static constexpr size_t cellBytes = 2;
  static constexpr int nobody = -1;
  struct Cell {
    /// The epochs of the last write and the last read, from 1 on; 0 if there was none.
    uint32_t written = 0;
    uint32_t seen = 0;
    int16_t writer = nobody;
    int16_t reader = nobody;
    int16_t copier = nobody;
  };

  size_t placeOf(uint64_t address) const;
  std::string describeOutside(uint64_t address, size_t bytes) const;
  std::string problemOfWrite(const std::string &who, int thread, size_t first, size_t last) const;

  std::vector<Cell> cells;
  size_t size = 0;
  uint32_t epoch = 1;
};

/// Returns the shared memory of the running block.
SharedMemory &sharedMemory();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
