// SPDX-License-Identifier: Apache-2.0
///
/// What the threads of a launch have written to the memory of the GPU: nobody else may read or
/// write that before a barrier, nor another block at all.
#ifndef HEDDLE_TESTS_EMULATOR_FARWRITES_H
#define HEDDLE_TESTS_EMULATOR_FARWRITES_H

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace heddle::emulator {

/// What is wrong with a use is told in words; nothing where all is well.
class FarWrites {
public:
  void passBarrier() { ++epoch; }
  std::string read(int block, int thread, uint64_t address, size_t bytes) const;
  std::string write(int block, int thread, uint64_t address, size_t bytes);

private:
  /// The smallest part of which something is known: no element is smaller.
  static constexpr size_t cellBytes = 2;
  struct Writer {
    int block;
    int thread;
    uint32_t epoch;
  };

  std::string problemOf(const char *what, int block, int thread, uint64_t address,
                        size_t bytes) const;

  /// Whether something near an address may have been written: most reads are of what nobody
  /// writes.
  static size_t slotOf(uint64_t address) { return address / 64 % slots; }
  static constexpr size_t slots = 1 << 14;

  std::unordered_map<uint64_t, Writer> cells;
  std::bitset<slots> written;
  uint32_t epoch = 0;
};

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_FARWRITES_H
