// SPDX-License-Identifier: Apache-2.0
///
/// A device runs kernels, which access its memory. This interface is all that a session needs of
/// it: allocating memory, sending and reading data, launching kernels in order, and timing them. No
/// code outside runtime/Device depends on the kind of a device.
#ifndef HEDDLE_RUNTIME_DEVICE_DEVICE_H
#define HEDDLE_RUNTIME_DEVICE_DEVICE_H

#include "heddle/Abi.h"
#include "heddle/Arithmetic.h"
#include "heddle/LaunchUse.h"
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

/// A half-open range of rows, columns or elements.
struct Range {
  int64_t begin;
  int64_t end;
};

enum class MemoryUse : uint8_t {
  /// For the computations of one run: all of it is touched.
  Work,
  /// For data that grows and must not move: initially zero; only touched pages cost memory.
  Cache,
};

/// Memory of a device, which must outlive it. Move-only.
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

  /// Ensures at least `needed` bytes of working memory, which is kept between calls: runs allocate
  /// nothing once the largest batch has been seen. Growing loses the contents.
  Status grow(Device &device, uint64_t needed);
  /// Returns the address for kernels, a multiple of 4096; null if nothing is allocated.
  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }

private:
  void clear();

  Device *owner = nullptr;
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

/// A kernel that a device has loaded, whose representation only the device knows. All dispatches of
/// a kernel have operands of the same kinds, given by the manifest: caches and states are a
/// HeddleCache, other results a HeddleResult, the rest elements. A device that does not share the
/// host's memory copies these descriptors; elements are in its memory already.
class DeviceKernel {
protected:
  DeviceKernel() = default;
  ~DeviceKernel() = default;
};

/// The validated file of a model, and the target to load.
struct ProgramFile {
  const std::string &path;
  /// The file, open: a path may be another file's by now.
  int descriptor;
  const ElfFile &elf;
  const manifest::Manifest &model;
  uint32_t target;
  std::span<const std::byte> weights;
  /// The section of device images (formats/Binary/ImageCheck.h); empty if there is none.
  std::span<const std::byte> images;
};

/// The kernels of a program beside those of its model: see heddle/HypothesisOrder.h and
/// heddle/Selection.h. Their operands are all elements.
enum class OwnKernel : uint8_t { OrderHypotheses, CopyBlocks, ExcludeTokens, Count };

/// A model on a device, shared by its sessions. The file must outlive it.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Returns a kernel by its number in the manifest.
  virtual const DeviceKernel &kernel(uint32_t number) const = 0;
  /// Returns such a kernel; null if the program has none.
  virtual const DeviceKernel *ownKernel(OwnKernel kernel) const = 0;
  /// Returns the address, for kernels, of a stored parameter by its number in the manifest; the
  /// target must read that parameter.
  virtual const std::byte *parameter(uint32_t number) const = 0;
};

/// A dispatch, or a part of it.
struct Launch {
  const DeviceKernel *kernel;
  /// A kernel that runs over the same rows after all columns are done; null: none.
  const DeviceKernel *finish;
  const HeddleKernelContext *context;
  Range rows;
  Range columns;
  /// Rows are divided at multiples of this number.
  int64_t rowTile;
  /// The bytes of scratch memory that one caller of its kernels needs; the context has
  /// scratchBytes() bytes.
  uint64_t scratch;
};

/// The start and end of a launch, in seconds of its stream's clock.
struct LaunchTime {
  double begin = 0;
  double end = 0;
};

/// Rows of bytes to copy within the memory of a device, with a stride of `pitch` bytes on both
/// sides, or of `fromPitch` bytes where they are read.
struct CopiedRows {
  std::byte *to;
  const std::byte *from;
  uint64_t rows;
  uint64_t rowBytes;
  uint64_t pitch;
  /// 0: as `pitch`.
  uint64_t fromPitch = 0;

  uint64_t readPitch() const { return fromPitch == 0 ? pitch : fromPitch; }
};

