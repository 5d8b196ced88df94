// SPDX-License-Identifier: Apache-2.0
///
/// How conversations become prompts: from the module's attribute to the manifest.
#ifndef HEDDLE_COMPILER_LINK_CHATTABLE_H
#define HEDDLE_COMPILER_LINK_CHATTABLE_H

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

namespace heddle {

/// Writes the dictionary `transformer.chat` of a verified module; nothing if it has none.
flatbuffers::Offset<manifest::Chat> writeChat(mlir::ModuleOp module,
                                              flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_CHATTABLE_H
