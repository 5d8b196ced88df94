// SPDX-License-Identifier: Apache-2.0
///
/// Checks what a port says about its tensor in files: the order of its axes, the number of its rows
/// and the rows before them.
#ifndef HEDDLE_FORMATS_BINARY_PORTTENSORCHECK_H
#define HEDDLE_FORMATS_BINARY_PORTTENSORCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

namespace heddle {

/// Checks a port whose shape has been checked; DataLoss with the reason.
Status checkPortTensor(const manifest::Port &port, bool isInput);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_PORTTENSORCHECK_H
