// SPDX-License-Identifier: Apache-2.0
///
/// One entry of a model on its way to the dataflow level: the values already lowered, and one
/// method for each operation. Every operation becomes one dispatch of a kernel of its own, a view,
/// or nothing (masks and segments, which kernels know by themselves).
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H

#include "compiler/Dataflow/KernelBuilder.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace heddle {

/// How the blocks of each cache of a module lie, by the cache's name: `keys` if an attention of any
/// entry has it as keys. Fails where one has it as keys and another as values.
using CacheLayouts = llvm::DenseMap<mlir::StringAttr, dataflow::CacheLayout>;
mlir::FailureOr<CacheLayouts> chooseCacheLayouts(mlir::ModuleOp module);

/// Lowers one `func.func`. Failures are reported at the operation that cannot be lowered.
class EntryLowering {
public:
  EntryLowering(mlir::func::FuncOp entry, mlir::SymbolTable &symbols, const CacheLayouts &layouts)
      : entry(entry), symbols(symbols), layouts(layouts), builder(entry) {}

  /// Replaces the entry by a graph of the same name.
  mlir::LogicalResult run();

private:
  // --- The entry itself
  mlir::LogicalResult lowerArguments();
  mlir::LogicalResult lowerSegments(mlir::BlockArgument argument);
  mlir::LogicalResult lowerCache(mlir::BlockArgument argument);
  mlir::LogicalResult lowerState(mlir::BlockArgument argument);
  mlir::LogicalResult lowerOperation(mlir::Operation *op);
  mlir::LogicalResult lowerReturn(mlir::func::ReturnOp op);
  void setSignature();

  // --- Rows
  mlir::LogicalResult lower(transformer::ActivateOp op);
  mlir::LogicalResult lower(transformer::AddOp op);
  mlir::LogicalResult lower(transformer::ColumnsOp op);
  mlir::LogicalResult lower(transformer::EmbedOp op);
  mlir::LogicalResult lower(transformer::GatherOp op);
  mlir::LogicalResult lower(transformer::GroupedLinearOp op);
  mlir::LogicalResult lower(transformer::LayerNormOp op);
  mlir::LogicalResult lower(transformer::LinearOp op);
  mlir::LogicalResult lower(transformer::MultiplyOp op);
  mlir::LogicalResult lower(transformer::NormalizeOp op);
  mlir::LogicalResult lower(transformer::PoolOp op);
  mlir::LogicalResult lower(transformer::RmsNormOp op);
  mlir::LogicalResult lower(transformer::ScaleOp op);

  // --- Heads
  mlir::LogicalResult lower(transformer::AttendOp op);
  mlir::LogicalResult lower(transformer::AttentionOp op);
  mlir::LogicalResult lower(transformer::AttentionWeightsOp op);
  /// Makes queries, keys or values an input of an attention or half of one. Queries come first.
  mlir::LogicalResult addAttended(mlir::OpOperand &rows, KernelParts &parts);
  /// Fails where leaving out a bias of one column would change something.
  mlir::LogicalResult checkBias(mlir::Operation *op, mlir::FlatSymbolRefAttr bias,
                                transformer::HiddenAttr hidden);
  /// Makes the table of biases by distance an input, if one changes anything; 0, or its distance.
  int64_t addBias(mlir::FlatSymbolRefAttr bias, KernelParts &parts);
  mlir::LogicalResult lower(transformer::ContractOp op);
  /// The letters of a contraction's operands, as their buffers have them, and of its result.
  struct ContractAxes {
    std::array<std::string, 2> operands;
    std::string result;
  };
  /// Fails if the operands are not keys where a cache has them.
  mlir::LogicalResult checkContracted(transformer::ContractOp op, const ContractAxes &axes,
                                      llvm::ArrayRef<mlir::Value> operands);
  /// Where an operand is a cache with one head for several of the other: the heads of this, and of
  /// the result, become two axes, the cache's own and one beside it.
  mlir::LogicalResult splitSharedHeads(transformer::ContractOp op, ContractAxes &axes,
                                       llvm::MutableArrayRef<mlir::Value> operands,
                                       llvm::SmallVectorImpl<int64_t> &resultShape);
  mlir::LogicalResult lower(transformer::MaskBiasOp op);
  mlir::LogicalResult lower(transformer::MergeHeadsOp op);
  mlir::LogicalResult lower(transformer::RelativeBiasOp op);
  mlir::LogicalResult lower(transformer::RepeatHeadsOp op);
  mlir::LogicalResult lower(transformer::SelectOp op);
  mlir::LogicalResult lower(transformer::SoftmaxOp op);
  mlir::LogicalResult lower(transformer::SplitHeadsOp op);
  mlir::LogicalResult lower(transformer::TransposeOp op);

