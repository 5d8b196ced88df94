// SPDX-License-Identifier: Apache-2.0
///
/// Memory in units of pages. An inaccessible page follows each allocation.
#include "tests/Emulator/Memory.h"

#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Streams.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace heddle::emulator {
namespace {
constexpr uint64_t page = 4096;
/// The value of bytes that were never written. Large allocations are not filled, so that their
/// pages remain unmapped.
constexpr int garbage = 0xff;
constexpr uint64_t mostGarbage = uint64_t(64) << 20;

struct Allocation {
  uint64_t bytes;
  uint64_t mapped;
  bool written;
};
using Allocations = std::map<uint64_t, Allocation>;
Allocations device;
std::map<uint64_t, uint64_t> pinned;
uint64_t used = 0;
int opened = 0;

void protect(const Allocations::value_type &allocation, int how) {
  ::mprotect(reinterpret_cast<void *>(allocation.first), allocation.second.mapped, how);
}

/// Recently used allocations: kernels alternate among a few. Released allocations are not in it.
struct Recent {
  uint64_t start;
  uint64_t bytes;
};
std::array<Recent, 8> recent = {};
size_t recentTurn = 0;

bool isInRecent(uint64_t address, uint64_t bytes) {
  return std::any_of(recent.begin(), recent.end(), [=](const Recent &each) {
    return address - each.start < each.bytes && bytes <= each.bytes - (address - each.start);
  });
}

/// Returns the allocation that contains an address.
Allocations::iterator find(uint64_t address) {
  auto after = device.upper_bound(address);
  return after == device.begin() ? device.end() : std::prev(after);
}
} // namespace

OpenMemory::OpenMemory() {
  if (opened++ == 0) {
    for (const auto &each : device) {
      protect(each, PROT_READ | PROT_WRITE);
    }
  }
}

OpenMemory::~OpenMemory() {
  if (--opened == 0) {
    for (const auto &each : device) {
      protect(each, PROT_NONE);
    }
  }
}

std::string describeOutside(uint64_t address, uint64_t bytes) {
  if (isInRecent(address, bytes)) {
    return "";
  }
  const auto found = find(address);
  const bool isInside = found != device.end() && address - found->first <= found->second.bytes &&
                        bytes <= found->second.bytes - (address - found->first);
  if (isInside) {
    recent[recentTurn++ % recent.size()] = {found->first, found->second.bytes};
  }
  return isInside ? "" : std::to_string(bytes) + " bytes that are in no allocation of the GPU";
}

std::string describeUnpinned(const void *memory, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(memory);
  auto after = pinned.upper_bound(address);
  const bool isPinned = after != pinned.begin() && [&] {
    const auto &[start, size] = *std::prev(after);
    return address - start <= size && bytes <= size - (address - start);
  }();
  return isPinned ? "" : std::to_string(bytes) + " bytes of the host that are not pinned";
}

void noteWritten(uint64_t address) {
  if (const auto found = find(address); found != device.end()) {
    found->second.written = true;
  }
}

void noteKernel() {
  for (auto &[address, allocation] : device) {
    allocation.written = true;
  }
}

bool isWritten(uint64_t address) {
  const auto found = find(address);
  return found != device.end() && found->second.written;
}

std::string describeMemory() {
  std::string text;
  if (!device.empty()) {
    text += std::to_string(device.size()) + " allocations of " + std::to_string(used) + " bytes\n";
  }
  if (!pinned.empty()) {
    text += std::to_string(pinned.size()) + " pieces of pinned memory\n";
  }
  return text;
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemAlloc_v2", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  if (address == nullptr || bytes == 0) {
    return complain("cuMemAlloc_v2", "no place for the address, or no bytes", InvalidValue);
  }
  const auto most = static_cast<uint64_t>(setting("HEDDLE_EMULATOR_MEMORY", long(16) << 30));
  if (bytes > most - used) {
    return OutOfMemory;
  }
  const uint64_t mapped = (bytes + page - 1) / page * page;
  void *const memory = ::mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return OutOfMemory;
  }
  if (mapped <= mostGarbage) {
    std::memset(memory, garbage, mapped);
  }
  ::mprotect(memory, mapped + page, PROT_NONE);
  *address = reinterpret_cast<uint64_t>(memory);
  device[*address] = {bytes, mapped, false};
  used += bytes;
  return Success;
}

HEDDLE_EMULATED int cuMemFree_v2(uint64_t address) {
  const std::lock_guard guard(lock());
  // Memory is released even if an earlier error makes the call fail.
  const int code = enter("cuMemFree_v2", "", Needs::Context);
  const auto found = device.find(address);
  if (found == device.end()) {
    return code != Success ? code : complain("cuMemFree_v2", "no allocation", InvalidValue);
  }
  // Synchronises, as the driver does, though the manual does not specify it.
  finishAllStreams();
  ::munmap(reinterpret_cast<void *>(address), found->second.mapped + page);
  used -= found->second.bytes;
  device.erase(found);
  recent = {};
  return code;
}

HEDDLE_EMULATED int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemHostAlloc", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  if (memory == nullptr || bytes == 0 || flags > 7) {
    return complain("cuMemHostAlloc", "no place for the address, no bytes or flags", InvalidValue);
  }
  const uint64_t mapped = (bytes + page - 1) / page * page;
  void *const start =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return OutOfMemory;
  }
  pinned[reinterpret_cast<uint64_t>(start)] = mapped;
  *memory = start;
  return Success;
}

HEDDLE_EMULATED int cuMemFreeHost(void *memory) {
  const std::lock_guard guard(lock());
  const int code = enter("cuMemFreeHost", "", Needs::Context);
  const auto found = pinned.find(reinterpret_cast<uint64_t>(memory));
  if (found == pinned.end()) {
    return code != Success ? code : complain("cuMemFreeHost", "not pinned", InvalidValue);
  }
  finishAllStreams();
  ::munmap(memory, found->second);
  pinned.erase(found);
  return code;
}

/// This is work of the default stream: the host does not wait for it, nor do non-blocking streams.
HEDDLE_EMULATED int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemsetD8_v2", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  if (const std::string problem = describeOutside(address, bytes); !problem.empty()) {
    return complain("cuMemsetD8_v2", problem, InvalidValue);
  }
  return addToDefault([=] {
    void *const start = reinterpret_cast<void *>(address);
    // Fresh pages are zero, and use no memory until they are written.
    if (value != 0 || address % page != 0 || ::madvise(start, bytes, MADV_DONTNEED) != 0) {
      std::memset(start, value, bytes);
    }
    noteWritten(address);
    return int(Success);
  });
}
