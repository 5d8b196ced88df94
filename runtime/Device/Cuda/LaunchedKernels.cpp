// SPDX-License-Identifier: Apache-2.0
///
/// Adds up launches and names the first and the last kernel.
#include "runtime/Device/Cuda/LaunchedKernels.h"

#include "base/Utf8.h"
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/LaunchGraphs.h"

#include <fmt/format.h>

namespace heddle {

LaunchedKernels LaunchedKernels::of(std::span<const GraphLaunch> sequence) {
  LaunchedKernels all;
  for (const GraphLaunch &launch : sequence) {
    all.add({launch.count(), launch.first(), launch.last()});
  }
  return all;
}

void LaunchedKernels::add(const LaunchedKernels &later) {
  first = count == 0 ? later.first : first;
  last = later.count == 0 ? last : later.last;
  count += later.count;
}

std::string LaunchedKernels::text() const {
  return count == 0 ? std::string()
                    : fmt::format("{} launches, {} the first, {} the last", count,
                                  quote(first->name), quote(last->name));
}

} // namespace heddle