/// Rows of bytes for the host to read, with a stride of `pitch` bytes.
struct FetchedRows {
  const std::byte *first;
  uint64_t pitch;
};

/// The number of a run of a stream.
enum class StartedRun : uint64_t {};

/// A session's lanes on a device. Each lane executes its commands in order and independently of the
/// others. A lane is a thread on a CPU, and a queue on a device with queues. Not thread-safe.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;

  /// Calls task(lane) for the first `count` lanes concurrently. Returns when all calls have
  /// returned and the device has completed their commands; fails if the device has failed, and then
  /// on every later call. The task must not throw.
  template <typename Task> Status run(int count, Task &task) {
    HEDDLE_ASSIGN(const StartedRun started, start(count, task));
    return finish(started);
  }
  /// As run(), but returns when all calls have returned: the device may still execute their
  /// commands. A third run that starts waits for the first one. Timed launches require that a run
  /// is finished before the next starts.
  template <typename Task> Result<StartedRun> start(int count, Task &task) {
    return startErased(
        count, [](void *argument, int lane) { (*static_cast<Task *>(argument))(lane); }, &task);
  }
  /// Waits until the device has executed one of the last two runs that were started; does not wait
  /// for later commands. Succeeds for a run that was executed before the device failed.
  virtual Status finish(StartedRun run) = 0;

  // --- Properties for schedules: the number of lanes, the number of tokens in a chunk that suits
  // one lane, and the number of operations in the time of a barrier.
  virtual int lanes() const = 0;
  virtual int64_t chunkTokens() const = 0;
  virtual double meetingFlops() const = 0;

  /// Returns the bytes of scratch memory that the callers of a lane use together if each needs
  /// `ofCaller` bytes, a multiple of HEDDLE_ALIGNMENT.
  virtual uint64_t scratchBytes(uint64_t ofCaller) const = 0;

  /// Returns the failure of the device, which is permanent: later commands have no effect.
  virtual Status failure() const = 0;

  // --- Commands of a task, each on its own lane. Between runs, lane 0 may be used too; the other
  // lanes see the effects from the next run on.

  /// Returns memory for the host to write data for `to`; send() transfers it. Null if the device
  /// has failed, and never null on a device that shares the host's memory.
  virtual std::byte *stage(int lane, std::byte *to, uint64_t bytes) = 0;
  virtual void send(int lane) = 0;
  /// Returns rows of bytes at `from`, with a stride of `pitch` bytes, after all previous commands
  /// of the lane are done. They are valid until the lane's next command; null if the device has
  /// failed.
  virtual FetchedRows fetchRows(int lane, const std::byte *from, uint64_t rows, uint64_t rowBytes,
                                uint64_t pitch) = 0;
  const std::byte *fetch(int lane, const std::byte *from, uint64_t bytes) {
    return fetchRows(lane, from, 1, bytes, bytes).first;
  }
  /// As fetchRows(), but does not wait: the rows can be read from when finish() of the current run
  /// returns until the next but one run starts. Once in a run, on lane 0.
  virtual FetchedRows fetchLater(const std::byte *from, uint64_t rows, uint64_t rowBytes,
                                 uint64_t pitch) = 0;
  /// Waits until all previous commands of the lane are done.
  virtual void await(int lane) = 0;
  /// Launches a kernel. `time`, unless null, is set when run() returns. Launches may be divided in
  /// any way.
  virtual void launch(int lane, const Launch &launch, LaunchTime *time) = 0;
  /// Launches a kernel on all lanes of a run, which share the work and complete it before the next
  /// launch. Each lane passes its own context, which must be the same except for scratch memory.
  virtual void launchTogether(int lane, const Launch &launch, LaunchTime *time) = 0;
  /// A barrier: all launches of all lanes before it are complete before any lane continues. Every
  /// lane of the run must call it.
  virtual void meet(int lane) = 0;

  // --- Between runs, or by the only lane of a run

  /// As DeviceMemory::grow(), for memory that commands of this stream may still use: if it must
  /// grow, waits for them.
  virtual Status grow(DeviceMemory &memory, uint64_t needed) = 0;
  /// Copies in order, after all commands before and before those after it.
  virtual void copy(std::span<const CopiedRows> list) = 0;
  /// Returns the current time of the clock of launches, in seconds.
  virtual double now() const = 0;
  /// Returns what the stream has passed to its driver so far.
  virtual LaunchUse launchUse() const = 0;

