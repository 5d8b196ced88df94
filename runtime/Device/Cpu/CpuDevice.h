// SPDX-License-Identifier: Apache-2.0
///
/// The CPU as a device: its memory is the host's, a lane is a thread, and a kernel is a function of
/// the model's file, which the dynamic loader has loaded.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define HEDDLE_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/Device/Device.h"

namespace heddle {

std::shared_ptr<Device> cpuDevice();

/// A kernel of a loaded file.
struct CpuKernel final : DeviceKernel {
  explicit CpuKernel(HeddleKernel *function) : function(function) {}
  HeddleKernel *function;
};

/// Creates a stream of `lanes` threads, which share dispatches or take chunks on their own.
Result<std::unique_ptr<DeviceStream>> createCpuStream(int lanes, Device &device);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_CPUDEVICE_H
