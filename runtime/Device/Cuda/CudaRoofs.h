// SPDX-License-Identifier: Apache-2.0
///
/// What a GPU can do at best, measured with kernels of loaded models' images
/// (heddle/RoofKernels.def): the runtime has no compiler, so each image brings those of its target.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_CUDAROOFS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_CUDAROOFS_H

#include "heddle/Arithmetic.h"
#include "heddle/RoofKernels.h"
#include "runtime/Device/Cuda/CudaModule.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace heddle {

/// Measures each limit once, and keeps it. Any thread may call it; they measure one after another,
/// since they would disturb each other.
class CudaRoofs {
public:
  CudaRoofs(std::shared_ptr<CudaContext> context, Device &device)
      : context(std::move(context)), device(device) {}

  /// Adds the image of a model for a target, for as long as it is loaded.
  void add(std::string_view target, const std::shared_ptr<const CudaModule> &module);

  /// As Device::measurePeak() and Device::measureReading().
  Result<double> peak(Arithmetic arithmetic, std::string_view target);
  Result<double> reading(uint64_t bytes);

private:
  struct Loaded {
    std::string target;
    std::weak_ptr<const CudaModule> module;
  };
  /// A kernel, and the module that has it.
  struct Found {
    std::shared_ptr<const CudaModule> module;
    CudaKernel kernel;
    Roof roof = {};
  };
  /// A kernel, the target whose code it is, and the bytes that it reads.
  using Key = std::tuple<Roof, std::string, uint64_t>;

  Result<double> known(const std::vector<Roof> &roofs, std::string_view target, uint64_t bytes);
  Result<Found> find(const std::vector<Roof> &roofs, std::string_view target) const;
  Result<double> measure(const Found &found, uint64_t bytes);

  const std::shared_ptr<CudaContext> context;
  Device &device;
  std::mutex mutex;
  std::vector<Loaded> modules;
  std::map<Key, double> rates;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_CUDAROOFS_H
