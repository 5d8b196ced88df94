// SPDX-License-Identifier: Apache-2.0
///
/// Counts the use of shared memory's banks: 32 adjacent words are in different banks, and a warp
/// gets one word of each bank per pass. Lanes that access different words of a bank need further
/// passes, which are counted.
#ifndef HEDDLE_TESTS_EMULATOR_BANKS_H
#define HEDDLE_TESTS_EMULATOR_BANKS_H

#include "tests/Emulator/Emulator.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace heddle::emulator {

/// Threads run one after another, so the accesses of a warp are reassembled: the n-th access of
/// each lane at the same place in the code since the last barrier. If lanes have taken different
/// paths through a loop, this is a guess.
class BankCounter {
public:
  /// Records a thread's part of an access of `bytes`, at a place in the code.
  void use(int thread, const void *site, uint64_t address, size_t bytes);
  /// Records an access of a warp to eight rows of 16 bytes.
  void useRows(const std::array<uint64_t, 8> &rows);
  /// Completes all open accesses: later parts belong to new ones.
  void settle();

  /// Implements heddle_emulator_banks().
  HeddleBankUses take(bool isWanted);

private:
  struct Part {
    int lane;
    uint64_t address;
  };
  struct Access {
    size_t bytes = 0;
    std::vector<Part> parts;
  };
  void count(const Access &access);

  bool isOn = false;
  HeddleBankUses uses = {};
  /// Open accesses, by warp, place and number.
  std::map<std::tuple<int, const void *, uint32_t>, Access> open;
  /// The number of times that a thread has been at a place.
  std::map<std::tuple<int, const void *>, uint32_t> visits;
};

BankCounter &bankCounter();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_BANKS_H
