// SPDX-License-Identifier: Apache-2.0
///
/// Builders of a kernel and the dispatch that runs it, for the conversion that creates all
/// dispatches and for passes that add some.
#ifndef HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H
#define HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H

#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Emits the scalar maths of an epilogue: maps the region's arguments to its value.
using EpilogueBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The computation of a kernel and the operands of its dispatch.
struct KernelParts {
  /// The kernel's symbol, made unique by a numeric suffix.
  llvm::StringRef stem;
  dataflow::KernelFamily computes;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> elementwise;
  /// Null if there is no norm.
  dataflow::NormAttr norm;
  /// The weight of a norm, the bias of a layer norm.
  llvm::SmallVector<mlir::Value> normOperands;
  /// The types of buffers, and of inputs that are changed in place.
  llvm::SmallVector<mlir::Type> results;
  /// Whether the region maps scores and takes their bias.
  bool takesBias = false;
};

/// Returns whether a buffer is rows of f32, [rows, width], the result of every fast kernel.
bool isRows(dataflow::BufferType type);

/// Inserts a kernel before the graph that `builder` is in, and its dispatch at the builder. Without
/// `epilogue` the kernel yields the computed value unchanged. `pairs` maps an element of a query
/// and one of a key, for families that sum pairs.
dataflow::DispatchOp createDispatch(mlir::OpBuilder &builder, mlir::SymbolTable &symbols,
                                    mlir::Location location, const KernelParts &parts,
                                    EpilogueBuilder epilogue = nullptr,
                                    EpilogueBuilder pairs = nullptr);

/// Creates a dispatch that copies the elements of an f32 buffer into a dense one.
dataflow::DispatchOp createCopy(mlir::OpBuilder &builder, mlir::SymbolTable &symbols,
                                mlir::Location location, mlir::Value source);

/// Copies a kernel for those of its dispatches that need another type or arithmetic, and makes them
/// run the copy.
dataflow::KernelOp copyKernel(mlir::SymbolTable &symbols, dataflow::KernelOp kernel,
                              llvm::ArrayRef<dataflow::DispatchOp> dispatches);

/// Counts the dispatches of each kernel, by its name.
llvm::DenseMap<mlir::StringAttr, int64_t> countRuns(mlir::ModuleOp module);

/// Returns one letter for each dimension of a buffer, as loop nests name axes: `t` for rows, `k`
/// for keys, h, d, e... for constants, never `r`.
std::string axesOf(dataflow::BufferType type);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H
