// SPDX-License-Identifier: Apache-2.0
///
/// Copies a state on the first write after sharing.
#include "runtime/Cache/StateRow.h"

namespace heddle {

void StateRow::change(BlockPool &pool) {
  if (own < 0) {
    // Kernels ignore its contents and treat them as zero.
    own = pool.take();
  } else if (pool.referencesOf(own) > 1) {
    const int32_t copy = pool.take();
    pool.copy(copy, own, 1);
    pool.release(own);
    own = copy;
  }
}

void StateRow::changeApart(BlockPool &pool) {
  const int32_t another = pool.take();
  clear(pool);
  own = another;
}

void StateRow::follow(BlockPool &pool, const StateRow &parent) {
  pool.share(parent.own);
  pool.release(own);
  own = parent.own;
}

void StateRow::shareWith(BlockPool &pool, const StateRow &other) {
  own = other.own;
  if (own >= 0) {
    pool.share(own);
  }
}

void StateRow::clear(BlockPool &pool) {
  if (own >= 0) {
    pool.release(own);
  }
  own = -1;
}

} // namespace heddle
