// SPDX-License-Identifier: Apache-2.0
///
/// Models the hardware: 4-byte accesses of all lanes are served together, 8-byte accesses for half
/// a warp at a time, 16-byte accesses for a quarter.
#include "tests/Emulator/Banks.h"

#include "tests/Emulator/Blocks.h"
#include "tests/Emulator/Calls.h"

#include <algorithm>
#include <set>

namespace heddle::emulator {
namespace {
constexpr size_t banks = 32, wordBytes = 4;

/// Returns the number of passes for lanes that are served together.
uint64_t passesFor(const std::vector<uint64_t> &addresses, size_t bytes) {
  std::array<std::set<uint64_t>, banks> wanted;
  for (const uint64_t address : addresses) {
    for (uint64_t word = address / wordBytes; word <= (address + bytes - 1) / wordBytes; ++word) {
      wanted[word % banks].insert(word);
    }
  }
  size_t most = 0;
  for (const auto &words : wanted) {
    most = std::max(most, words.size());
  }
  return most;
}
} // namespace

BankCounter &bankCounter() {
  static BankCounter counter;
  return counter;
}

void BankCounter::use(int thread, const void *site, uint64_t address, size_t bytes) {
  if (!isOn) {
    return;
  }
  const uint32_t number = visits[{thread, site}]++;
  Access &access = open[{thread / warpLanes, site, number}];
  access.bytes = bytes;
  access.parts.push_back({thread % warpLanes, address});
}

void BankCounter::useRows(const std::array<uint64_t, 8> &rows) {
  if (isOn) {
    uses.passes += passesFor({rows.begin(), rows.end()}, 16);
    ++uses.least;
  }
}

void BankCounter::count(const Access &access) {
  const size_t together = banks * wordBytes / std::max(access.bytes, wordBytes);
  for (size_t first = 0; first < size_t(warpLanes); first += together) {
    std::vector<uint64_t> addresses;
    for (const Part &part : access.parts) {
      if (size_t(part.lane) >= first && size_t(part.lane) < first + together) {
        addresses.push_back(part.address);
      }
    }
    uses.passes += passesFor(addresses, access.bytes);
    uses.least += addresses.empty() ? 0 : 1;
  }
}

void BankCounter::settle() {
  for (const auto &[key, access] : open) {
    count(access);
  }
  open.clear();
  visits.clear();
}

HeddleBankUses BankCounter::take(bool isWanted) {
  isOn = isWanted;
  const HeddleBankUses taken = uses;
  uses = {};
  // A kernel that failed has left what it did not finish.
  open.clear();
  visits.clear();
  return taken;
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED HeddleBankUses heddle_emulator_banks(int isWanted) {
  const std::lock_guard guard(lock());
  return bankCounter().take(isWanted != 0);
}
