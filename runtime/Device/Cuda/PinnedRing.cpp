// SPDX-License-Identifier: Apache-2.0
///
/// Each piece has an event that marks the end of its last copy.
#include "runtime/Device/Cuda/PinnedRing.h"

namespace heddle {

PinnedRing::~PinnedRing() {
  for (Piece &piece : pieces) {
    if (piece.copied != nullptr) {
      owner->giveBack(owner->driver().cuEventDestroy_v2, piece.copied);
    }
  }
}

Result<std::byte *> PinnedRing::take(CudaContext &context, uint64_t bytes) {
  Piece &piece = pieces[turn];
  if (piece.copied != nullptr) {
    HEDDLE_TRY(context.call(context.driver().cuEventSynchronize, piece.copied));
  }
  HEDDLE_TRY(piece.memory.grow(context, bytes));
  return piece.memory.data();
}

Status PinnedRing::used(CudaContext &context, void *stream) {
  Piece &piece = pieces[turn];
  turn = (turn + 1) % count;
  if (piece.copied == nullptr) {
    owner = &context;
    HEDDLE_TRY(context.call(context.driver().cuEventCreate, &piece.copied, cudaEventWithoutTime));
  }
  return context.call(context.driver().cuEventRecord, piece.copied, stream);
}

} // namespace heddle
