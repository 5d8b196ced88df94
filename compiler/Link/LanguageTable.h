// SPDX-License-Identifier: Apache-2.0
///
/// The languages that a model translates between: from the module's attribute to the manifest.
#ifndef HEDDLE_COMPILER_LINK_LANGUAGETABLE_H
#define HEDDLE_COMPILER_LINK_LANGUAGETABLE_H

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

namespace heddle {

/// Writes the dictionary `transformer.languages` of a verified module; nothing if it has none.
flatbuffers::Offset<manifest::Languages> writeLanguages(mlir::ModuleOp module,
                                                        flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_LANGUAGETABLE_H
