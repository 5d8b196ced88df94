// SPDX-License-Identifier: Apache-2.0
///
/// Sequences of launches that are repeated, as by the steps of a decoder: such a sequence is
/// captured once as a CUDA graph, and later takes a single call. Everything that differs between
/// repetitions is in the records that kernels read.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHGRAPHS_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_LAUNCHGRAPHS_H

#include "runtime/Device/Cuda/CudaContext.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

struct CudaKernel;

/// The parameters of a launch that must be equal for a graph to be used again.
struct GraphLaunch {
  const CudaKernel *kernel;
  /// The kernel that rounds its rows before; null if there is none.
  const CudaKernel *before;
  /// The kernel that follows, to finish its rows or to merge its sections; null if there is none.
  const CudaKernel *next;
  unsigned blocks;
  unsigned blocksBefore;
  unsigned nextBlocks;
  /// The offset of its record.
  uint64_t offset;

  /// The number of kernels that it launches, and the first and the last of them.
  size_t count() const { return 1 + (before == nullptr ? 0 : 1) + (next == nullptr ? 0 : 1); }
  const CudaKernel *first() const { return before == nullptr ? kernel : before; }
  const CudaKernel *last() const { return next == nullptr ? kernel : next; }
  bool operator==(const GraphLaunch &) const = default;
};

/// The graphs of a stream. The context must outlive it and be current during calls. Before it is
/// destroyed, the owner must have waited for the stream.
class LaunchGraphs {
public:
  LaunchGraphs() = default;
  LaunchGraphs(const LaunchGraphs &) = delete;
  LaunchGraphs &operator=(const LaunchGraphs &) = delete;
  ~LaunchGraphs() { clear(); }

  /// Returns the graph of a sequence. The first time, remembers the sequence and returns null: the
  /// caller then launches it itself. The second time, captures the launches that `tell()` issues to
  /// the stream, as a graph; returns null, then and later, if there is no memory for it.
  template <typename Tell>
  Result<void *> graphOf(std::span<const GraphLaunch> sequence, CudaContext &context, void *stream,
                         Tell tell) {
    Known &known = know(sequence);
    if (known.isNew || known.hasNoMemory || known.graph != nullptr) {
      known.isNew = false;
      return known.graph;
    }
    Status made = begin(context, stream);
    if (made.ok()) {
      const Status told = tell();
      made = end(context, stream, told, known.graph);
      HEDDLE_TRY(told);
    }
    known.hasNoMemory = made.code() == StatusCode::ResourceExhausted;
    if (!made.ok() && !known.hasNoMemory) {
      return made;
    }
    return known.graph;
  }

  /// Forgets all sequences, because the memory of their records has moved. Running graphs complete.
  void clear();

private:
  struct Known {
    std::vector<GraphLaunch> sequence;
    void *graph = nullptr;
    bool isNew = true;
    /// Whether its graph could not be created for want of memory.
    bool hasNoMemory = false;
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
