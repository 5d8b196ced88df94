// SPDX-License-Identifier: Apache-2.0
///
/// Pieces of pinned memory in turn: the host writes to one while the GPU still copies from others.
#ifndef HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H
#define HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H

#include "runtime/Device/Cuda/CudaContext.h"

#include <array>
#include <cstdint>

namespace heddle {

/// The context must be current during calls. Before it is destroyed, its owner must have waited for
/// the stream.
class PinnedRing {
public:
  /// A ring of 2 to 4 pieces. take() waits for the copy that many before.
  explicit PinnedRing(size_t count) : count(count) {}
  PinnedRing(const PinnedRing &) = delete;
  PinnedRing &operator=(const PinnedRing &) = delete;
  ~PinnedRing();

  /// Returns the next piece, of at least `bytes`, once no copy reads from it any more.
  Result<std::byte *> take(CudaContext &context, uint64_t bytes);
  /// Records that the stream has been told to copy from the piece taken last; take() then returns
  /// the next one.
  Status used(CudaContext &context, void *stream);

private:
  struct Piece {
    PinnedMemory memory;
    /// An event recorded after the last copy from the piece; null if there was none.
    void *copied = nullptr;
  };

  std::array<Piece, 4> pieces;
  const size_t count;
  size_t turn = 0;
  CudaContext *owner = nullptr;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CUDA_PINNEDRING_H
