// SPDX-License-Identifier: Apache-2.0
///
/// Records which threads of a launch have written to global memory: before a barrier no other
/// thread may access what one has written, and other blocks may not access it at all.
#ifndef HEDDLE_TESTS_EMULATOR_FARWRITES_H
#define HEDDLE_TESTS_EMULATOR_FARWRITES_H

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace heddle::emulator {

/// Functions that check an access return a description of the error, or an empty string.
class FarWrites {
public:
  void passBarrier() { ++epoch; }
  std::string read(int block, int thread, uint64_t address, size_t bytes) const;
  std::string write(int block, int thread, uint64_t address, size_t bytes);

private:
  /// The last writer of a byte; no block if nobody has written it.
  struct Writer {
    int block = -1;
    int thread = 0;
    uint32_t epoch = 0;
  };
  /// The writers of adjacent bytes, which are looked up together.
  static constexpr size_t partBytes = 256;
  using Part = std::array<Writer, partBytes>;

  std::string problemOf(const char *what, int block, int thread, uint64_t address,
                        size_t bytes) const;

  /// Returns the slot of an address in `written`, a quick filter: most reads are of memory that no
  /// thread writes.
  static size_t slotOf(uint64_t address) { return address / 64 % slots; }
  static constexpr size_t slots = 1 << 14;

  std::unordered_map<uint64_t, Part> parts;
  std::bitset<slots> written;
  uint32_t epoch = 0;
};

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_FARWRITES_H
