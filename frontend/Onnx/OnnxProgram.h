// SPDX-License-Identifier: Apache-2.0
///
/// An ONNX file as a program and the tensors that it reads.
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
  /// Whether `isStatic` made a difference.
  bool hasFixedSizes = false;
};

/// Reads a graph over a batch of sequences that differ in length. Its entry is "run", whose inputs
/// and outputs are those of the file; rows of padding are left out. If something hides rows,
/// "run_columns" is the same for batches with padding anywhere: there the column that each row had
/// is an input.
///
/// Where the graph has a constant of the exporter's example in place of a size that its inputs
/// leave open, it contradicts itself. `isStatic`: then the program is for that size alone.
///
/// Unsupported names every operator that is not read, or what one asks for.
Result<OnnxProgram> readOnnxProgram(mlir::MLIRContext &context, const std::string &path,
                                    bool isStatic = false);

} // namespace heddle

#endif // HEDDLE_FRONTEND_ONNX_ONNXPROGRAM_H
