// SPDX-License-Identifier: Apache-2.0
///
/// Converts tensors of pixels, spectra and whole images to the rows that an entry takes.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_PIXELROWS_H
#define HEDDLE_RUNTIME_TOOLS_RUN_PIXELROWS_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"

#include <span>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Pixels of images of one number of columns, [sequences, height, columns, width], spectra of so
/// many bins, [sequences, frames, bins], and, where a sequence is one row, tensors of any shape
/// [sequences, ...] with as many elements, or of one sequence alone: as the rows that an input has,
/// [sequences, length, width].
Result<std::vector<SafetensorsTensor>> pixelsAsRows(const EntryInfo &entry,
                                                    std::span<const SafetensorsTensor> tensors,
                                                    std::string_view where);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_PIXELROWS_H
