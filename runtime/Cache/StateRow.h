// SPDX-License-Identifier: Apache-2.0
///
/// Where the states of one sequence are: a block of one position, which every run changes.
/// Sequences that begin with the same positions share it until one of them goes on.
#ifndef HEDDLE_RUNTIME_CACHE_STATEROW_H
#define HEDDLE_RUNTIME_CACHE_STATEROW_H

#include "runtime/Cache/BlockPool.h"

#include <cstdint>

namespace heddle {

/// The block of one sequence, once it has any position. All calls are made with the same pool.
class StateRow {
public:
  /// -1 before the first change.
  int32_t block() const { return own; }

  /// Makes the block this sequence's alone: what it shares is copied. There must be room in the
  /// pool; allocates nothing after its prepare().
  void change(BlockPool &pool);
  /// Takes over what `other` has; this one must be empty.
  void shareWith(BlockPool &pool, const StateRow &other);
  void clear(BlockPool &pool);

private:
  int32_t own = -1;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_STATEROW_H
