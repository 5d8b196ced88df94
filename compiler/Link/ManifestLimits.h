// SPDX-License-Identifier: Apache-2.0
///
/// What the runtime demands of a manifest beyond what the dialects verify: the compiler must not
/// write a binary that it would refuse.
#ifndef HEDDLE_COMPILER_LINK_MANIFESTLIMITS_H
#define HEDDLE_COMPILER_LINK_MANIFESTLIMITS_H

#include "heddle/Status.h"

#include "formats/Binary/Manifest_generated.h"

#include <cstddef>
#include <cstdint>

namespace heddle {

/// Checks the `size` finished bytes of a manifest that buildManifest wrote.
Status checkManifestLimits(const uint8_t *bytes, size_t size);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_MANIFESTLIMITS_H
