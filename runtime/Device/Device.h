// SPDX-License-Identifier: Apache-2.0
///
/// A device runs kernels, which see its memory. What a session wants of it is said here: where
/// memory comes from, what is sent and read back, what is launched and in which order, how long it
/// took. Nothing outside runtime/Device knows which devices there are.
#ifndef HEDDLE_RUNTIME_DEVICE_DEVICE_H
#define HEDDLE_RUNTIME_DEVICE_DEVICE_H

#include "heddle/Abi.h"
#include "heddle/Arithmetic.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

class Device;
class ElfFile;
namespace manifest {
struct Manifest;
}

/// A part of a division: of rows, of columns, of elements.
struct Range {
  int64_t begin;
  int64_t end;
};

enum class MemoryUse : uint8_t {
  /// For what one run computes: all of it is touched.
  Work,
  /// For what grows and must not move: zeros at first; only what is touched costs memory.
  Cache,
};

/// Memory of a device, which must outlive it; move-only.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(Device &owner, std::byte *start, uint64_t bytes)
      : owner(&owner), start(start), bytes(bytes) {}
  DeviceMemory(DeviceMemory &&other) noexcept
      : owner(other.owner), start(std::exchange(other.start, nullptr)),
        bytes(std::exchange(other.bytes, 0)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(owner, other.owner);
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~DeviceMemory() { clear(); }

  /// Working memory of at least so many bytes, kept from call to call: after the largest batch has
  /// been seen, runs allocate nothing. Growing loses the contents.
  Status grow(Device &device, uint64_t needed);
  /// As kernels see it, a multiple of 4096; null while there is none.
  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }

private:
  void clear();

  Device *owner = nullptr;
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

/// A kernel that a device has taken up; what it is only the device knows. All dispatches of a
/// kernel have operands of the same kinds, which the manifest says: those that are caches or states
/// are a HeddleCache, others that are written a HeddleResult, the rest elements. A device that does
/// not share the host's memory takes these descriptions along; elements are in its memory already.
class DeviceKernel {
protected:
  DeviceKernel() = default;
  ~DeviceKernel() = default;
};

/// The file of a model, checked, and which of its targets is wanted.
struct ProgramFile {
  const std::string &path;
  /// The file, open: a path may be another file's by now.
  int descriptor;
  const ElfFile &elf;
  const manifest::Manifest &model;
  uint32_t target;
  std::span<const std::byte> weights;
  /// The section of images (formats/Binary/ImageCheck.h); empty if there is none.
  std::span<const std::byte> images;
};

/// A model on a device, shared by its sessions. The file must outlive it.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// By its number in the manifest.
  virtual const DeviceKernel &kernel(uint32_t number) const = 0;
  /// A stored parameter as kernels see it, by its number in the manifest; one that the target
  /// reads.
  virtual const std::byte *parameter(uint32_t number) const = 0;
};

/// A dispatch, or a part of one.
struct Launch {
  const DeviceKernel *kernel;
  /// Runs over the same rows when all columns are done; null: none.
  const DeviceKernel *finish;
  const HeddleKernelContext *context;
  Range rows;
  Range columns;
  /// Rows are divided at multiples of this.
  int64_t rowTile;
  /// Bytes of scratch memory that one caller of its kernels needs; the context has scratchBytes()
  /// of them.
  uint64_t scratch;
};

/// When a launch began and ended, in seconds of its stream's clock.
struct LaunchTime {
  double begin = 0;
  double end = 0;
};

/// Rows of bytes inside the memory of a device, `pitch` bytes apart on both sides.
struct CopiedRows {
  std::byte *to;
  const std::byte *from;
  uint64_t rows;
  uint64_t rowBytes;
  uint64_t pitch;
};

/// Rows of bytes that the host reads, `pitch` bytes from one to the next.
struct FetchedRows {
  const std::byte *first;
  uint64_t pitch;
};

