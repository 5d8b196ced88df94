// SPDX-License-Identifier: Apache-2.0
///
/// The number of barriers passed serves as the time: two accesses to a byte by two threads between
/// the same barriers are a race if one of them writes, unless mbarriers order them. A copy is a
/// write that may happen at any time between its start and its landing, and a product of a
/// warpgroup reads at any time until it is awaited.
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
// Matrix descriptors have the lower 18 bits of an address. Kernels use this name.
// NOLINTBEGIN(readability-identifier-naming)
__attribute__((visibility("default"))) alignas(
    windowBytes) unsigned char heddle_emulated_shared[windowBytes];
// NOLINTEND(readability-identifier-naming)
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

void SharedMemory::begin(size_t bytes, int threads, bool isBlockChecked) {
  size = std::min(bytes, windowBytes);
  isChecked = isBlockChecked;
  cells.assign(!isChecked ? 0 : (size + cellBytes - 1) / cellBytes, Cell());
  epoch = 1;
  fences.assign(static_cast<size_t>(threads), {});
  readSets.assign(1, {});
  extended.clear();
  lastExtension.reset();
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

uint64_t SharedMemory::addressOf(uint32_t inWindow) { return windowStart() + inWindow; }

std::string SharedMemory::agentText(int agent) const {
  return order().isThread(agent) ? threadText(agent) : "a bulk copy";
}

bool SharedMemory::isWrittenBefore(const Cell &cell, int thread) const {
  return cell.written != epoch || order().isBefore(cell.writer, cell.writtenAt, thread);
}

bool SharedMemory::isWrittenBefore(const Cell &cell, const Clock &known) const {
  return cell.written != epoch || known[static_cast<size_t>(cell.writer)] >= cell.writtenAt;
}

template <typename IsKnown> bool SharedMemory::isFenced(const Cell &cell, IsKnown isKnown) const {
  if (cell.written == 0 || cell.isAsync) {
    return true;
  }
  const std::vector<Fence> &own = fences[static_cast<size_t>(cell.writer)];
  return std::any_of(own.rbegin(), own.rend(), [&](const Fence &fence) {
    return fence.time > cell.writtenAt && (fence.epoch != epoch || isKnown(fence.time));
  });
}

/// Returns the set of reads with one more.
uint32_t SharedMemory::withEvent(uint32_t set, const Event &event) {
  const Extension extension = {set, event.agent, event.time};
  if (extension == lastExtension) {
    return lastExtended;
  }
  const auto [found, isNew] =
      extended.try_emplace(extension, static_cast<uint32_t>(readSets.size()));
  if (isNew) {
    std::vector<Event> events = readSets[set];
    std::erase_if(events, [&](const Event &other) { return other.agent == event.agent; });
    events.push_back(event);
    readSets.push_back(std::move(events));
  }
  lastExtension = extension;
  lastExtended = found->second;
  return lastExtended;
}

/// Notes a read as an event of a thread, by it or by several threads.
void SharedMemory::noteRead(Cell &cell, int thread, int reader) {
  if (order().isUsed()) {
    cell.reads = withEvent(cell.seen == epoch ? cell.reads : 0, {thread, order().now(thread)});
  }
  cell.reader =
      static_cast<int16_t>(cell.seen == epoch && cell.reader != reader ? several : reader);
  cell.seen = epoch;
}

void SharedMemory::noteWrite(Cell &cell, int writer, bool isAsync) {
  cell.writer = static_cast<int16_t>(writer);
  cell.written = epoch;
  cell.writtenAt = order().now(writer);
  cell.isAsync = isAsync;
}

/// Checks a read of what `isWritten` says to be written before.
template <typename IsWritten>
std::string SharedMemory::readWritten(int thread, int reader, uint64_t address, size_t bytes,
                                      IsWritten isWritten) {
  if (!isChecked) {
    return "";
  }
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
    if (!isWritten(cell)) {
      return "race: reads " + byteAt(i, cellBytes) + ", which " + agentText(cell.writer) +
             " has written since the last barrier";
    }
    noteRead(cell, thread, reader);
  }
  return "";
}

