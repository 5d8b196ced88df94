// SPDX-License-Identifier: Apache-2.0
///
/// NVIDIA's driver, a library that is loaded when a GPU is first used: nothing of CUDA is needed to
/// build or link Heddle, or to run it on a CPU. The declarations are Heddle's own.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_DRIVER_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_DRIVER_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle {

// --- From the manual: the values and the one structure that the runtime uses.

/// CUresult: the codes that the runtime handles.
namespace cudaCode {
inline constexpr int success = 0;
inline constexpr int outOfMemory = 2;
inline constexpr int noDevice = 100;
inline constexpr int invalidImage = 200;
inline constexpr int noBinaryForGpu = 209;
inline constexpr int eccUncorrectable = 214;
inline constexpr int invalidPtx = 218;
inline constexpr int jitCompilerNotFound = 221;
inline constexpr int unsupportedPtxVersion = 222;
inline constexpr int jitCompilationDisabled = 223;
inline constexpr int notFound = 500;
inline constexpr int illegalAddress = 700;
inline constexpr int launchTimeout = 702;
inline constexpr int contextIsDestroyed = 709;
inline constexpr int deviceAssert = 710;
inline constexpr int hardwareStackError = 714;
inline constexpr int launchFailed = 719;
inline constexpr int unknown = 999;
} // namespace cudaCode

/// CUdevice_attribute.
namespace cudaAttribute {
inline constexpr int multiprocessors = 16;
inline constexpr int capabilityMajor = 75;
inline constexpr int capabilityMinor = 76;
inline constexpr int sharedOfBlock = 97;
} // namespace cudaAttribute

/// CUjit_option.
namespace cudaJit {
inline constexpr int errorLog = 5;
inline constexpr int errorLogBytes = 6;
} // namespace cudaJit

/// CUfunction_attribute: the maximum size of dynamic shared memory of a launch.
inline constexpr int cudaDynamicShared = 8;
/// CU_STREAM_NON_BLOCKING: the stream does not synchronise with the default stream.
inline constexpr unsigned cudaStreamNonBlocking = 1;
/// CU_EVENT_DISABLE_TIMING.
inline constexpr unsigned cudaEventWithoutTime = 2;
/// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: calls of other threads are not restricted during capture.
inline constexpr int cudaCaptureOfThread = 1;
/// CU_MEMORYTYPE_HOST and _DEVICE.
inline constexpr int cudaMemoryHost = 1;
inline constexpr int cudaMemoryDevice = 2;

/// CUDA_MEMCPY2D.
struct CudaCopy2D {
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
static_assert(sizeof(CudaCopy2D) == 128);

// --- Of the runtime

/// A function of the library, and its name for messages.
template <typename... Parameters> struct DriverFunction {
  const char *name;
  int (*address)(Parameters...);
};

/// The functions of the library.
struct Driver {
#define HEDDLE_CUDA(name, ...) DriverFunction<__VA_ARGS__> name = {#name, nullptr};
#include "runtime/Device/Cuda/DriverFunctions.def"

  /// The CUDA version that the driver supports: 1000 * major + 10 * minor.
  int version = 0;

  /// Returns the driver of this machine, which is loaded once. Errors: NotFound, with the names
  /// that were searched, if there is none; Unsupported if it is too old.
  static Result<const Driver *> ofMachine();

  /// Loads the functions of a library of that name, which stays loaded.
  static Result<Driver> load(const char *library);

  /// Returns the error for a failed call: `what` is the function and, if helpful, its purpose.
  Status failure(int code, const std::string &what) const;
};

/// Returns whether, after this failure, all later calls with the same context fail.
bool isSticky(int code);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_DRIVER_H
