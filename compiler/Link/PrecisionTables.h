// SPDX-License-Identifier: Apache-2.0
///
/// Writes manifest tables that describe how the weights of a model are stored, in addition to the
/// name of its precision.
#ifndef HEDDLE_COMPILER_LINK_PRECISIONTABLES_H
#define HEDDLE_COMPILER_LINK_PRECISIONTABLES_H

#include "compiler/Link/Manifest.h"

namespace heddle {

/// Each of these returns null, and is absent from the manifest, if there is nothing to write.

/// Writes the quantisation of the model's files.
flatbuffers::Offset<manifest::Codes> writeCodes(const std::optional<Quantization> &codes,
                                                flatbuffers::FlatBufferBuilder &builder);

/// Writes the calibration texts.
flatbuffers::Offset<manifest::Calibration>
writeCalibration(const std::optional<CalibrationFacts> &calibration,
                 flatbuffers::FlatBufferBuilder &builder);

/// Writes the kept layers that the program declares.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<manifest::KeptLayers>>>
writeKept(mlir::ModuleOp module, flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PRECISIONTABLES_H
