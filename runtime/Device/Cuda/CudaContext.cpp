// SPDX-License-Identifier: Apache-2.0
///
/// Opens GPUs, calls the driver, and allocates pinned memory.
#include "runtime/Device/Cuda/CudaContext.h"

#include <fmt/format.h>

namespace heddle {

/// The granularity of pinned allocations.
static constexpr uint64_t pinnedUnit = uint64_t(64) << 10;

std::string GpuFacts::text() const { return fmt::format("GPU {} ({})", number, name); }

/// The launches of the stream for which this thread makes calls; null if there is none.
static thread_local const LaunchesUnderWay *launchesOfThread = nullptr;

/// Calls a function that needs no context.
template <typename... Parameters, typename... Arguments>
static Status ask(const Driver &driver, const DriverFunction<Parameters...> &function,
                  Arguments... arguments) {
  const int code = function.address(arguments...);
  return code == cudaCode::success ? Status() : driver.failure(code, function.name);
}

Result<int> countGpus(const Driver &driver) {
  int count = 0;
  HEDDLE_TRY(ask(driver, driver.cuDeviceGetCount, &count));
  return count;
}

Result<GpuFacts> factsOf(const Driver &driver, int number) {
  HEDDLE_ASSIGN(const int count, countGpus(driver));
  if (number >= count) {
    return HEDDLE_ERROR(NotFound, fmt::format("no GPU {}: the NVIDIA driver has {}, counted from 0",
                                              number, count));
  }
  GpuFacts facts;
  facts.number = number;
  HEDDLE_TRY(ask(driver, driver.cuDeviceGet, &facts.handle, number));
  char name[256] = {};
  HEDDLE_TRY(ask(driver, driver.cuDeviceGetName, name, int(sizeof name), facts.handle));
  facts.name = name;
  int major = 0, minor = 0;
  const std::pair<int *, int> wanted[] = {{&major, cudaAttribute::capabilityMajor},
                                          {&minor, cudaAttribute::capabilityMinor},
                                          {&facts.multiprocessors, cudaAttribute::multiprocessors},
                                          {&facts.sharedOfBlock, cudaAttribute::sharedOfBlock}};
  for (const auto &[value, attribute] : wanted) {
    HEDDLE_TRY(ask(driver, driver.cuDeviceGetAttribute, value, attribute, facts.handle));
  }
  facts.capability = 10 * major + minor;
  size_t memory = 0;
  HEDDLE_TRY(ask(driver, driver.cuDeviceTotalMem_v2, &memory, facts.handle));
  facts.memory = memory;
  return facts;
}

Result<std::shared_ptr<CudaContext>> CudaContext::open(const Driver &driver, GpuFacts facts) {
  std::shared_ptr<CudaContext> context(new CudaContext(driver, std::move(facts)));
  const int code = driver.cuDevicePrimaryCtxRetain.address(&context->handle, context->gpu.handle);
  if (code != cudaCode::success) {
    context->handle = nullptr;
    return driver.failure(code, driver.cuDevicePrimaryCtxRetain.name);
  }
  return context;
}

CudaContext::~CudaContext() {
  if (handle != nullptr) {
    functions.cuDevicePrimaryCtxRelease_v2.address(gpu.handle);
  }
}

CudaContext::Current::Current(CudaContext &context, const LaunchesUnderWay *launches)
    : context(context), outer(launchesOfThread) {
  launchesOfThread = launches == nullptr ? outer : launches;
  const DriverFunction<void *> &push = context.functions.cuCtxPushCurrent_v2;
  const int code = push.address(context.handle);
  isPushed = code == cudaCode::success;
  if (!isPushed) {
    // Later calls would use some other context.
    context.keep(context.describe(code, push.name, {}));
  }
}

CudaContext::Current::~Current() {
  if (isPushed) {
    void *popped = nullptr;
    const DriverFunction<void **> &pop = context.functions.cuCtxPopCurrent_v2;
    if (const int code = pop.address(&popped)) {
      context.keep(context.describe(code, pop.name, {}));
    }
  }
  launchesOfThread = outer;
}

Status CudaContext::failure() const {
  const std::lock_guard lock(mutex);
  return first;
}

void CudaContext::keep(const Status &status) {
  const std::lock_guard lock(mutex);
  if (first.ok()) {
    first = status.annotate(gpu.text());
    isUseless.store(true, std::memory_order_release);
  }
}

/// Returns the error for a failed call.
Status CudaContext::describe(int code, const char *function, std::string_view of) const {
  std::string what = of.empty() ? std::string(function) : fmt::format("{} of {}", function, of);
  if (launchesOfThread != nullptr && (of.empty() || isSticky(code))) {
    const std::string launches = launchesOfThread->text();
    what += launches.empty() ? launches : fmt::format(", after {},", launches);
  }
  return functions.failure(code, what);
}

Status CudaContext::failed(int code, const char *function, std::string_view of) {
  const Status status = describe(code, function, of);
  if (!isSticky(code)) {
    return status.annotate(gpu.text());
  }
  keep(status);
  // If several calls fail at the same time, all report the first failure.
  return failure();
}

Status PinnedMemory::grow(CudaContext &context, uint64_t needed) {
  if (needed <= bytes) {
    return {};
  }
  clear();
  const uint64_t rounded = (needed + pinnedUnit - 1) / pinnedUnit * pinnedUnit;
  void *memory = nullptr;
  const CudaContext::Current current(context);
  HEDDLE_TRY(context.callFor(fmt::format("{} bytes", rounded), context.driver().cuMemHostAlloc,
                             &memory, rounded, 0U));
  owner = &context;
  start = static_cast<std::byte *>(memory);
  bytes = rounded;
  return {};
}

void PinnedMemory::clear() {
  if (start != nullptr) {
    owner->giveBack(owner->driver().cuMemFreeHost, static_cast<void *>(start));
    start = nullptr;
    bytes = 0;
  }
}

} // namespace heddle