/// What one session has of a device: lanes, each of which does what it is told in that order and
/// independently of the others. A lane is a thread on a CPU, a queue on a device that has some. For
/// one thread at a time.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;

  /// Calls task(lane) for the first `count` lanes side by side. Returns when all have returned and
  /// the device has done what it was told; fails when the device has failed, and always does then.
  /// The task must not throw.
  template <typename Task> Status run(int count, Task &task) {
    return runErased(
        count, [](void *argument, int lane) { (*static_cast<Task *>(argument))(lane); }, &task);
  }

  // --- What a schedule goes by: lanes, the tokens of a chunk that suits one of them, and the
  // operations in the time that lanes take to meet.
  virtual int lanes() const = 0;
  virtual int64_t chunkTokens() const = 0;
  virtual double meetingFlops() const = 0;

  /// The scratch memory that the callers of a lane use together if one needs so many bytes, a
  /// multiple of HEDDLE_ALIGNMENT.
  virtual uint64_t scratchBytes(uint64_t ofCaller) const = 0;

  /// What the device has failed with, which lasts: nothing that a stream is told after it happens.
  virtual Status failure() const = 0;

  // --- What a task says, each lane for itself; lane 0 also between runs, where the others see it
  // from the next run on.

  /// Memory for the host to write what is to be at `to`; send() takes it there. Null when the
  /// device has failed, and never where it shares the host's memory.
  virtual std::byte *stage(int lane, std::byte *to, uint64_t bytes) = 0;
  virtual void send(int lane) = 0;
  /// Rows of bytes that lie at `from`, `pitch` bytes apart, once all that the lane was told is
  /// done, for the host to read until it tells the lane anything else; null when the device has
  /// failed.
  virtual FetchedRows fetchRows(int lane, const std::byte *from, uint64_t rows, uint64_t rowBytes,
                                uint64_t pitch) = 0;
  const std::byte *fetch(int lane, const std::byte *from, uint64_t bytes) {
    return fetchRows(lane, from, 1, bytes, bytes).first;
  }
  /// `time`, unless it is null, is known when run() returns. Launches may be divided in any way.
  virtual void launch(int lane, const Launch &launch, LaunchTime *time) = 0;
  /// The same by all lanes of a run, which share the work and begin the next when it is done. Each
  /// says it with a context of its own, and the same in it but for scratch memory.
  virtual void launchTogether(int lane, const Launch &launch, LaunchTime *time) = 0;
  /// A barrier: what any lane of a run launched before it is complete before any lane goes on.
  /// Every lane of the run must call it.
  virtual void meet(int lane) = 0;

  // --- Between runs

  /// Copies in order, before what the next run does.
  virtual void copy(std::span<const CopiedRows> list) = 0;
  /// The clock of launches.
  virtual double now() const = 0;

protected:
  using ErasedTask = void (*)(void *argument, int lane);
  virtual Status runErased(int count, ErasedTask task, void *argument) = 0;
};

/// Any number of threads may use one at a time. Programs, memory and streams must not outlive it.
class Device {
public:
  virtual ~Device() = default;

  /// What messages call it, "this CPU".
  virtual std::string_view name() const = 0;
  /// What users call it, a name that openDevice() knows: "cpu", "cuda:0".
  virtual std::string_view id() const = 0;
  /// The targets whose code it runs, best first.
  virtual std::vector<std::string> targets() const = 0;
  /// Whether kernels see the host's memory at the host's addresses.
  virtual bool sharesHostMemory() const = 0;

  /// Failures do not name the file.
  virtual Result<std::unique_ptr<DeviceProgram>> load(const ProgramFile &file) = 0;
  /// ResourceExhausted, with `what` it was for, when there is no more.
  virtual Result<DeviceMemory> allocate(uint64_t bytes, MemoryUse use, std::string_view what) = 0;
  virtual Result<std::unique_ptr<DeviceStream>> createStream(int lanes) = 0;

  // --- What it can do at best, measured in some tenths of a second: the roof that kernels are held
  // against.

  /// Multiply-adds in registers, as many as it can have under way: 10^9 operations a second (a
  /// multiply-add is two) of so many lanes together.
  virtual Result<double> measurePeak(int lanes, Arithmetic arithmetic) = 0;
  Result<double> measurePeak(int lanes) { return measurePeak(lanes, Arithmetic::F32); }
  /// Reading so many bytes again and again: 10^9 bytes a second of so many lanes together. What a
  /// cache holds is read at the rate of the cache.
  virtual Result<double> measureReading(int lanes, uint64_t bytes) = 0;
  /// The instructions that measurePeak() uses.
  virtual std::string_view vectors() const = 0;

private:
  friend class DeviceMemory;
  virtual void release(std::byte *start, uint64_t bytes) = 0;
};

/// More than the caches of today's devices hold.
inline constexpr uint64_t beyondCaches = uint64_t(512) << 20;

/// The CPU, which is always there.
std::shared_ptr<Device> hostDevice();

/// The devices that a name means, the one to be preferred first: "cpu" (or nothing), "cuda" (the
/// first GPU), "cuda:N", or "auto", which means the first GPU, if there is one that can be opened,
/// and then the CPU. Fails, with what was looked for, if there is none of that name.
Result<std::vector<std::shared_ptr<Device>>> openDevices(std::string_view name);

/// A device that may or may not be there.
struct DeviceInfo {
  /// Device::id().
  std::string id;
  std::string description;
  std::vector<std::string> targets;
};

/// All devices of the machine; `missing` says what others were looked for, and where.
struct MachineDevices {
  std::vector<DeviceInfo> found;
  std::string missing;
};
MachineDevices findDevices();

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_DEVICE_H
