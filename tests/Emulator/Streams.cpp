// SPDX-License-Identifier: Apache-2.0
///
/// Streams, events and copies.
#include "tests/Emulator/Streams.h"

#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Memory.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

namespace heddle::emulator {
namespace {
struct Stream {
  std::deque<Work> work;
  bool isRecorded = false;
  std::vector<Work> recorded;
};
/// The state of an event's last record.
struct Event {
  bool hasTime;
  Stream *stream = nullptr;
  uint64_t recorded = 0;
  uint64_t done = 0;
  std::chrono::steady_clock::time_point time;
};
std::set<Stream *> streams;
std::set<Event *> events;
Stream defaultStream;

/// Fills destination memory until its copy is done, to detect hosts that read too early.
constexpr int notYet = 0xa5;

/// Does the work of a stream until `isEnough` returns true; after a failure no work is done.
template <typename Condition> int finish(Stream &stream, Condition isEnough) {
  const auto isDone = [&] { return stream.work.empty() || isEnough(); };
  if (isDone()) {
    return poisoned();
  }
  const OpenMemory open;
  while (!isDone()) {
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    if (poisoned() == Success) {
      if (const int code = work()) {
        poison(code);
      }
    }
  }
  return poisoned();
}

int finish(Stream &stream) {
  return finish(stream, [] { return false; });
}

/// Returns the stream of a handle; null if there is none.
Stream *streamOf(void *handle) {
  if (handle == nullptr) {
    return &defaultStream;
  }
  const auto found = streams.find(static_cast<Stream *>(handle));
  return found == streams.end() ? nullptr : *found;
}

Event *eventOf(void *handle) {
  const auto found = events.find(static_cast<Event *>(handle));
  return found == events.end() ? nullptr : *found;
}
} // namespace

int addTo(void *stream, const char *function, Work work) {
  Stream *const found = streamOf(stream);
  if (found == nullptr) {
    return complain(function, "no stream", InvalidHandle);
  }
  if (found->isRecorded) {
    found->recorded.push_back(std::move(work));
  } else {
    found->work.push_back(std::move(work));
  }
  return Success;
}

int beginRecording(void *stream) {
  Stream *const found = streamOf(stream);
  if (found == nullptr || found == &defaultStream || found->isRecorded) {
    return complain("cuStreamBeginCapture_v2", "no stream, or one that is recorded", InvalidHandle);
  }
  found->isRecorded = true;
  recordingThread() = true;
  return Success;
}

int endRecording(void *stream, std::vector<Work> &launches) {
  Stream *const found = streamOf(stream);
  if (found == nullptr || !found->isRecorded) {
    return complain("cuStreamEndCapture", "no stream that is recorded", InvalidHandle);
  }
  found->isRecorded = false;
  recordingThread() = false;
  launches = std::move(found->recorded);
  found->recorded.clear();
  return Success;
}

int addToDefault(Work work) {
  defaultStream.work.push_back(std::move(work));
  return Success;
}

void finishAllStreams() {
  finish(defaultStream);
  for (Stream *const stream : streams) {
    finish(*stream);
  }
}

std::string describeStreams() {
  std::string text;
  text += streams.empty() ? "" : std::to_string(streams.size()) + " streams\n";
  text += events.empty() ? "" : std::to_string(events.size()) + " events\n";
  return text;
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED int cuStreamCreate(void **stream, unsigned flags) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuStreamCreate", std::to_string(flags), Needs::Context)) {
    return code;
  }
  if (stream == nullptr || flags > 1) {
    return complain("cuStreamCreate", "no place for the stream, or flags", InvalidValue);
  }
  *stream = *streams.insert(new Stream).first;
  return Success;
}

