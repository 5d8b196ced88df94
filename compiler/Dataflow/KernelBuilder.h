// SPDX-License-Identifier: Apache-2.0
///
/// Writing a kernel and the dispatch that runs it: for the conversion that forms every dispatch and
/// the passes that add some.
#ifndef HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H
#define HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H

#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Emits the scalar maths of an epilogue: maps the region's arguments to its value.
using EpilogueBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// What a kernel computes and what its dispatch reads.
struct KernelParts {
  /// The kernel's symbol, made unique by a number.
  llvm::StringRef stem;
  dataflow::KernelFamily computes;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> elementwise;
  /// Null: none.
  dataflow::NormAttr norm;
  /// The weight of a norm, the bias of a layer norm.
  llvm::SmallVector<mlir::Value> normOperands;
  /// Buffers, and the types of inputs that are changed in place.
  llvm::SmallVector<mlir::Type> results;
  /// Whether the region maps scores and takes their bias.
  bool takesBias = false;
};

/// Whether a buffer is rows of f32, [rows, width]: what every fast kernel writes.
bool isRows(dataflow::BufferType type);

/// Inserts a kernel before the graph that `builder` is in, and its dispatch at the builder. Without
/// `epilogue` the kernel yields the computed value unchanged. `pairs` is the maths of an element of
/// a query and one of a key, where the family sums those.
dataflow::DispatchOp createDispatch(mlir::OpBuilder &builder, mlir::SymbolTable &symbols,
                                    mlir::Location location, const KernelParts &parts,
                                    EpilogueBuilder epilogue = nullptr,
                                    EpilogueBuilder pairs = nullptr);

/// A dispatch that writes an f32 buffer's elements into a dense one of its own.
dataflow::DispatchOp createCopy(mlir::OpBuilder &builder, mlir::SymbolTable &symbols,
                                mlir::Location location, mlir::Value source);

/// A copy of a kernel that some of its dispatches run from now on, where they need another type or
/// arithmetic than the others.
dataflow::KernelOp copyKernel(mlir::SymbolTable &symbols, dataflow::KernelOp kernel,
                              llvm::ArrayRef<dataflow::DispatchOp> dispatches);

/// How many dispatches run each kernel, by its name.
llvm::DenseMap<mlir::StringAttr, int64_t> countRuns(mlir::ModuleOp module);

/// One letter for each dimension of a buffer, as loop nests name axes: `t` for rows, `k` for keys,
/// h, d, e... for constants, never `r`.
std::string axesOf(dataflow::BufferType type);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_KERNELBUILDER_H
