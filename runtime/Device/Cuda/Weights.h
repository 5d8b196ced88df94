// SPDX-License-Identifier: Apache-2.0
///
/// The weights of a model on a GPU: those that its target reads, in their stored format.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <cstdint>
#include <vector>

namespace heddle {

class CudaWeights {
public:
  /// Uploads the weights; the context must be current.
  Status upload(const ProgramFile &file, CudaContext &context, Device &device);

  /// Returns the address of a parameter of the manifest; null if the target does not read it.
  const std::byte *parameter(uint32_t number) const { return places[number]; }

private:
  DeviceMemory memory;
  std::vector<const std::byte *> places;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_WEIGHTS_H
