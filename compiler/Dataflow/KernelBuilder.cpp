// SPDX-License-Identifier: Apache-2.0
///
/// Kernels are symbols beside the graph; a dispatch has the kernel's operands in the kernel's
/// order.
#include "compiler/Dataflow/KernelBuilder.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

bool isRows(BufferType type) {
  return type.getElementType().isF32() && type.getShape().size() == 2 && type.getRowSpace() &&
         type.getShape()[1] > 0;
}

DispatchOp createDispatch(OpBuilder &builder, SymbolTable &symbols, Location location,
                          const KernelParts &parts, EpilogueBuilder epilogue,
                          EpilogueBuilder pairs) {
  SmallVector<Value> operands(parts.inputs);
  llvm::append_range(operands, parts.elementwise);
  llvm::append_range(operands, parts.normOperands);
  auto type = builder.getFunctionType(TypeRange(operands), parts.results);

  auto graph = builder.getInsertionBlock()->getParent()->getParentOfType<GraphOp>();
  OpBuilder kernelBuilder(builder.getContext());
  auto kernel =
      KernelOp::create(kernelBuilder, location, parts.stem, type, parts.computes, parts.norm);
  auto writeRegion = [&](Region &region, size_t arguments, EpilogueBuilder maths) {
    SmallVector<Type> types(arguments, builder.getF32Type());
    SmallVector<Location> locations(arguments, location);
    Block *block = kernelBuilder.createBlock(&region, {}, types, locations);
    YieldOp::create(kernelBuilder, location,
                    maths ? maths(kernelBuilder, location, block->getArguments())
                          : Value(block->getArgument(0)));
  };
  // A region that maps scores may take the bias of a score.
  size_t arguments = numComputedArguments(parts.computes, type) + parts.elementwise.size() +
                     (parts.takesBias ? 1 : 0);
  writeRegion(kernel.getEpilogue(), arguments, epilogue);
  if (pairs) {
    writeRegion(kernel.getPairs(), 2, pairs);
  }
  StringAttr symbol = symbols.insert(kernel, Block::iterator(graph));
  return DispatchOp::create(builder, location, parts.results, FlatSymbolRefAttr::get(symbol),
                            operands, builder.getDenseI64ArrayAttr(kernel.getChanges()),
                            ArrayAttr());
}

/// Returns the cache whose positions the keys of scores are: it is an operand of the kernel that
/// computes them. Null for rows.
static Value keysOf(Value scores) {
  while (auto view = scores.getDefiningOp<ReshapeOp>()) {
    scores = view.getSource();
  }
  auto dispatch = scores.getDefiningOp<DispatchOp>();
  if (!dispatch) {
    return {};
  }
  auto isCache = [](Value input) { return isa<CacheType>(input.getType()); };
  auto found = llvm::find_if(dispatch.getInputs(), isCache);
  return found == dispatch.getInputs().end() ? Value() : *found;
}

/// Returns whether a buffer holds numbers of keys that no nest computes: loop-carried, kept or
/// moved ones. The number of keys per row is unknown then; they are copied as rows.
static bool areCarriedKeys(SymbolTable &symbols, Value source) {
  auto type = cast<BufferType>(source.getType());
  if (type.getShape().size() != 3 || type.getWidth() != longestDimension ||
      source.getDefiningOp<ReshapeOp>()) {
    return false;
  }
  auto dispatch = source.getDefiningOp<DispatchOp>();
  return !dispatch ||
         isa<CollectAttr, LoadAttr>(symbols.lookup<KernelOp>(dispatch.getKernel()).getComputes());
}

DispatchOp createCopy(OpBuilder &builder, SymbolTable &symbols, Location location, Value source) {
  auto type = cast<BufferType>(source.getType());
  KernelParts parts;
  parts.stem = "copy";
  parts.inputs = {source};
  parts.results = {BufferType::get(builder.getContext(), type.getShape(), type.getElementType(),
                                   /*rowStride=*/0)};
  if (isRows(type)) {
    parts.computes = RowsAttr::get(builder.getContext(), type.getWidth());
  } else if (areCarriedKeys(symbols, source)) {
    parts.computes = CollectAttr::get(builder.getContext(), {type.getShape()[1]});
  } else {
    std::string axes = axesOf(type);
    Value keys = type.hasLongest() ? keysOf(source) : Value();
    parts.computes = NestAttr::get(builder.getContext(), builder.getStringAttr(axes + "->" + axes),
                                   ReductionKind::None, FloatAttr(), transformer::VisibilityAttr(),
                                   /*relative=*/false,
                                   /*keysFrom=*/static_cast<bool>(keys), /*slides=*/false);
    if (keys) {
      parts.inputs.push_back(keys);
    }
  }
  return createDispatch(builder, symbols, location, parts);
}

KernelOp copyKernel(SymbolTable &symbols, KernelOp kernel, ArrayRef<DispatchOp> dispatches) {
  auto copy = cast<KernelOp>(kernel->clone());
  copy->setLoc(dispatches.front()->getLoc());
  const StringAttr symbol = symbols.insert(copy, std::next(Block::iterator(kernel)));
  for (DispatchOp dispatch : dispatches) {
    dispatch.setKernelAttr(FlatSymbolRefAttr::get(symbol));
  }
  return copy;
}

llvm::DenseMap<StringAttr, int64_t> countRuns(ModuleOp module) {
  llvm::DenseMap<StringAttr, int64_t> runs;
  for (auto graph : module.getOps<GraphOp>()) {
    for (auto dispatch : graph.getDispatches()) {
      ++runs[dispatch.getKernelAttr().getAttr()];
    }
  }
  return runs;
}

std::string axesOf(BufferType type) {
  // Excludes t, k, and r, the axis of relative distances.
  constexpr llvm::StringLiteral constants = "hdefgijlmnopqs";
  std::string axes;
  size_t used = 0;
  for (int64_t dimension : type.getShape()) {
    if (std::optional<RowDimension> rows = RowDimension::of(dimension)) {
      axes += rows->isLongest ? 'k' : 't';
    } else {
      axes += constants[used++ % constants.size()];
    }
  }
  return axes;
}

} // namespace heddle
