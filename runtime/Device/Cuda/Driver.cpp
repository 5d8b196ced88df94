// SPDX-License-Identifier: Apache-2.0
///
/// Loads the driver, and classifies its error codes.
#include "runtime/Device/Cuda/Driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

namespace heddle {

static constexpr const char *driverLibrary = "libcuda.so.1";
/// The first version that supports compute capability 9.0a and PTX 8.0.
static constexpr int oldestVersion = 12000;

bool isSticky(int code) {
  switch (code) {
  case cudaCode::eccUncorrectable:
  case cudaCode::illegalAddress:
  case cudaCode::launchTimeout:
  case cudaCode::contextIsDestroyed:
  case cudaCode::deviceAssert:
  case cudaCode::unknown:
    return true;
  default:
    // Stack errors, illegal instructions, misaligned addresses, invalid address spaces, invalid
    // program counters, and failures without a code of their own.
    return code >= cudaCode::hardwareStackError && code <= cudaCode::launchFailed;
  }
}

static StatusCode statusCodeOf(int code) {
  switch (code) {
  case cudaCode::outOfMemory:
    return StatusCode::ResourceExhausted;
  case cudaCode::noDevice:
  case cudaCode::notFound:
    return StatusCode::NotFound;
  case cudaCode::invalidImage:
  case cudaCode::invalidPtx:
    return StatusCode::DataLoss;
  case cudaCode::noBinaryForGpu:
  case cudaCode::jitCompilerNotFound:
  case cudaCode::unsupportedPtxVersion:
  case cudaCode::jitCompilationDisabled:
    return StatusCode::Unsupported;
  default:
    return StatusCode::Internal;
  }
}

Status Driver::failure(int code, const std::string &what) const {
  const char *name = nullptr;
  const char *text = nullptr;
  // An older driver has no names for codes that a newer one has added.
  const bool isKnown =
      cuGetErrorName.address(code, &name) == cudaCode::success && name != nullptr &&
      cuGetErrorString.address(code, &text) == cudaCode::success && text != nullptr;
  return {statusCodeOf(code),
          isKnown
              ? fmt::format("{} failed with {} ({}): {}", what, name, code, text)
              : fmt::format("{} failed with code {}, which the driver has no name for", what, code),
          __FILE_NAME__, __LINE__};
}

/// Looks up a function; adds its name to `missing` if it is not found.
template <typename... Parameters>
static void find(void *library, DriverFunction<Parameters...> &function, std::string &missing) {
  void *const address = ::dlsym(library, function.name);
  function.address = reinterpret_cast<int (*)(Parameters...)>(address);
  if (address == nullptr) {
    missing += (missing.empty() ? "" : ", ") + std::string(function.name);
  }
}

Result<Driver> Driver::load(const char *library) {
  void *const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char *const reason = ::dlerror();
    return HEDDLE_ERROR(NotFound, fmt::format("no NVIDIA driver: the dynamic loader does not load "
                                              "{}: {}",
                                              library, reason == nullptr ? "no reason" : reason));
  }
  Driver driver;
  std::string missing;
#define HEDDLE_CUDA(name, ...) find(handle, driver.name, missing);
#include "runtime/Device/Cuda/DriverFunctions.def"
  if (!missing.empty()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("the NVIDIA driver {} does not have {}, expected one for CUDA "
                                    "{}.{} or later",
                                    library, missing, oldestVersion / 1000,
                                    oldestVersion % 1000 / 10));
  }
  if (const int code = driver.cuDriverGetVersion.address(&driver.version)) {
    return driver.failure(code, driver.cuDriverGetVersion.name);
  }
  if (driver.version < oldestVersion) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("the NVIDIA driver {} is for CUDA {}.{}, expected {}.{} or "
                                    "later",
                                    library, driver.version / 1000, driver.version % 1000 / 10,
                                    oldestVersion / 1000, oldestVersion % 1000 / 10));
  }
  // If there is no GPU, this call reports it.
  if (const int code = driver.cuInit.address(0)) {
    return driver.failure(code, driver.cuInit.name);
  }
  return driver;
}

Result<const Driver *> Driver::ofMachine() {
  static const Result<Driver> driver = load(driverLibrary);
  if (!driver.ok()) {
    return driver.status();
  }
  return &*driver;
}

} // namespace heddle