HEDDLE_EMULATED int cuStreamDestroy_v2(void *stream) {
  const std::lock_guard guard(lock());
  const int code = enter("cuStreamDestroy_v2", "", Needs::Context);
  const auto found = streams.find(static_cast<Stream *>(stream));
  if (found == streams.end()) {
    return code != Success ? code : complain("cuStreamDestroy_v2", "no stream", InvalidHandle);
  }
  finish(**found);
  recordingThread() = recordingThread() && !(*found)->isRecorded;
  for (Event *const event : events) {
    event->stream = event->stream == *found ? nullptr : event->stream;
  }
  delete *found;
  streams.erase(found);
  return code;
}

HEDDLE_EMULATED int cuStreamSynchronize(void *handle) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuStreamSynchronize", "", Needs::Context)) {
    return code;
  }
  Stream *const stream = streamOf(handle);
  return stream == nullptr ? complain("cuStreamSynchronize", "no stream", InvalidHandle)
                           : finish(*stream);
}

HEDDLE_EMULATED int cuEventCreate(void **event, unsigned flags) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuEventCreate", std::to_string(flags), Needs::Context)) {
    return code;
  }
  if (event == nullptr || flags > 3) {
    return complain("cuEventCreate", "no place for the event, or flags", InvalidValue);
  }
  *event = *events.insert(new Event{.hasTime = (flags & 2) == 0, .time = {}}).first;
  return Success;
}

HEDDLE_EMULATED int cuEventDestroy_v2(void *handle) {
  const std::lock_guard guard(lock());
  const int code = enter("cuEventDestroy_v2", "", Needs::Context);
  Event *const event = eventOf(handle);
  if (event == nullptr) {
    return code != Success ? code : complain("cuEventDestroy_v2", "no event", InvalidHandle);
  }
  if (event->stream != nullptr) {
    finish(*event->stream);
  }
  events.erase(event);
  delete event;
  return code;
}

HEDDLE_EMULATED int cuEventRecord(void *handle, void *stream) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuEventRecord", "", Needs::Context)) {
    return code;
  }
  Event *const event = eventOf(handle);
  if (event == nullptr || streamOf(stream) == nullptr) {
    return complain("cuEventRecord", "no event, or no stream", InvalidHandle);
  }
  event->stream = streamOf(stream);
  const uint64_t number = ++event->recorded;
  return addTo(stream, "cuEventRecord", [=] {
    event->done = number;
    event->time = std::chrono::steady_clock::now();
    return int(Success);
  });
}

HEDDLE_EMULATED int cuEventSynchronize(void *handle) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuEventSynchronize", "", Needs::Context)) {
    return code;
  }
  Event *const event = eventOf(handle);
  if (event == nullptr) {
    return complain("cuEventSynchronize", "no event", InvalidHandle);
  }
  return event->stream == nullptr
             ? int(Success)
             : finish(*event->stream, [&] { return event->done == event->recorded; });
}

HEDDLE_EMULATED int cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuEventElapsedTime", "", Needs::Context)) {
    return code;
  }
  const Event *const begin = eventOf(first);
  const Event *const end = eventOf(second);
  if (milliseconds == nullptr || begin == nullptr || end == nullptr || !begin->hasTime ||
      !end->hasTime || begin->recorded == 0 || end->recorded == 0) {
    return complain("cuEventElapsedTime", "not two recorded events with times", InvalidHandle);
  }
  if (begin->done != begin->recorded || end->done != end->recorded) {
    return complain("cuEventElapsedTime", "nobody has waited for the events", NotReady);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return Success;
}

// --- Copies ------------------------------------------------------------------------------------

HEDDLE_EMULATED int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                                         void *stream) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemcpyHtoDAsync_v2", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  const std::string problem = describeOutside(to, bytes) + describeUnpinned(from, bytes);
  if (!problem.empty()) {
    return complain("cuMemcpyHtoDAsync_v2", problem, InvalidValue);
  }
  return addTo(stream, "cuMemcpyHtoDAsync_v2", [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    noteWritten(to);
    return int(Success);
  });
}

