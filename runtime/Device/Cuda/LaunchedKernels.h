// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that a stream has launched, for messages: a kernel runs after its launch, so its failure
/// is returned by a later call, which can only name the candidates.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHEDKERNELS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHEDKERNELS_H

#include <cstddef>
#include <span>
#include <string>

namespace heddle {

struct CudaKernel;
struct GraphLaunch;

/// The number of launches, and the kernels of the first and the last one.
struct LaunchedKernels {
  size_t count = 0;
  const CudaKernel *first = nullptr;
  const CudaKernel *last = nullptr;

  /// Returns the kernels that a sequence launches.
  static LaunchedKernels of(std::span<const GraphLaunch> sequence);
  void add(const LaunchedKernels &later);
  /// Returns for example `3 launches, "gather" the first, "mean" the last`; empty if there are
  /// none.
  std::string text() const;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHEDKERNELS_H
