// SPDX-License-Identifier: Apache-2.0
///
/// The weights of a model on a GPU: those that its target reads, as it stores them.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <cstdint>
#include <vector>

namespace heddle {

class CudaWeights {
public:
  /// Where the context is the thread's.
  Status upload(const ProgramFile &file, CudaContext &context, Device &device);

  /// By its number in the manifest; null for one that the target does not read.
  const std::byte *parameter(uint32_t number) const { return places[number]; }

private:
  DeviceMemory memory;
  std::vector<const std::byte *> places;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H
