// SPDX-License-Identifier: Apache-2.0
///
/// The part of checkManifest() that checks one entry: ports, buffers, dispatches and the arena.
#ifndef HEDDLE_FORMATS_BINARY_ENTRYCHECK_H
#define HEDDLE_FORMATS_BINARY_ENTRYCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

namespace heddle {

/// `model` must have passed the checks of its parameters and kernels.
Status checkEntry(const manifest::Entry &entry, const manifest::Manifest &model);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_ENTRYCHECK_H
