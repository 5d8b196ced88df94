// SPDX-License-Identifier: Apache-2.0
///
/// How the weights of a model came to be stored as they are, beside the name of its precision: from
/// what the compiler knows to the manifest.
#ifndef HEDDLE_COMPILER_LINK_PRECISIONTABLES_H
#define HEDDLE_COMPILER_LINK_PRECISIONTABLES_H

#include "compiler/Link/Manifest.h"

namespace heddle {

/// Each of these is null, and absent from the manifest, where there is nothing to say.

/// The codes of the model's files.
flatbuffers::Offset<manifest::Codes> writeCodes(const std::optional<Quantization> &codes,
                                                flatbuffers::FlatBufferBuilder &builder);

/// The texts that codes were chosen by.
flatbuffers::Offset<manifest::Calibration>
writeCalibration(const std::optional<CalibrationFacts> &calibration,
                 flatbuffers::FlatBufferBuilder &builder);

/// The layers of other precisions that the program says it has.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<manifest::KeptLayers>>>
writeKept(mlir::ModuleOp module, flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PRECISIONTABLES_H
