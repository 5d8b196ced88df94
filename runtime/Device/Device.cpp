// SPDX-License-Identifier: Apache-2.0
///
/// Finds devices by name; the only code that knows their kinds.
#include "runtime/Device/Device.h"

#include "base/Utf8.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cuda/CudaDevice.h"

#include <charconv>
#include <fmt/format.h>

namespace heddle {

void DeviceMemory::clear() {
  if (start != nullptr) {
    owner->release(std::exchange(start, nullptr), std::exchange(bytes, 0));
  }
}

Status DeviceMemory::grow(Device &device, uint64_t needed) {
  if (needed <= bytes) {
    return {};
  }
  // Frees the old memory first: its contents are not needed, and both might not fit.
  clear();
  HEDDLE_ASSIGN(*this, device.allocate(needed, MemoryUse::Work, "the batch"));
  return {};
}

std::shared_ptr<Device> hostDevice() { return cpuDevice(); }

static constexpr std::string_view cudaPrefix = "cuda:";
/// More GPUs than a machine has; a larger number is a mistake.
static constexpr int mostGpus = 999;

/// Returns the number of a GPU; -1 if the text is no valid number.
static int gpuNumber(std::string_view digits) {
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool isNumber = error == std::errc() && end == digits.data() + digits.size();
  return isNumber && number >= 0 && number <= mostGpus ? number : -1;
}

Result<std::vector<std::shared_ptr<Device>>> openDevices(std::string_view name,
                                                         std::string *missing) {
  std::vector<std::shared_ptr<Device>> devices;
  if (missing != nullptr) {
    missing->clear();
  }
  if (name.empty() || name == "cpu") {
    devices.push_back(hostDevice());
    return devices;
  }
  const bool isAutomatic = name == "auto";
  const int number = isAutomatic || name == "cuda"  ? 0
                     : name.starts_with(cudaPrefix) ? gpuNumber(name.substr(cudaPrefix.size()))
                                                    : -1;
  if (number < 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("device {}, expected cpu, cuda, cuda:N or auto", quote(name)));
  }
  Result<std::shared_ptr<Device>> gpu = openCudaDevice(number);
  if (gpu.ok()) {
    devices.push_back(*std::move(gpu));
  } else if (!isAutomatic) {
    return gpu.status().annotate(fmt::format("device {}", quote(name)));
  } else if (missing != nullptr) {
    *missing = gpu.status().message();
  }
  if (isAutomatic) {
    devices.push_back(hostDevice());
  }
  return devices;
}

MachineDevices findDevices() {
  const std::shared_ptr<Device> host = hostDevice();
  MachineDevices devices;
  devices.found.push_back({std::string(host->id()), std::string(host->name()), host->targets()});
  Result<std::vector<DeviceInfo>> gpus = describeGpus();
  if (gpus.ok()) {
    devices.found.insert(devices.found.end(), gpus->begin(), gpus->end());
  } else {
    devices.missing = gpus.status().message();
  }
  return devices;
}

} // namespace heddle
