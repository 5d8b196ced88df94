// SPDX-License-Identifier: Apache-2.0
///
/// The labels of a classifier, from the program's attributes to the manifest's table.
#ifndef HEDDLE_COMPILER_LINK_CLASSIFICATIONTABLE_H
#define HEDDLE_COMPILER_LINK_CLASSIFICATIONTABLE_H

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

namespace heddle {

/// Writes the dictionary `transformer.classification` of a verified module; nothing if it has none.
flatbuffers::Offset<manifest::Classification>
writeClassification(mlir::ModuleOp module, flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_CLASSIFICATIONTABLE_H
