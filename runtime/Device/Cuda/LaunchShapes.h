// SPDX-License-Identifier: Apache-2.0
///
/// How launches are divided among blocks, and what they keep in memory besides their operands.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHSHAPES_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHSHAPES_H

#include "runtime/Device/Cuda/CudaDevice.h"

#include <limits>

namespace heddle {

/// Returns the number of blocks of a launch over so many columns: at most those that run at the
/// same time, have work, and have scratch memory, of which there are `scratchBytes` for all
/// callers. A block whose threads cooperate is one caller, without scratch memory. There may be
/// more such blocks than pieces of work; surplus ones end at once.
unsigned blocksOf(const CudaKernel &kernel, const Launch &launch, int64_t columns,
                  uint64_t scratchBytes);

/// Memory that launches can do without. What has been refused is not asked for again: an attempt
/// waits for the launches that use the memory there is, and releases it.
struct SpareMemory {
  DeviceMemory memory;
  uint64_t refused = std::numeric_limits<uint64_t>::max();
};

/// The sections into which a launch divides the keys of its rows, and the bytes of their partial
/// results: of all, and of the rows before the first.
struct SectionMemory {
  int64_t count = 1;
  uint64_t bytes = 0;
  uint64_t before = 0;
};
/// Returns the sections of a launch whose rows could not otherwise occupy the GPU. It has the same
/// bits with one section.
SectionMemory sectionMemory(const CudaKernel &kernel, const Launch &launch);

/// Returns the bytes for the rounded rows of a launch that has enough of them; otherwise 0. It has
/// the same bits without.
uint64_t roundedMemory(const CudaKernel &kernel, const Launch &launch);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHSHAPES_H
