// SPDX-License-Identifier: Apache-2.0
///
/// Selects the targets that a GPU can run, and allocates its memory.
#include "runtime/Device/Cuda/CudaDevice.h"

#include "base/NvidiaTargets.h"
#include "runtime/Device/Cuda/CudaRoofs.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <ranges>

namespace heddle {

/// The lowest compute capability of any target.
static constexpr int leastCapability = nvidiaTargets[0].capability;

/// Returns the targets that a GPU can run, best first.
static std::vector<std::string> targetsOf(const GpuFacts &gpu) {
  std::vector<std::string> targets;
  for (const NvidiaTarget &target : std::views::reverse(nvidiaTargets)) {
    if (target.runsOn(gpu.capability)) {
      targets.emplace_back(target.name);
    }
  }
  return targets;
}

namespace {
class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context(std::move(context)), ownName(this->context->facts().text()),
        ownId(fmt::format("cuda:{}", this->context->facts().number)), roofs(this->context, *this) {}

  std::string_view name() const override { return ownName; }
  std::string_view id() const override { return ownId; }
  std::vector<std::string> targets() const override { return targetsOf(context->facts()); }
  bool sharesHostMemory() const override { return false; }
  bool hasMatrixUnits() const override { return true; }

  Result<std::unique_ptr<DeviceProgram>> load(const ProgramFile &file) override {
    return loadCudaProgram(context, *this, roofs, file);
  }
  Result<DeviceMemory> allocate(uint64_t bytes, MemoryUse use, std::string_view what) override;
  Result<std::unique_ptr<DeviceStream>> createStream(int) override {
    return createCudaStream(context, *this);
  }

  Result<double> measurePeak(int, Arithmetic arithmetic, std::string_view target) override {
    return roofs.peak(arithmetic, target);
  }
  Result<double> measureReading(int, uint64_t bytes) override { return roofs.reading(bytes); }
  std::string_view vectors(std::string_view) const override { return ownName; }

private:
  void release(std::byte *start, uint64_t) override {
    context->giveBack(context->driver().cuMemFree_v2, addressOf(start));
  }

  const std::shared_ptr<CudaContext> context;
  const std::string ownName;
  const std::string ownId;
  CudaRoofs roofs;
};
} // namespace

Result<DeviceMemory> CudaDevice::allocate(uint64_t bytes, MemoryUse use, std::string_view what) {
  if (bytes == 0) {
    return DeviceMemory();
  }
  const Driver &driver = context->driver();
  const CudaContext::Current current(*context);
  uint64_t address = 0;
  const std::string wanted = fmt::format("{} bytes for {}", bytes, what);
  HEDDLE_TRY(context->callFor(wanted, driver.cuMemAlloc_v2, &address, bytes));
  DeviceMemory memory(*this, reinterpret_cast<std::byte *>(address), bytes);
  if (use == MemoryUse::Cache) {
    HEDDLE_TRY(context->callFor(wanted, driver.cuMemsetD8_v2, address, uint8_t(0), bytes));
    // The memset runs on the default stream, for which the streams of sessions do not wait.
    HEDDLE_TRY(context->callFor(wanted, driver.cuStreamSynchronize, static_cast<void *>(nullptr)));
  }
  return memory;
}

/// Opens a GPU, or returns the open device. It is closed with its last user, so a broken context
/// does not outlive its users.
static Result<std::shared_ptr<Device>> openOnce(const Driver &driver, const GpuFacts &gpu) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<Device>> opened;
  const std::lock_guard lock(mutex);
  opened.resize(std::max(opened.size(), static_cast<size_t>(gpu.number) + 1));
  std::weak_ptr<Device> &known = opened[static_cast<size_t>(gpu.number)];
  if (std::shared_ptr<Device> device = known.lock()) {
    return device;
  }
  HEDDLE_ASSIGN(std::shared_ptr<CudaContext> context, CudaContext::open(driver, gpu));
  std::shared_ptr<Device> device = std::make_shared<CudaDevice>(std::move(context));
  known = device;
  return device;
}

Result<std::shared_ptr<Device>> openCudaDevice(int number) {
  HEDDLE_ASSIGN(const Driver *const driver, Driver::ofMachine());
  HEDDLE_ASSIGN(const GpuFacts gpu, factsOf(*driver, number));
  if (gpu.capability < leastCapability) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{} has compute capability {}.{}, expected at least {}.{}",
                                    gpu.text(), gpu.capability / 10, gpu.capability % 10,
                                    leastCapability / 10, leastCapability % 10));
  }
  return openOnce(*driver, gpu);
}

Result<std::vector<DeviceInfo>> describeGpus() {
  HEDDLE_ASSIGN(const Driver *const driver, Driver::ofMachine());
  HEDDLE_ASSIGN(const int count, countGpus(*driver));
  std::vector<DeviceInfo> list;
  for (int number = 0; number < count; ++number) {
    HEDDLE_ASSIGN(const GpuFacts gpu, factsOf(*driver, number));
    list.push_back(
        {fmt::format("cuda:{}", number),
         fmt::format("{}, compute capability {}.{}, {} multiprocessors, {} bytes", gpu.name,
                     gpu.capability / 10, gpu.capability % 10, gpu.multiprocessors, gpu.memory),
         targetsOf(gpu)});
  }
  return list;
}

} // namespace heddle
