// SPDX-License-Identifier: Apache-2.0
///
/// An NVIDIA GPU as a device: it has its own memory, one lane, which is a stream of the driver, and
/// kernels that are entries of images in the model's file.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace heddle {

class CudaRoofs;

/// Opens a GPU by number; all users share one context. Errors: NotFound, with the names that were
/// searched, if there is none; Unsupported if it is too old.
Result<std::shared_ptr<Device>> openCudaDevice(int number);

/// Describes all GPUs, without opening them.
Result<std::vector<DeviceInfo>> describeGpus();

/// How a kernel receives an operand of its dispatches.
enum class OperandKind : uint8_t { Elements, Result, Cache };

/// A kernel of a loaded model.
struct CudaKernel final : DeviceKernel {
  std::string name;
  /// The driver's handle.
  void *function = nullptr;
  /// Threads per block, and bytes of shared memory per block.
  unsigned threads = 0;
  unsigned shared = 0;
  /// Whether the threads of a block are one caller: only kernels whose threads cooperate use shared
  /// memory. Otherwise each thread is a caller.
  bool isTogether() const { return shared != 0; }
  /// The number of blocks that run on all multiprocessors at the same time.
  unsigned mostBlocks = 0;
  /// The keys of a section, if blocks can compute sections of the same row (HeddleSections), the
  /// bytes of a partial result, the rows and columns that a block computes at a time in launches of
  /// few rows, and the kernel that merges sections; otherwise 0 and null.
  int64_t sectionKeys = 0;
  uint64_t partialBytes = 0;
  int64_t pieceRows = 0;
  int64_t pieceColumns = 0;
  std::unique_ptr<CudaKernel> merge = nullptr;
  /// From how many rows on a launch rounds its rows before (HeddleRoundedRows), the bytes of a
  /// rounded row, and the kernel that rounds; otherwise 0, 0 and null.
  int64_t roundedFrom = 0;
  uint64_t roundedBytes = 0;
  std::unique_ptr<CudaKernel> round = nullptr;
  /// The operands of each of its dispatches.
  std::vector<OperandKind> operands;
  uint32_t spaces = 0;
};

/// Returns the bytes of scratch memory that a stream allocates for all callers of a kernel, each of
/// which needs `ofCaller` bytes. The result determines how many callers run at a time.
uint64_t scratchOfCallers(uint64_t ofCaller, const GpuFacts &gpu);

/// Loads a model; `roofs` can measure the GPU with its image from then on.
Result<std::unique_ptr<DeviceProgram>> loadCudaProgram(std::shared_ptr<CudaContext> context,
                                                       Device &device, CudaRoofs &roofs,
                                                       const ProgramFile &file);
Result<std::unique_ptr<DeviceStream>> createCudaStream(std::shared_ptr<CudaContext> context,
                                                       Device &device);

/// The driver represents GPU addresses as integers.
inline uint64_t addressOf(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
