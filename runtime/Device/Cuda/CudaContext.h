// SPDX-License-Identifier: Apache-2.0
///
/// An open GPU: its context, which the whole process shares, and whether it still works. All driver
/// calls go through this class, so each failure is noticed and named.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/Device/Cuda/Driver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heddle {

/// The properties of a GPU that the driver reports without a context.
struct GpuFacts {
  int number = 0;
  /// The driver's handle.
  int handle = 0;
  std::string name;
  /// The compute capability, 10 * major + minor.
  int capability = 0;
  int multiprocessors = 0;
  /// Bytes of shared memory that a block may use.
  int sharedOfBlock = 0;
  uint64_t memory = 0;

  /// Returns for example "GPU 0 (NVIDIA H200)".
  std::string text() const;
};

/// Return the number of GPUs, and the properties of one.
Result<int> countGpus(const Driver &driver);
Result<GpuFacts> factsOf(const Driver &driver, int number);

/// The kernels that a stream has launched and not waited for. If one of them fails, whichever call
/// comes next returns its error.
class LaunchesUnderWay {
public:
  /// Returns for example `3 launches, "gather" the first, "mean" the last`; empty if there are
  /// none.
  virtual std::string text() const = 0;

protected:
  LaunchesUnderWay() = default;
  ~LaunchesUnderWay() = default;
};

/// The primary context of a GPU. Any number of threads may use it concurrently. The first failure
/// that makes the context unusable is kept: every later call fails with it, without calling the
/// driver.
class CudaContext {
public:
  static Result<std::shared_ptr<CudaContext>> open(const Driver &driver, GpuFacts facts);
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext();

  const Driver &driver() const { return functions; }
  const GpuFacts &facts() const { return gpu; }

  /// Makes the context current in the calling thread for its lifetime, and then restores the
  /// previous one, so other users of CUDA in the thread are not affected. If a call of the thread
  /// fails meanwhile, its message names the kernels that may have failed: those of `launches`, or
  /// of the enclosing Current if that is null.
  class Current {
  public:
    explicit Current(CudaContext &context, const LaunchesUnderWay *launches = nullptr);
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    ~Current();

  private:
    CudaContext &context;
    const LaunchesUnderWay *const outer;
    bool isPushed = false;
  };

  /// Returns the failure that made the context unusable.
  Status failure() const;

  /// Calls a function; the context must be current. Messages contain `of`, the purpose of the call:
  /// a text, or a function that returns one, which is called after failures only. They name the
  /// launches under way if there is no purpose, or if the context has become unusable.
  template <typename Purpose, typename... Parameters, typename... Arguments>
  Status callFor(const Purpose &of, const DriverFunction<Parameters...> &function,
                 Arguments... arguments) {
    if (isUseless.load(std::memory_order_acquire)) {
      return failure();
    }
    const int code = function.address(arguments...);
    if (code == cudaCode::success) {
      return {};
    }
    if constexpr (std::is_invocable_v<const Purpose &>) {
      return failed(code, function.name, of());
    } else {
      return failed(code, function.name, of);
    }
  }
  template <typename... Parameters, typename... Arguments>
  Status call(const DriverFunction<Parameters...> &function, Arguments... arguments) {
    return callFor(std::string_view(), function, arguments...);
  }
  /// Releases something. This is attempted in an unusable context too, and failures are ignored.
  template <typename... Parameters, typename... Arguments>
  void giveBack(const DriverFunction<Parameters...> &function, Arguments... arguments) {
    const Current current(*this);
    function.address(arguments...);
  }

private:
  CudaContext(const Driver &driver, GpuFacts facts) : functions(driver), gpu(std::move(facts)) {}
  Status describe(int code, const char *function, std::string_view of) const;
  Status failed(int code, const char *function, std::string_view of);
  void keep(const Status &status);

  const Driver &functions;
  const GpuFacts gpu;
  void *handle = nullptr;
  std::atomic<bool> isUseless = false;
  mutable std::mutex mutex;
  Status first;
};

/// Page-locked memory of the host, which the GPU reads and writes directly. The context must
/// outlive it.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept
      : owner(other.owner), start(std::exchange(other.start, nullptr)),
        bytes(std::exchange(other.bytes, 0)) {}
  PinnedMemory &operator=(PinnedMemory &&) = delete;
  ~PinnedMemory() { clear(); }

  /// Grows to at least `needed` bytes; growing loses the contents.
  Status grow(CudaContext &context, uint64_t needed);
  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }

private:
  void clear();

  CudaContext *owner = nullptr;
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
