// SPDX-License-Identifier: Apache-2.0
///
/// Codes that are stored row by row in the order of the matrix: those of CTranslate2 and of GGUF
/// blocks.
#ifndef HEDDLE_FORMATS_CHECKPOINT_ROWCODES_H
#define HEDDLE_FORMATS_CHECKPOINT_ROWCODES_H

#include "formats/Checkpoint/CTranslate2File.h"
#include "formats/Checkpoint/QuantizedTensor.h"

#include <memory>

namespace heddle {

/// Returns the codes of a variable of CTranslate2; null if it is not a matrix of I8 with usable
/// scales. A scale is the reciprocal of the file's, which divides values.
std::shared_ptr<const QuantizedTensor> codesOfCTranslate2(const StoredTensor &variable);

/// Returns the codes of a tensor of GGUF; null if it is not a matrix, or has a plain type.
std::shared_ptr<const QuantizedTensor>
codesOfGguf(const GgufType &type, std::span<const int64_t> shape, std::span<const std::byte> bytes);

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_ROWCODES_H
