// SPDX-License-Identifier: Apache-2.0
///
/// Reads an ONNX file as a program with its parameters.
#ifndef HEDDLE_FRONTEND_ONNX_ONNXPROGRAM_H
#define HEDDLE_FRONTEND_ONNX_ONNXPROGRAM_H

#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace heddle {

struct OnnxProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Checkpoint checkpoint;
  std::vector<std::string> notes;
  /// Whether `isStatic` changed the result.
  bool hasFixedSizes = false;
};

/// Reads a graph over a batch of sequences of different lengths. The entry "run" has the inputs and
/// outputs of the file, without rows of padding. If the graph masks padding, a second entry,
/// "run_columns", supports padding anywhere in a sequence: it takes the original column of each row
/// as an additional input.
///
/// A graph is inconsistent where the exporter has replaced a size that the inputs declare as
/// dynamic with the constant of its example. With `isStatic`, the program is compiled for that size
/// only.
///
/// The Unsupported error names every operator that is not supported, or the unsupported use of one.
Result<OnnxProgram> readOnnxProgram(mlir::MLIRContext &context, const std::string &path,
                                    bool isStatic = false);

} // namespace heddle

#endif // HEDDLE_FRONTEND_ONNX_ONNXPROGRAM_H
