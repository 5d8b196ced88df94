// SPDX-License-Identifier: Apache-2.0
///
/// The record of a launch that the entries of images read: a HeddleDeviceLaunch and all data that
/// it points to, in one piece of device memory.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H

#include "runtime/Device/Cuda/CudaDevice.h"

namespace heddle {

/// Returns the bytes of a record, a multiple of eight, of a launch that another one may follow.
uint64_t recordBytes(const CudaKernel &kernel, bool hasNext);

/// The offset of the parameter of the kernel that follows, to finish rows or to merge sections; the
/// kernel's own parameter comes first.
inline constexpr uint64_t nextOffset = sizeof(HeddleDeviceLaunch);

/// Writes to `host` a record that will be copied to the address `device`. `sections` are for
/// kernels that have some, `rounded` for those whose rows may be rounded before.
void writeRecord(const Launch &launch, const CudaKernel &kernel, const HeddleSections &sections,
                 const HeddleRoundedRows &rounded, std::byte *host, uint64_t device);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHRECORD_H
