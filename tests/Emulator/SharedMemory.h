// SPDX-License-Identifier: Apache-2.0
///
/// The shared memory of the emulated GPU: one block at a time has it, and every use of it is judged
/// by what others have done with the same bytes since the last barrier.
#ifndef HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
#define HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::emulator {

/// Threads are those of the block that has the memory. What is wrong with a use of it is told in
/// words; nothing where all is well.
class SharedMemory {
public:
  /// Gives a block so many bytes, of which none is written.
  void begin(size_t bytes);
  /// What threads did before is before all that they do now.
  void passBarrier() { ++epoch; }

  /// Whether an address is one of shared memory, perhaps of more than the block has.
  static bool contains(uint64_t address);
  /// `several`: lanes read together what one of them has asked for.
  static constexpr int several = -2;
  std::string read(int thread, uint64_t address, size_t bytes);
  std::string write(int thread, uint64_t address, size_t bytes);
  /// A copy of a thread may write from now on, until it lands.
  std::string beginCopy(int thread, uint64_t address, size_t bytes);
  void landCopy(int thread, uint64_t address, size_t bytes);

  /// The thread whose copy is under way to an address; none: -1.
  int copierAt(uint64_t address) const;

private:
  /// The smallest part of which something is known: no element is smaller.
  static constexpr size_t cellBytes = 2;
  static constexpr int nobody = -1;
  struct Cell {
    /// The barriers before the last write and the last read, from 1 on; 0: none was.
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

/// The memory of the block that runs.
SharedMemory &sharedMemory();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_SHAREDMEMORY_H
