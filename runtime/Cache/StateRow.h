// SPDX-License-Identifier: Apache-2.0
///
/// The states of one sequence: a block of one position, which every run updates. Sequences that
/// begin with the same positions share it until one of them continues.
#ifndef HEDDLE_RUNTIME_CACHE_STATEROW_H
#define HEDDLE_RUNTIME_CACHE_STATEROW_H

#include "runtime/Cache/BlockPool.h"

#include <cstdint>

namespace heddle {

/// The block of one sequence that has at least one position. All calls must pass the same pool.
class StateRow {
public:
  /// Returns the block; -1 before the first change.
  int32_t block() const { return own; }

  /// Makes the block private to this sequence by copying it if it is shared. The pool must have
  /// room; allocates nothing after its prepare().
  void change(BlockPool &pool);
  /// As change(), but the block is another one in any case, and the device copies.
  void changeApart(BlockPool &pool);
  /// After changeApart(), if nothing was copied: takes the block of `parent`.
  void follow(BlockPool &pool, const StateRow &parent);
  /// Shares the block of `other`; this row must be empty.
  void shareWith(BlockPool &pool, const StateRow &other);
  void clear(BlockPool &pool);

private:
  int32_t own = -1;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_STATEROW_H
