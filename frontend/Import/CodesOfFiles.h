// SPDX-License-Identifier: Apache-2.0
///
/// Codes of a checkpoint as elements of the IR: the type that a tensor's elements have, and its
/// codes for a parameter of that type.
#ifndef HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H
#define HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// The type of the elements of a tensor that has codes; null for others. Whether it is `full` is
/// what the codes say: all of them are looked at, and their pages released.
transformer::QuantizedType codesTypeOf(const Checkpoint &checkpoint, const StoredTensor &tensor,
                                       mlir::MLIRContext *context);

/// The codes of a tensor, which must be of this type.
Result<CodeRows> readCodes(const Checkpoint &checkpoint, std::string_view name,
                           transformer::QuantizedType type);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_CODESOFFILES_H
