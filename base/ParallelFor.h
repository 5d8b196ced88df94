// SPDX-License-Identifier: Apache-2.0
///
/// A loop whose iterations run on several threads. Not std::thread: where the system refuses a
/// thread, it throws, and libraries without exceptions would abort the program.
#ifndef HEDDLE_BASE_PARALLELFOR_H
#define HEDDLE_BASE_PARALLELFOR_H

#include <cstddef>
#include <functional>

namespace heddle {

/// The processors of this machine, at least one.
unsigned processorCount();

/// Calls `work` with every number below `count`, each once and in no order, and returns when all
/// calls have. The calling thread is one of at most `threads`; where others cannot be started, it
/// does with fewer. `work` must not throw.
void parallelFor(size_t count, const std::function<void(size_t)> &work,
                 unsigned threads = processorCount());

} // namespace heddle

#endif // HEDDLE_BASE_PARALLELFOR_H
