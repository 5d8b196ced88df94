// SPDX-License-Identifier: Apache-2.0
///
/// The properties of the emulated driver and its GPUs, contexts, and the check for leaks at exit.
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Emulator.h"
#include "tests/Emulator/Memory.h"
#include "tests/Emulator/Modules.h"
#include "tests/Emulator/Streams.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace heddle::emulator {
namespace {
/// The number of references to the primary context of each GPU. A handle is the address of its
/// entry.
constexpr int mostGpus = 8;
int held[mostGpus];
/// The contexts of a thread, the current one last. It is never destroyed, because models in static
/// variables are destroyed after thread-local objects.
class ContextStack {
public:
  bool empty() const { return count == 0; }
  bool full() const { return count == mostContexts; }
  void *back() const { return contexts[count - 1]; }
  void push_back(void *context) { contexts[count++] = context; }
  void pop_back() { --count; }

private:
  // Large, because tests let every call of cuCtxPopCurrent fail.
  static constexpr int mostContexts = 4096;
  void *contexts[mostContexts] = {};
  int count = 0;
};
thread_local constinit ContextStack contexts;

int gpus() { return int(std::min<long>(setting("HEDDLE_EMULATOR_GPUS", 1), mostGpus)); }

std::string describeContexts() {
  const auto count = std::count_if(std::begin(held), std::end(held), [](int n) { return n != 0; });
  return count == 0 ? "" : std::to_string(count) + " contexts\n";
}

std::string describeLeaks() {
  return describeContexts() + describeModules() + describeStreams() + describeGraphs() +
         describeMemory();
}

} // namespace

int multiprocessors() { return int(setting("HEDDLE_EMULATOR_MULTIPROCESSORS", 2)); }

namespace {
/// Returns the value of a CUdevice_attribute that the runtime reads.
int valueOf(int attribute) {
  const auto capability = int(setting("HEDDLE_EMULATOR_CAPABILITY", 90));
  switch (attribute) {
  case 16:
    return multiprocessors();
  case 75:
    return capability / 10;
  case 76:
    return capability % 10;
  case 97:
    return sharedOfBlock;
  default:
    return -1;
  }
}

struct CodeText {
  int code;
  const char *name;
  const char *text;
};
constexpr CodeText codeTexts[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"}};

const CodeText *find(int code) {
  const auto *const found = std::find_if(std::begin(codeTexts), std::end(codeTexts),
                                         [&](const CodeText &each) { return each.code == code; });
  return found == std::end(codeTexts) ? nullptr : found;
}

/// Runs at process exit.
__attribute__((destructor)) void checkLeaks() {
  const std::string leaks = describeLeaks();
  if (!leaks.empty()) {
    std::fprintf(stderr, "emulated GPU: not given back:\n%s", leaks.c_str());
    std::fflush(nullptr);
    ::_exit(1);
  }
}
} // namespace

bool hasContext() { return !contexts.empty(); }

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED size_t heddle_emulator_leaks(char *text, size_t size) {
  const std::lock_guard guard(lock());
  const std::string leaks = describeLeaks();
  const size_t count = std::min(size, leaks.size());
  std::copy_n(leaks.data(), count, text);
  return count;
}

HEDDLE_EMULATED int cuInit(unsigned flags) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuInit", "", Needs::Nothing)) {
    return code;
  }
  if (flags != 0) {
    return complain("cuInit", "flags", InvalidValue);
  }
  if (gpus() == 0) {
    return NoDevice;
  }
  initialize();
  return Success;
}

HEDDLE_EMULATED int cuDriverGetVersion(int *version) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDriverGetVersion", "", Needs::Nothing)) {
    return code;
  }
  *version = int(setting("HEDDLE_EMULATOR_VERSION", 13000));
  return Success;
}

HEDDLE_EMULATED int cuGetErrorName(int code, const char **name) {
  const CodeText *const found = find(code);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? InvalidValue : Success;
}

HEDDLE_EMULATED int cuGetErrorString(int code, const char **text) {
  const CodeText *const found = find(code);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? InvalidValue : Success;
}

HEDDLE_EMULATED int cuDeviceGetCount(int *count) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDeviceGetCount", "", Needs::Init)) {
    return code;
  }
  *count = gpus();
  return Success;
}

HEDDLE_EMULATED int cuDeviceGet(int *device, int number) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDeviceGet", std::to_string(number), Needs::Init)) {
    return code;
  }
  *device = number;
  return number >= 0 && number < gpus() ? int(Success) : int(InvalidDevice);
}

HEDDLE_EMULATED int cuDeviceGetName(char *name, int size, int device) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDeviceGetName", std::to_string(device), Needs::Init)) {
    return code;
  }
  std::snprintf(name, size_t(size), "emulated");
  return Success;
}

HEDDLE_EMULATED int cuDeviceGetAttribute(int *value, int attribute, int device) {
  const std::lock_guard guard(lock());
  const std::string arguments = std::to_string(attribute) + ", " + std::to_string(device);
  if (const int code = enter("cuDeviceGetAttribute", arguments, Needs::Init)) {
    return code;
  }
  *value = valueOf(attribute);
  return *value < 0
             ? complain("cuDeviceGetAttribute", "an attribute that is not emulated", InvalidValue)
             : int(Success);
}

HEDDLE_EMULATED int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDeviceTotalMem_v2", std::to_string(device), Needs::Init)) {
    return code;
  }
  *bytes = size_t(setting("HEDDLE_EMULATOR_MEMORY", long(16) << 30));
  return Success;
}

HEDDLE_EMULATED int cuDevicePrimaryCtxRetain(void **context, int device) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuDevicePrimaryCtxRetain", std::to_string(device), Needs::Init)) {
    return code;
  }
  if (device < 0 || device >= gpus()) {
    return complain("cuDevicePrimaryCtxRetain", "no such GPU", InvalidDevice);
  }
  ++held[device];
  *context = &held[device];
  return Success;
}

HEDDLE_EMULATED int cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard guard(lock());
  const int code = enter("cuDevicePrimaryCtxRelease_v2", std::to_string(device), Needs::Init);
  if (device < 0 || device >= gpus() || held[device] == 0) {
    return complain("cuDevicePrimaryCtxRelease_v2", "nobody holds it", InvalidContext);
  }
  if (--held[device] == 0) {
    heal();
  }
  return code;
}

HEDDLE_EMULATED int cuCtxPushCurrent_v2(void *context) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuCtxPushCurrent_v2", "", Needs::Init)) {
    return code;
  }
  const auto *const known = static_cast<int *>(context);
  if (known < std::begin(held) || known >= std::end(held) || *known == 0 || contexts.full()) {
    return complain("cuCtxPushCurrent_v2", "no context, or too many", InvalidContext);
  }
  contexts.push_back(context);
  return Success;
}

HEDDLE_EMULATED int cuCtxPopCurrent_v2(void **context) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuCtxPopCurrent_v2", "", Needs::Init)) {
    return code;
  }
  if (contexts.empty()) {
    return complain("cuCtxPopCurrent_v2", "no context", InvalidContext);
  }
  *context = contexts.back();
  contexts.pop_back();
  return Success;
}
