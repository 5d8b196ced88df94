// SPDX-License-Identifier: Apache-2.0
///
/// The banks of shared memory: 32 words side by side are in banks of their own, and a warp gets one
/// word of each at a time. What lanes want beyond that takes further passes, which are counted.
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

/// Threads run one after the other, so that the accesses of a warp are put together again: the n-th
/// one of each lane from the same place in the code since the last barrier. Where lanes have taken
/// different ways through a loop that is a guess.
class BankCounter {
public:
  /// A thread's part of an access of so many bytes, from a place in the code.
  void use(int thread, const void *site, uint64_t address, size_t bytes);
  /// Eight rows of 16 bytes that a warp gets at once.
  void useRows(const std::array<uint64_t, 8> &rows);
  /// Nothing that comes belongs to an access before.
  void settle();

  /// As heddle_emulator_banks() says.
  HeddleBankUses take();

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
  /// By warp, place and number.
  std::map<std::tuple<int, const void *, uint32_t>, Access> open;
  /// How often a thread was at a place.
  std::map<std::tuple<int, const void *>, uint32_t> visits;
};

BankCounter &bankCounter();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_BANKS_H
