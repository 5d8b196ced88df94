// SPDX-License-Identifier: Apache-2.0
///
/// A launch as the entries of images read it: a HeddleDeviceLaunch and all that it points to, in
/// one piece of the device's memory.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H

#include "runtime/Device/Cuda/CudaDevice.h"

namespace heddle {

/// The bytes that the record of a launch takes, a multiple of eight.
uint64_t recordBytes(const CudaKernel &kernel, bool hasFinish);

/// Where the parameter of the finish kernel begins in a record; that of the kernel is the first.
inline constexpr uint64_t finishOffset = sizeof(HeddleDeviceLaunch);

/// Writes at `host` the record that is to be at the address `device`.
void writeRecord(const Launch &launch, const CudaKernel &kernel, std::byte *host, uint64_t device);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
