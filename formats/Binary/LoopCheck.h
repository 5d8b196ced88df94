// SPDX-License-Identifier: Apache-2.0
///
/// Checks the loops of an entry: their dispatches, and the operands that are read from the previous
/// step.
#ifndef HEDDLE_FORMATS_BINARY_LOOPCHECK_H
#define HEDDLE_FORMATS_BINARY_LOOPCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <cstdint>
#include <set>
#include <utility>

namespace heddle {

/// The maximum number of concurrent loops: compilers make smaller groups, and the time of the check
/// grows with their number.
inline constexpr uint32_t mostLoopsBeside = 64;

/// Returns the operands of an unchecked entry that loops read from the previous step, as pairs of
/// dispatch and number. They may be written by later dispatches.
std::set<std::pair<uint32_t, uint32_t>> earlierOperands(const manifest::Entry &entry);

/// Checks the loops of an entry whose spaces, buffers and dispatches have been checked.
Status checkLoops(const manifest::Entry &entry);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_LOOPCHECK_H
