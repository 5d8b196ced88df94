// SPDX-License-Identifier: Apache-2.0
///
/// A GPU of NVIDIA as a device: memory of its own, one lane, which is a stream of the driver, and
/// kernels that are entries of images in the model's file.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// The GPU of a number; all who have it share one context. NotFound, with what was looked for, when
/// there is none, Unsupported when it is too old.
Result<std::shared_ptr<Device>> openCudaDevice(int number);

/// All GPUs, without opening them.
Result<std::vector<DeviceInfo>> describeGpus();

/// How a kernel finds an operand of its dispatches.
enum class OperandKind : uint8_t { Elements, Result, Cache };

/// A kernel of a loaded model.
struct CudaKernel final : DeviceKernel {
  std::string name;
  /// The driver's handle.
  void *function = nullptr;
  /// The threads of a block, and its bytes of shared memory.
  unsigned threads = 0;
  unsigned shared = 0;
  /// Whether the threads of a block are one caller: they have memory in common only to work
  /// together. Otherwise each of them is a caller.
  bool isTogether() const { return shared != 0; }
  /// The blocks that all multiprocessors hold together at one time.
  unsigned mostBlocks = 0;
  /// What each of its dispatches has.
  std::vector<OperandKind> operands;
  uint32_t spaces = 0;
};

/// The bytes of scratch memory that a stream gives to callers together which need so many each, and
/// how many callers it has room for.
uint64_t scratchOfCallers(uint64_t ofCaller, const GpuFacts &gpu);

Result<std::unique_ptr<DeviceProgram>> loadCudaProgram(std::shared_ptr<CudaContext> context,
                                                       Device &device, const ProgramFile &file);
Result<std::unique_ptr<DeviceStream>> createCudaStream(std::shared_ptr<CudaContext> context,
                                                       Device &device);

/// Addresses of the GPU are numbers to the driver.
inline uint64_t addressOf(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
