// SPDX-License-Identifier: Apache-2.0
///
/// How a model was made to generate: from the module's attribute to the manifest.
#ifndef HEDDLE_COMPILER_LINK_GENERATIONTABLE_H
#define HEDDLE_COMPILER_LINK_GENERATIONTABLE_H

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

namespace heddle {

/// Writes the dictionary `transformer.generation` of a verified module; nothing if it has none.
flatbuffers::Offset<manifest::Generation> writeGeneration(mlir::ModuleOp module,
                                                          flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_GENERATIONTABLE_H
