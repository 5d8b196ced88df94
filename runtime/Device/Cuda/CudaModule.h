// SPDX-License-Identifier: Apache-2.0
///
/// An image that the driver has loaded.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_CUDAMODULE_H

#include "runtime/Device/Cuda/CudaDevice.h"

#include <memory>
#include <string>

namespace heddle {

class CudaModule {
public:
  /// Loads an image. Errors contain what the driver's compiler says. The context must be current.
  static Result<std::shared_ptr<const CudaModule>> load(std::shared_ptr<CudaContext> context,
                                                        const std::byte *image);
  CudaModule(const CudaModule &) = delete;
  CudaModule &operator=(const CudaModule &) = delete;
  ~CudaModule();

  /// Finds the entry of a kernel, which has its name and the shape of its blocks, and sets the rest
  /// that launches need. NotFound if the image has no such entry. The context must be current.
  Status find(const char *entry, CudaKernel &kernel) const;

private:
  explicit CudaModule(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}

  const std::shared_ptr<CudaContext> context;
  void *handle = nullptr;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
