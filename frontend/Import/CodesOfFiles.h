// SPDX-License-Identifier: Apache-2.0
///
/// Codes of a checkpoint as elements of the IR: the element type of a tensor, and its codes for a
/// parameter of that type.
#ifndef HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H
#define HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// Returns the element type of a tensor with codes; null for other tensors. Reads all codes to
/// determine whether the type is `full`, and releases their pages.
transformer::QuantizedType codesTypeOf(const Checkpoint &checkpoint, const StoredTensor &tensor,
                                       mlir::MLIRContext *context);

/// Reads the codes of a tensor, which must be of this type.
Result<CodeRows> readCodes(const Checkpoint &checkpoint, std::string_view name,
                           transformer::QuantizedType type);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H
