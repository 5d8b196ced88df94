// SPDX-License-Identifier: Apache-2.0
///
/// Writes what a port says about its tensor in files: `dataflow.axes`, `dataflow.rows` and
/// `dataflow.after`.
#ifndef HEDDLE_COMPILER_LINK_PORTTENSORS_H
#define HEDDLE_COMPILER_LINK_PORTTENSORS_H

#include "dialects/Dataflow/Dataflow.h"
#include "formats/Binary/Manifest_generated.h"

#include <optional>

namespace heddle {

/// The fields of a port about its tensor.
struct PortTensorFields {
  /// Null: none.
  flatbuffers::Offset<flatbuffers::Vector<int64_t>> axes = {};
  flatbuffers::Offset<flatbuffers::String> after = {};
  uint64_t rows = 0;
};

/// Reads the attributes of argument or result `index`, a buffer of this type. Emits an error and
/// fails if they are of other types or do not form its rows.
mlir::FailureOr<PortTensorFields> writePortTensor(dataflow::GraphOp graph, unsigned index,
                                                  bool isInput, dataflow::BufferType type,
                                                  flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PORTTENSORS_H
