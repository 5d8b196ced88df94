// SPDX-License-Identifier: Apache-2.0
///
/// The record of a launch that the entries of images read: a HeddleDeviceLaunch and all data that
/// it points to, in one piece of device memory.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H

#include "runtime/Device/Cuda/CudaDevice.h"

namespace heddle {

/// Returns the bytes of a launch's record, a multiple of eight.
uint64_t recordBytes(const CudaKernel &kernel, bool hasFinish);

/// The offset of the finish kernel's parameter in a record; the kernel's own parameter comes first.
inline constexpr uint64_t finishOffset = sizeof(HeddleDeviceLaunch);

/// Writes to `host` a record that will be copied to the address `device`.
void writeRecord(const Launch &launch, const CudaKernel &kernel, std::byte *host, uint64_t device);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