  // --- Caches
  mlir::LogicalResult lower(transformer::AppendOp op);
  mlir::LogicalResult lower(transformer::CachedOp op);
  // --- States
  /// Where something still has to read the state as it was, nothing: reading it comes back here.
  mlir::LogicalResult lower(transformer::AccumulateOp op);
  mlir::LogicalResult lower(transformer::PrefixMeanOp op);

  // --- Caches and states
  /// The cache that is the buffer of a value; null if that is no cache.
  dataflow::CacheType cacheOf(mlir::Value value) {
    return llvm::dyn_cast_or_null<dataflow::CacheType>(bufferOf(value) ? bufferOf(value).getType()
                                                                       : mlir::Type());
  }
  /// A cache with positions of another shape.
  mlir::LogicalResult reshapeCache(mlir::Operation *op, llvm::ArrayRef<int64_t> shape);
  /// Fails if the operation reads a cache as if it were rows of the batch.
  mlir::LogicalResult checkCacheUse(mlir::Operation *op);
  /// Fails if the rows or the queries of the operation are those of other segments than the
  /// entry's.
  mlir::LogicalResult checkRows(mlir::Operation *op);
  /// Fails if the operation hides later keys from rows that are none of the keys' positions.
  mlir::LogicalResult checkVisibility(mlir::Operation *op, transformer::Visibility visibility,
                                      mlir::Value keys);
  /// Notes for each of the segments of keys a cache that has as many positions.
  void findSegmentCaches();
  /// The cache argument that has the keys of segments; null for the entry's own rows, the segments
  /// themselves where no cache has them.
  mlir::Value keysOfSegments(mlir::Value segments);
  /// Notes which keys `op` and the scores or the mask that it gives are about. Fails if its
  /// operands are about different keys.
  mlir::LogicalResult noteKeys(mlir::Operation *op);
  /// The cache whose positions the keys of `op` are; null where they are rows of the entry. Fails
  /// if no cache has them.
  mlir::FailureOr<mlir::Value> keysOf(mlir::Operation *op);

  // --- What they share
  /// The buffer of a value, after its producer was lowered.
  mlir::Value bufferOf(mlir::Value value) { return buffers.lookup(value); }
  dataflow::BufferType typeOf(mlir::Value value) {
    return llvm::cast<dataflow::BufferType>(bufferOf(value).getType());
  }
  dataflow::BufferType denseBuffer(llvm::ArrayRef<int64_t> shape);
  /// A parameter as a buffer, read once for each graph.
  mlir::Value parameter(mlir::FlatSymbolRefAttr symbol);
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
                           mlir::FloatAttr hidden = nullptr, bool relative = false);
  /// An element-wise operation: a rows kernel where rows allow it, else a nest.
  mlir::LogicalResult elementwise(mlir::Operation *op, llvm::StringRef stem,
                                  llvm::ArrayRef<mlir::Value> operands, EpilogueBuilder epilogue);
  /// The linear map of each of `groups` equal parts of the input's columns.
  mlir::LogicalResult linear(mlir::Operation *op, mlir::FlatSymbolRefAttr weight,
                             mlir::FlatSymbolRefAttr bias, int64_t groups);
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
  const CacheLayouts &layouts;
  mlir::OpBuilder builder;
  dataflow::GraphOp graph;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters;
  /// The exclusive upper bound of each integer argument, by the argument's buffer.
  llvm::DenseMap<mlir::Value, int64_t> limits;
  /// The segments of the entry's own rows.
  mlir::Value rows;
  /// A cache argument with the positions of each of the other segments.
  llvm::DenseMap<mlir::Value, mlir::Value> segmentCaches;
  /// What the keys of scores, masks and views of caches are, and those of operations, as
  /// keysOfSegments() gives it; where they are rows there is no entry.
  llvm::DenseMap<mlir::Value, mlir::Value> keysOfValue;
  llvm::DenseMap<mlir::Operation *, mlir::Value> keysOfOperation;
  /// How often each head of a cache is repeated, where no kernel has done it.
  llvm::DenseMap<mlir::Value, int64_t> cacheRepeats;
  /// Axes of caches whose transposition no kernel has done: axis i is axis order[i] of the cache.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> cacheOrders;
  /// Rows of the longest sentence; 0: any.
  int64_t maxLength = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
