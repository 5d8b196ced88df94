// SPDX-License-Identifier: Apache-2.0
///
/// One entry of a model on its way to the dataflow level: the values already lowered, and one
/// method for each operation. Every operation becomes one dispatch of a kernel of its own, a view,
/// or nothing (masks and segments, which kernels know by themselves).
#ifndef HEDDLE_COMPILER_CONVERSION_TRANSFORMERTODATAFLOW_ENTRYLOWERING_H
#define HEDDLE_COMPILER_CONVERSION_TRANSFORMERTODATAFLOW_ENTRYLOWERING_H

#include "compiler/Transforms/KernelBuilder.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace heddle {

/// The packed form of each weight of a module, by the weight's name.
using PackedWeights = llvm::DenseMap<mlir::StringAttr, mlir::StringAttr>;

/// Lowers one `func.func`. Failures are reported at the operation that cannot be lowered.
class EntryLowering {
public:
  EntryLowering(mlir::func::FuncOp entry, mlir::SymbolTable &symbols, PackedWeights &packed)
      : entry(entry), symbols(symbols), packed(packed), builder(entry) {}

  /// Replaces the entry by a graph of the same name.
  mlir::LogicalResult run();

private:
  // --- The entry itself
  mlir::LogicalResult lowerArguments();
  mlir::LogicalResult lowerOperation(mlir::Operation *op);
  mlir::LogicalResult lowerReturn(mlir::func::ReturnOp op);
  void setSignature();

  // --- Rows
  mlir::LogicalResult lower(transformer::ActivateOp op);
  mlir::LogicalResult lower(transformer::AddOp op);
  mlir::LogicalResult lower(transformer::ColumnsOp op);
  mlir::LogicalResult lower(transformer::EmbedOp op);
  mlir::LogicalResult lower(transformer::GatherOp op);
  mlir::LogicalResult lower(transformer::LayerNormOp op);
  mlir::LogicalResult lower(transformer::LinearOp op);
  mlir::LogicalResult lower(transformer::NormalizeOp op);
  mlir::LogicalResult lower(transformer::PoolOp op);
  mlir::LogicalResult lower(transformer::ScaleOp op);

  // --- Heads
  mlir::LogicalResult lower(transformer::AttentionOp op);
  mlir::LogicalResult lower(transformer::ContractOp op);
  mlir::LogicalResult lower(transformer::MaskBiasOp op);
  mlir::LogicalResult lower(transformer::MergeHeadsOp op);
  mlir::LogicalResult lower(transformer::SelectOp op);
  mlir::LogicalResult lower(transformer::SoftmaxOp op);
  mlir::LogicalResult lower(transformer::SplitHeadsOp op);
  mlir::LogicalResult lower(transformer::TransposeOp op);

  // --- What they share
  /// The buffer of a value, after its producer was lowered.
  mlir::Value bufferOf(mlir::Value value) { return buffers.lookup(value); }
  dataflow::BufferType typeOf(mlir::Value value) {
    return llvm::cast<dataflow::BufferType>(bufferOf(value).getType());
  }
  dataflow::BufferType denseBuffer(llvm::ArrayRef<int64_t> shape);
  /// A parameter as a buffer, read once for each graph.
  mlir::Value parameter(mlir::FlatSymbolRefAttr symbol);
  mlir::FlatSymbolRefAttr packedWeight(mlir::FlatSymbolRefAttr weight);
  transformer::ParameterOp parameterOp(mlir::FlatSymbolRefAttr symbol) {
    return symbols.lookup<transformer::ParameterOp>(symbol.getValue());
  }
  /// Creates the dispatch of `op` and makes it the buffer of the operation's only result.
  mlir::LogicalResult dispatch(mlir::Operation *op, const KernelParts &parts,
                               EpilogueBuilder epilogue = nullptr);
  /// A nest over the given axes whose inputs are buffers already.
  mlir::LogicalResult nest(mlir::Operation *op, llvm::StringRef stem, const llvm::Twine &axes,
                           dataflow::ReductionKind reduction, llvm::ArrayRef<mlir::Value> inputs,
                           dataflow::BufferType result, EpilogueBuilder term = nullptr,
                           mlir::FloatAttr hidden = nullptr);
  /// An element-wise operation: a rows kernel where rows allow it, else a nest.
  mlir::LogicalResult elementwise(mlir::Operation *op, llvm::StringRef stem,
                                  llvm::ArrayRef<mlir::Value> operands, EpilogueBuilder epilogue);
  /// One norm of rows as a kernel of its own.
  mlir::LogicalResult norm(mlir::Operation *op, llvm::StringRef stem, mlir::Value input,
                           dataflow::NormAttr norm, llvm::ArrayRef<mlir::Value> operands);
  /// Notes that `ids` look up a table: ids must be less than its rows. Fails if they are no input.
  mlir::LogicalResult limitIds(mlir::Operation *op, mlir::Value ids, mlir::FlatSymbolRefAttr table);
  /// Notes that positions from `offset` on look up a table. Fails if it has no such row.
  mlir::LogicalResult limitPositions(mlir::Operation *op, mlir::FlatSymbolRefAttr table,
                                     int64_t offset);
  /// The buffer of the only result of `op`, a view of another buffer or that buffer itself.
  mlir::LogicalResult define(mlir::Operation *op, mlir::Value buffer);

  mlir::func::FuncOp entry;
  mlir::SymbolTable &symbols;
  PackedWeights &packed;
  mlir::OpBuilder builder;
  dataflow::GraphOp graph;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters;
  /// The exclusive upper bound of each integer argument, by the argument's buffer.
  llvm::DenseMap<mlir::Value, int64_t> limits;
  /// Rows of the longest sentence; 0: any.
  int64_t maxLength = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CONVERSION_TRANSFORMERTODATAFLOW_ENTRYLOWERING_H
