// SPDX-License-Identifier: Apache-2.0
///
/// Sequences of launches that come again, step by step of a decoder: the driver is told such a
/// sequence once, as a graph, and each later time with one call. All that differs from one time to
/// the next is in the records that kernels read.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHGRAPHS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHGRAPHS_H

#include "runtime/Device/Cuda/CudaContext.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

struct CudaKernel;

/// A launch as the driver is told: what must be the same for a graph to be.
struct GraphLaunch {
  const CudaKernel *kernel;
  /// Runs after it; null: none.
  const CudaKernel *finish;
  unsigned blocks;
  unsigned finishBlocks;
  /// Where its record begins.
  uint64_t offset;

  bool operator==(const GraphLaunch &) const = default;
};

/// The graphs of a stream. The context must outlive it and be the thread's; whoever gives it back
/// must have waited for the stream.
class LaunchGraphs {
public:
  LaunchGraphs() = default;
  LaunchGraphs(const LaunchGraphs &) = delete;
  LaunchGraphs &operator=(const LaunchGraphs &) = delete;
  ~LaunchGraphs() { clear(); }

  /// The graph of a sequence, or null if it is the first time that it comes: then it is remembered,
  /// and told as any other. The second time `tell()`, which tells the stream its launches, is
  /// recorded.
  template <typename Tell>
  Result<void *> graphOf(std::span<const GraphLaunch> sequence, CudaContext &context, void *stream,
                         Tell tell) {
    Known &known = know(sequence);
    if (known.isNew || known.graph != nullptr) {
      known.isNew = false;
      return known.graph;
    }
    HEDDLE_TRY(begin(context, stream));
    const Status told = tell();
    HEDDLE_TRY(end(context, stream, told, known.graph));
    return known.graph;
  }

  /// Forgets all: what they read has moved. Graphs that run go on.
  void clear();

private:
  struct Known {
    std::vector<GraphLaunch> sequence;
    void *graph = nullptr;
    bool isNew = true;
    uint64_t lastUse = 0;
  };

  Known &know(std::span<const GraphLaunch> sequence);
  Status begin(CudaContext &context, void *stream);
  Status end(CudaContext &context, void *stream, const Status &told, void *&graph);
  void forget(Known &known);

  CudaContext *owner = nullptr;
  std::vector<Known> all;
  uint64_t uses = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHGRAPHS_H
