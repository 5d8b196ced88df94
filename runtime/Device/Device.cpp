// SPDX-License-Identifier: Apache-2.0
///
/// The place that knows which devices there are.
#include "runtime/Device/Device.h"

#include "runtime/Device/Cpu/CpuDevice.h"

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
  // The old memory goes first: its contents are not needed, and both might not fit.
  clear();
  HEDDLE_ASSIGN(*this, device.allocate(needed, MemoryUse::Work, "the batch"));
  return {};
}

std::shared_ptr<Device> openDevice() { return cpuDevice(); }

} // namespace heddle