std::string SharedMemory::read(int thread, uint64_t address, size_t bytes) {
  return readWritten(thread, thread, address, bytes, [&](const Cell &cell) {
    return cell.writer == thread || isWrittenBefore(cell, thread);
  });
}

std::string SharedMemory::readTogether(int first, int count, int thread, uint64_t address,
                                       size_t bytes) {
  // What all of them know is only needed for what was written since the last barrier.
  std::optional<Clock> known;
  return readWritten(thread, several, address, bytes, [&](const Cell &cell) {
    if (cell.written != epoch || !order().isUsed()) {
      return cell.written != epoch;
    }
    if (!known) {
      known = order().commonOf(first, count);
    }
    return isWrittenBefore(cell, *known);
  });
}

/// Describes the reads of a cell that a write of a thread does not come after.
std::string SharedMemory::problemOfReads(const Cell &cell, int thread) const {
  if (cell.seen != epoch) {
    return "";
  }
  if (order().isUsed()) {
    for (const Event &event : readSets[cell.reads]) {
      if (!order().isBefore(event.agent, event.time, thread)) {
        return threadText(event.agent) + " has";
      }
    }
    return "";
  }
  return cell.reader == thread    ? ""
         : cell.reader == several ? "threads have"
                                  : threadText(cell.reader) + " has";
}

std::string SharedMemory::problemAt(const std::string &who, int thread, size_t place) const {
  const Cell &cell = cells[place];
  const std::string what = "race: " + who + byteAt(place, cellBytes);
  if (cell.copier != nobody) {
    return what + " while a copy of " + threadText(cell.copier) + " to it is under way";
  }
  if (cell.products != 0) {
    return what + ", which a product of warpgroup " + std::to_string(cell.warpgroup) +
           " reads that is not awaited";
  }
  if (cell.writer != thread && !isWrittenBefore(cell, thread)) {
    return what + ", which " + agentText(cell.writer) + " has written since the last barrier";
  }
  const std::string readers = problemOfReads(cell, thread);
  return readers.empty() ? "" : what + ", which " + readers + " read since the last barrier";
}

/// Most writes are valid, so the text of a problem is only created for those that are not.
std::string SharedMemory::problemOfWrite(const std::string &who, int thread, size_t first,
                                         size_t last) const {
  for (size_t i = first; i <= last; ++i) {
    const Cell &cell = cells[i];
    const bool isQuiet =
        cell.copier == nobody && cell.products == 0 && cell.written != epoch && cell.seen != epoch;
    if (std::string problem = isQuiet ? std::string() : problemAt(who, thread, i);
        !problem.empty()) {
      return problem;
    }
  }
  return "";
}

std::string SharedMemory::write(int thread, uint64_t address, size_t bytes) {
  if (!isChecked) {
    return "";
  }
  std::string problem = describeOutside(address, bytes);
  const size_t first = placeOf(address) / cellBytes;
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  if (problem.empty()) {
    problem = problemOfWrite("writes ", thread, first, last);
  }
  for (size_t i = first; problem.empty() && i <= last; ++i) {
    noteWrite(cells[i], thread, /*isAsync=*/false);
  }
  return problem;
}

std::string SharedMemory::beginCopy(int thread, uint64_t address, size_t bytes) {
  if (!isChecked) {
    return "";
  }
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
  if (!isChecked) {
    return;
  }
  const size_t last = (placeOf(address) + bytes - 1) / cellBytes;
  for (size_t i = placeOf(address) / cellBytes; i <= last; ++i) {
    cells[i].copier = nobody;
    noteWrite(cells[i], thread, /*isAsync=*/false);
  }
}

int SharedMemory::copierAt(uint64_t address) const {
  const size_t cell = placeOf(address) / cellBytes;
  return contains(address) && cell < cells.size() ? cells[cell].copier : nobody;
}

