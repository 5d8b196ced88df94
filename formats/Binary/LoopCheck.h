// SPDX-License-Identifier: Apache-2.0
///
/// Checks the loops of an entry: which dispatches they have, and what is read a step before.
#ifndef HEDDLE_FORMATS_BINARY_LOOPCHECK_H
#define HEDDLE_FORMATS_BINARY_LOOPCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <cstdint>
#include <set>
#include <utility>

namespace heddle {

/// The most loops that run side by side: compilers make groups of fewer, and what a check of more
/// takes grows with their number.
inline constexpr uint32_t mostLoopsBeside = 64;

/// The operands of an unchecked entry that loops read a step before: dispatch, number. They may be
/// written by dispatches after their own.
std::set<std::pair<uint32_t, uint32_t>> earlierOperands(const manifest::Entry &entry);

/// Checks the loops of an entry of which the spaces, buffers and dispatches have been checked.
Status checkLoops(const manifest::Entry &entry);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_LOOPCHECK_H