protected:
  using ErasedTask = void (*)(void *argument, int lane);
  virtual Result<StartedRun> startErased(int count, ErasedTask task, void *argument) = 0;
};

/// A device. May be used by any number of threads, one at a time. Programs, memory and streams must
/// not outlive it.
class Device {
public:
  virtual ~Device() = default;

  /// Returns the name in messages, for example "this CPU".
  virtual std::string_view name() const = 0;
  /// Returns the name that openDevices() accepts: "cpu", "cuda:0".
  virtual std::string_view id() const = 0;
  /// Returns the targets whose code it runs, best first.
  virtual std::vector<std::string> targets() const = 0;
  /// Returns whether kernels access the host's memory at the host's addresses.
  virtual bool sharesHostMemory() const = 0;
  /// Returns whether f32 products are computed as their dispatch's FloatProducts says.
  virtual bool hasMatrixUnits() const = 0;

  /// Loads a model. Error messages do not name the file.
  virtual Result<std::unique_ptr<DeviceProgram>> load(const ProgramFile &file) = 0;
  /// Allocates memory; ResourceExhausted, naming `what` it was for, if there is not enough.
  virtual Result<DeviceMemory> allocate(uint64_t bytes, MemoryUse use, std::string_view what) = 0;
  virtual Result<std::unique_ptr<DeviceStream>> createStream(int lanes) = 0;

  // --- Limits of the device that kernels are compared with. A measurement takes some tenths of a
  // second. A GPU takes the kernels that measure it from a model that is loaded: Unsupported if
  // there is none that has them.

  /// Multiply-adds in registers, as many as it can have under way, by the instructions of one of
  /// its targets: 10^9 operations a second (a multiply-add is two) of so many lanes together.
  virtual Result<double> measurePeak(int lanes, Arithmetic arithmetic, std::string_view target) = 0;
  /// Reading so many bytes again and again: 10^9 bytes a second of so many lanes together. What a
  /// cache holds is read at the rate of the cache.
  virtual Result<double> measureReading(int lanes, uint64_t bytes) = 0;
  /// The vector instructions that measurePeak() uses for a target.
  virtual std::string_view vectors(std::string_view target) const = 0;

private:
  friend class DeviceMemory;
  virtual void release(std::byte *start, uint64_t bytes) = 0;
};

/// More bytes than the caches of today's devices hold.
inline constexpr uint64_t beyondCaches = uint64_t(512) << 20;

/// Returns the CPU, which always exists.
std::shared_ptr<Device> hostDevice();

/// Returns the devices that a name stands for, in order of preference: "cpu" (or empty), "cuda"
/// (the first GPU), "cuda:N", or "auto", which stands for the first GPU, if one can be opened, and
/// then the CPU. Fails, naming what was looked for, if there is no such device. `missing`, unless
/// null, is set to the reason why "auto" does not stand for a GPU, and to nothing otherwise.
Result<std::vector<std::shared_ptr<Device>>> openDevices(std::string_view name,
                                                         std::string *missing = nullptr);

/// A device that may or may not be available.
struct DeviceInfo {
  /// As Device::id().
  std::string id;
  std::string description;
  std::vector<std::string> targets;
};

/// All devices of the machine; `missing` says which others were looked for, and where.
struct MachineDevices {
  std::vector<DeviceInfo> found;
  std::string missing;
};
MachineDevices findDevices();

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_DEVICE_H
