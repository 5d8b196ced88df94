// SPDX-License-Identifier: Apache-2.0
///
/// Only barriers order the threads of a block, so the number of barriers passed serves as the time:
/// two accesses to a byte by two threads between the same barriers are a race if one of them
/// writes. A copy is a write that may happen at any time between its start and its landing.
#include "tests/Emulator/SharedMemory.h"

#include "tests/Emulator/Calls.h"

#include <algorithm>
#include <cstring>

namespace {
/// At least as much as any GPU has.
constexpr size_t windowBytes = size_t(256) << 10;
} // namespace

/// The array that kernels use as shared memory.
extern "C" {
__attribute__((visibility("default"))) alignas(
    1024) unsigned char heddle_emulated_shared[windowBytes];
}

namespace heddle::emulator {
namespace {
uint64_t windowStart() { return reinterpret_cast<uint64_t>(heddle_emulated_shared); }

std::string byteAt(size_t cell, size_t cellBytes) {
  return "byte " + std::to_string(cell * cellBytes) + " of shared memory";
}
std::string threadText(int thread) { return "thread " + std::to_string(thread); }
} // namespace

SharedMemory &sharedMemory() {
  static SharedMemory memory;
  return memory;
}

void SharedMemory::begin(size_t bytes) {
  size = std::min(bytes, windowBytes);
  cells.assign((size + cellBytes - 1) / cellBytes, Cell());
  epoch = 1;
  // This pattern is NaN in all float types.
  std::memset(heddle_emulated_shared, 0xff, size);
}

bool SharedMemory::contains(uint64_t address) { return address - windowStart() < windowBytes; }

size_t SharedMemory::placeOf(uint64_t address) const {
  return static_cast<size_t>(address - windowStart());
}

std::string SharedMemory::describeOutside(uint64_t address, size_t bytes) const {
  const size_t place = placeOf(address);
  if (contains(address) && place <= size && bytes <= size - place) {
    return "";
  }
  return "uses " + std::to_string(bytes) + " bytes from byte " +
         std::to_string(static_cast<int64_t>(place)) +
         " of shared memory on, of which the block has " + std::to_string(size);
}

std::string SharedMemory::read(int thread, uint64_t address, size_t bytes) {
  if (std::string problem = describeOutside(address, bytes); !problem.empty()) {
    return problem;
  }
  const size_t first = placeOf(address) / cellBytes;
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  for (size_t i = first; i <= last; ++i) {
    Cell &cell = cells[i];
    if (cell.copier != nobody) {
      return "race: reads " + byteAt(i, cellBytes) + " while a copy of " + threadText(cell.copier) +
             " to it is under way";
    }
    if (cell.written == 0) {
      return "reads " + byteAt(i, cellBytes) + ", which nobody has written";
    }
    if (cell.written == epoch && cell.writer != thread) {
      return "race: reads " + byteAt(i, cellBytes) + ", which " + threadText(cell.writer) +
             " has written since the last barrier";
    }
    cell.reader =
        static_cast<int16_t>(cell.seen == epoch && cell.reader != thread ? several : thread);
    cell.seen = epoch;
  }
  return "";
}

std::string SharedMemory::problemOfWrite(const std::string &who, int thread, size_t first,
                                         size_t last) const {
  for (size_t i = first; i <= last; ++i) {
    const Cell &cell = cells[i];
    if (cell.copier != nobody) {
      return "race: " + who + byteAt(i, cellBytes) + " while a copy of " + threadText(cell.copier) +
             " to it is under way";
    }
    if (cell.written == epoch && cell.writer != thread) {
      return "race: " + who + byteAt(i, cellBytes) + ", which " + threadText(cell.writer) +
             " has written since the last barrier";
    }
    if (cell.seen == epoch && cell.reader != thread) {
      const bool areSeveral = cell.reader == several;
      return "race: " + who + byteAt(i, cellBytes) + ", which " +
             (areSeveral ? "threads have" : threadText(cell.reader) + " has") +
             " read since the last barrier";
    }
  }
  return "";
}

std::string SharedMemory::write(int thread, uint64_t address, size_t bytes) {
  std::string problem = describeOutside(address, bytes);
  const size_t first = placeOf(address) / cellBytes;
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  if (problem.empty()) {
    problem = problemOfWrite("writes ", thread, first, last);
  }
  for (size_t i = first; problem.empty() && i <= last; ++i) {
    cells[i].writer = static_cast<int16_t>(thread);
    cells[i].written = epoch;
  }
  return problem;
}

std::string SharedMemory::beginCopy(int thread, uint64_t address, size_t bytes) {
  std::string problem = describeOutside(address, bytes);
  const size_t first = placeOf(address) / cellBytes;
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  if (problem.empty()) {
    problem = problemOfWrite("begins to copy to ", thread, first, last);
  }
  for (size_t i = first; problem.empty() && i <= last; ++i) {
    cells[i].copier = static_cast<int16_t>(thread);
  }
  return problem;
}

void SharedMemory::landCopy(int thread, uint64_t address, size_t bytes) {
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  for (size_t i = placeOf(address) / cellBytes; i <= last; ++i) {
    cells[i].copier = nobody;
    cells[i].writer = static_cast<int16_t>(thread);
    cells[i].written = epoch;
  }
}

int SharedMemory::copierAt(uint64_t address) const {
  const size_t cell = placeOf(address) / cellBytes;
  return contains(address) && cell < cells.size() ? cells[cell].copier : nobody;
}

} // namespace heddle::emulator
