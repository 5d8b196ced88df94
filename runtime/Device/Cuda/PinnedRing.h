// SPDX-License-Identifier: Apache-2.0
///
/// Two pieces of pinned memory in turn: the host writes one while the GPU still copies from the
/// other.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H

#include "runtime/Device/Cuda/CudaContext.h"

#include <array>
#include <cstdint>

namespace heddle {

/// Where the context is the thread's. Whoever gives it back must have waited for the stream.
class PinnedRing {
public:
  PinnedRing() = default;
  PinnedRing(const PinnedRing &) = delete;
  PinnedRing &operator=(const PinnedRing &) = delete;
  ~PinnedRing();

  /// The piece whose turn it is, of at least so many bytes, once nothing is copied from it any
  /// more.
  Result<std::byte *> take(CudaContext &context, uint64_t bytes);
  /// The stream has been told to copy from the piece taken last; the next take() is of the other.
  Status used(CudaContext &context, void *stream);

private:
  struct Piece {
    PinnedMemory memory;
    /// Recorded after the last copy from it; null: there was none.
    void *copied = nullptr;
  };

  std::array<Piece, 2> pieces;
  size_t turn = 0;
  CudaContext *owner = nullptr;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H