HEDDLE_EMULATED int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemcpyDtoHAsync_v2", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  const std::string problem = describeOutside(from, bytes) + describeUnpinned(to, bytes);
  if (!problem.empty()) {
    return complain("cuMemcpyDtoHAsync_v2", problem, InvalidValue);
  }
  std::memset(to, notYet, bytes);
  return addTo(stream, "cuMemcpyDtoHAsync_v2", [=] {
    if (!isWritten(from)) {
      return complain("cuMemcpyDtoHAsync_v2", "of memory that nothing was written to",
                      LaunchFailed);
    }
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return int(Success);
  });
}

HEDDLE_EMULATED int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuMemcpyDtoDAsync_v2", std::to_string(bytes), Needs::Context)) {
    return code;
  }
  const std::string problem = describeOutside(from, bytes) + describeOutside(to, bytes);
  if (!problem.empty() || (from < to + bytes && to < from + bytes)) {
    return complain("cuMemcpyDtoDAsync_v2", problem + ", or both overlap", InvalidValue);
  }
  return addTo(stream, "cuMemcpyDtoDAsync_v2", [=] {
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    noteWritten(to);
    return int(Success);
  });
}

namespace {
/// CUDA_MEMCPY2D.
struct Copy2D {
  struct Side {
    size_t x;
    size_t y;
    int memoryType;
    void *host;
    uint64_t device;
    void *array;
    size_t pitch;
  };
  Side from;
  Side to;
  size_t rowBytes;
  size_t rows;
};
constexpr int hostMemory = 1;
constexpr int deviceMemory = 2;

uint64_t startOf(const Copy2D::Side &side) {
  const uint64_t start =
      side.memoryType == hostMemory ? reinterpret_cast<uint64_t>(side.host) : side.device;
  return start + side.y * side.pitch + side.x;
}

/// Returns the error in one side of a copy; empty if there is none.
std::string problemOf(const Copy2D::Side &side, const Copy2D &copy) {
  if (side.memoryType != hostMemory && side.memoryType != deviceMemory) {
    return "a kind of memory that is not emulated";
  }
  if (side.array != nullptr || side.pitch < copy.rowBytes || copy.rows == 0) {
    return "an array, rows that overlap, or none";
  }
  const uint64_t bytes = (copy.rows - 1) * side.pitch + copy.rowBytes;
  return side.memoryType == hostMemory
             ? describeUnpinned(reinterpret_cast<const void *>(startOf(side)), bytes)
             : describeOutside(startOf(side), bytes);
}

void copyRows(const Copy2D &copy) {
  for (size_t row = 0; row < copy.rows; ++row) {
    std::memcpy(reinterpret_cast<std::byte *>(startOf(copy.to)) + row * copy.to.pitch,
                reinterpret_cast<const std::byte *>(startOf(copy.from)) + row * copy.from.pitch,
                copy.rowBytes);
  }
}
} // namespace

HEDDLE_EMULATED int cuMemcpy2DAsync_v2(const Copy2D *wanted, void *stream) {
  const std::lock_guard guard(lock());
  const std::string arguments = wanted == nullptr ? ""
                                                  : std::to_string(wanted->rows) + " rows of " +
                                                        std::to_string(wanted->rowBytes);
  if (const int code = enter("cuMemcpy2DAsync_v2", arguments, Needs::Context)) {
    return code;
  }
  const std::string problem =
      wanted == nullptr ? "no copy"
                        : problemOf(wanted->from, *wanted) + problemOf(wanted->to, *wanted);
  if (!problem.empty()) {
    return complain("cuMemcpy2DAsync_v2", problem, InvalidValue);
  }
  return addTo(stream, "cuMemcpy2DAsync_v2", [copy = *wanted] {
    if (copy.from.memoryType == deviceMemory && !isWritten(startOf(copy.from))) {
      return complain("cuMemcpy2DAsync_v2", "of memory that nothing was written to", LaunchFailed);
    }
    copyRows(copy);
    if (copy.to.memoryType == deviceMemory) {
      noteWritten(startOf(copy.to));
    }
    return int(Success);
  });
}