// --- the asynchronous proxy ----------------------------------------------------------------------

void SharedMemory::fence(int thread) {
  if (!isChecked) {
    return;
  }
  order().tick(thread);
  fences[static_cast<size_t>(thread)].push_back({order().now(thread), epoch});
}

std::string SharedMemory::beginBulk(int thread, uint64_t address, size_t bytes) {
  if (!isChecked) {
    return "";
  }
  std::string problem = describeOutside(address, bytes);
  for (size_t i = placeOf(address) / cellBytes;
       problem.empty() && i < (placeOf(address) + bytes) / cellBytes; ++i) {
    const Cell &cell = cells[i];
    const auto isKnown = [&](uint32_t time) { return order().isBefore(cell.writer, time, thread); };
    if (!isFenced(cell, isKnown)) {
      problem = "race: begins a bulk copy to " + byteAt(i, cellBytes) + ", which " +
                threadText(cell.writer) + " has written, without a fence between proxies";
    }
  }
  return problem.empty() ? beginCopy(thread, address, bytes) : problem;
}

void SharedMemory::landBulk(int agent, uint64_t address, size_t bytes) {
  if (!isChecked) {
    return;
  }
  for (size_t i = placeOf(address) / cellBytes; i < (placeOf(address) + bytes) / cellBytes; ++i) {
    cells[i].copier = nobody;
    noteWrite(cells[i], agent, /*isAsync=*/true);
  }
}

std::string SharedMemory::useBarrier(int thread, uint64_t address, bool isBulk) const {
  if (!isChecked) {
    return "";
  }
  const size_t place = placeOf(address) / cellBytes;
  const Cell &cell = cells[place];
  if (!isWrittenBefore(cell, thread)) {
    return "race: uses the mbarrier at " + byteAt(place, cellBytes) + ", which " +
           threadText(cell.writer) + " has initialised since the last barrier";
  }
  const auto isKnown = [&](uint32_t time) { return order().isBefore(cell.writer, time, thread); };
  return !isBulk || isFenced(cell, isKnown)
             ? ""
             : "race: begins a bulk copy with the mbarrier at " + byteAt(place, cellBytes) +
                   ", which " + threadText(cell.writer) +
                   " has initialised, without a fence between proxies";
}

std::string SharedMemory::beginProduct(int warpgroup, const Clock &known, uint64_t address) {
  if (!isChecked) {
    return "";
  }
  if (std::string problem = describeOutside(address, productBytes); !problem.empty()) {
    return problem;
  }
  const size_t first = placeOf(address) / cellBytes;
  for (size_t i = first; i < first + productBytes / cellBytes; ++i) {
    Cell &cell = cells[i];
    const auto isKnown = [&](uint32_t time) {
      return known[static_cast<size_t>(cell.writer)] >= time;
    };
    const auto what = [&] { return "multiplies " + byteAt(i, cellBytes); };
    if (cell.copier != nobody) {
      return "race: " + what() + " while a copy of " + threadText(cell.copier) +
             " to it is under way";
    }
    if (cell.written == 0) {
      return what() + ", which nobody has written";
    }
    if (!isWrittenBefore(cell, known)) {
      return "race: " + what() + ", which " + agentText(cell.writer) +
             " has written since the last barrier";
    }
    if (!isFenced(cell, isKnown)) {
      return "race: " + what() + ", which " + threadText(cell.writer) +
             " has written, without a fence between proxies";
    }
    ++cell.products;
    cell.warpgroup = static_cast<uint8_t>(warpgroup);
  }
  return "";
}

void SharedMemory::endProduct(const std::vector<int> &readers, uint64_t address) {
  if (!isChecked) {
    return;
  }
  const size_t first = placeOf(address) / cellBytes;
  for (size_t i = first; i < first + productBytes / cellBytes; ++i) {
    --cells[i].products;
    for (const int reader : readers) {
      noteRead(cells[i], reader, reader);
    }
  }
}

} // namespace heddle::emulator
