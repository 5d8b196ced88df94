// SPDX-License-Identifier: Apache-2.0
///
/// Converts module attributes on the intended use of a model (generation, languages, conversations,
/// labels) to tables of the manifest. Each function writes nothing if the module has no such
/// attribute.
#ifndef HEDDLE_COMPILER_LINK_USAGETABLES_H
#define HEDDLE_COMPILER_LINK_USAGETABLES_H

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

namespace heddle {

/// Writes the dictionary `transformer.generation` of a verified module.
flatbuffers::Offset<manifest::Generation> writeGeneration(mlir::ModuleOp module,
                                                          flatbuffers::FlatBufferBuilder &builder);

/// Writes the dictionary `transformer.languages` of a verified module.
flatbuffers::Offset<manifest::Languages> writeLanguages(mlir::ModuleOp module,
                                                        flatbuffers::FlatBufferBuilder &builder);

/// Writes the dictionary `transformer.chat` of a verified module.
flatbuffers::Offset<manifest::Chat> writeChat(mlir::ModuleOp module,
                                              flatbuffers::FlatBufferBuilder &builder);

/// Writes the dictionary `transformer.classification` of a verified module.
flatbuffers::Offset<manifest::Classification>
writeClassification(mlir::ModuleOp module, flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_USAGETABLES_H
