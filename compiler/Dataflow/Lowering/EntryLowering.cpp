// SPDX-License-Identifier: Apache-2.0
///
/// The signature of an entry, and what the lowerings of all operations share.
#include "compiler/Dataflow/Lowering/EntryLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

constexpr llvm::StringLiteral transformerName = "transformer.name";
constexpr llvm::StringLiteral transformerOptional = "transformer.optional";
constexpr llvm::StringLiteral transformerObserved = "transformer.observed";
// An id that no table bounds may be any number that is not negative.
constexpr int64_t anyId = int64_t{1} << 31;

/// The buffer of an argument: its first dimension counts tokens. Null if it is no activation.
BufferType argumentBuffer(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 || !tensor.isDynamicDim(0) ||
      llvm::any_of(tensor.getShape().drop_front(), ShapedType::isDynamic)) {
    return {};
  }
  Type element = tensor.getElementType();
  if (!element.isF32() && !element.isInteger(32)) {
    return {};
  }
  SmallVector<int64_t> shape(tensor.getShape());
  shape.front() = BufferType::kTokens;
  return BufferType::get(type.getContext(), shape, element, /*rowStride=*/0);
}

/// Whether a buffer can hold values of this type; reports if not.
LogicalResult checkType(Type type, function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32()) {
    return success();
  }
  SmallVector<int64_t> shape = llvm::map_to_vector(tensor.getShape(), [](int64_t size) {
    return ShapedType::isDynamic(size) ? BufferType::kTokens : size;
  });
  return BufferType::verify(emitError, shape, tensor.getElementType(), /*rowStride=*/0);
}

/// Whether a value is one of rows of the batch, or of positions of a cache.
bool hasRows(Value value) {
  auto buffer = dyn_cast<BufferType>(value.getType());
  return !buffer || llvm::any_of(buffer.getShape(), [](int64_t size) { return size < 0; });
}

/// Whether an operation is lowered where its result is first used: what is added to scores runs
/// over the keys of a cache, whose rows of this run must be appended by then.
bool isLate(Operation *op) { return isa<transformer::MaskBiasOp, transformer::RelativeBiasOp>(op); }

} // namespace

LogicalResult EntryLowering::run() {
  if (!entry.getBody().hasOneBlock()) {
    return entry.emitError("entry '") << entry.getSymName() << "' has no body of one block";
  }
  graph = GraphOp::create(builder, entry.getLoc(), entry.getSymNameAttr(),
                          TypeAttr::get(builder.getFunctionType({}, {})), ArrayAttr(), ArrayAttr(),
                          SizeAttr(), builder.getI64IntegerAttr(0));
  builder.createBlock(&graph.getBody());
  if (failed(lowerArguments())) {
    return failure();
  }
  for (Operation &op : entry.getBody().front()) {
    if (!isLate(&op) && failed(lowerOperation(&op))) {
      return failure();
    }
  }
  setSignature();
  symbols.erase(entry);
  symbols.insert(graph);
  return success();
}

LogicalResult EntryLowering::lowerArguments() {
  for (BlockArgument argument : entry.getArguments()) {
    if (isa<transformer::SegmentsType>(argument.getType())) {
      if (failed(lowerSegments(argument))) {
        return failure();
      }
      continue;
    }
    if (failed(checkType(argument.getType(), [&] { return entry.emitError(); }))) {
      return failure();
    }
    if (!entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName)) {
      return entry.emitError("argument ") << argument.getArgNumber() << " of entry '"
                                          << entry.getSymName() << "' has no transformer.name";
    }
    if (isa<transformer::CacheType>(argument.getType())) {
      if (failed(lowerCache(argument))) {
        return failure();
      }
      continue;
    }
    if (isa<transformer::StateType>(argument.getType())) {
      if (failed(lowerState(argument))) {
        return failure();
      }
      continue;
    }
    BufferType type = argumentBuffer(argument.getType());
    if (!type) {
      return entry.emitError("argument ")
             << argument.getArgNumber() << " of entry '" << entry.getSymName() << "' is "
             << argument.getType() << ", expected rows of tokens";
    }
    buffers[argument] = graph.getBody().front().addArgument(type, argument.getLoc());
  }
  findSegmentCaches();
  return success();
}

LogicalResult EntryLowering::lowerSegments(BlockArgument argument) {
  // The first are those of the rows; others are of a memory, which has a name.
  if (rows && !entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName)) {
    return entry.emitError("entry '")
           << entry.getSymName() << "' has several segments without a transformer.name, expected "
           << "one";
  }
  rows = rows ? rows : argument;
  return success();
}

LogicalResult EntryLowering::lowerOperation(Operation *op) {
  for (Value operand : op->getOperands()) {
    Operation *late = operand.getDefiningOp();
    if (late && isLate(late) && !bufferOf(operand) && failed(lowerOperation(late))) {
      return failure();
    }
  }
  for (Type type : op->getResultTypes()) {
    if (failed(checkType(type, [&] { return op->emitOpError(); }))) {
      return failure();
    }
  }
  if (failed(checkRows(op)) || failed(checkCacheUse(op)) || failed(noteKeys(op))) {
    return failure();
  }
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<transformer::AccumulateOp, transformer::ActivateOp, transformer::AddOp,
            transformer::AppendOp, transformer::AttendOp, transformer::AttentionOp,
            transformer::AttentionWeightsOp, transformer::CachedOp, transformer::ColumnsOp,
            transformer::ContractOp, transformer::EmbedOp, transformer::GatherOp,
            transformer::GroupedLinearOp, transformer::LayerNormOp, transformer::LinearOp,
            transformer::MaskBiasOp, transformer::MergeHeadsOp, transformer::MultiplyOp,
            transformer::NormalizeOp, transformer::PoolOp, transformer::PrefixMeanOp,
            transformer::RelativeBiasOp, transformer::RepeatHeadsOp, transformer::RmsNormOp,
            transformer::ScaleOp, transformer::SelectOp, transformer::SoftmaxOp,
            transformer::SplitHeadsOp, transformer::TransposeOp>(
          [&](auto typed) { return lower(typed); })
      .Case([&](transformer::WeightOp weight) {
        return define(weight, parameter(weight.getParameterAttr()));
      })
      .Case([&](func::ReturnOp op) { return lowerReturn(op); })
      // What they say is read where they are used.
      .Case([&](transformer::MaskOp mask) {
        return checkVisibility(mask, mask.getVisibility(), mask.getKeys());
      })
      .Case<transformer::HistoryOp, transformer::PositionsOp>([](Operation *) { return success(); })
      .Default([](Operation *other) {
        return other->emitOpError("has no kernel at the dataflow level");
      });
}

LogicalResult EntryLowering::lowerReturn(func::ReturnOp op) {
  SmallVector<Value> results;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    if (!entry.getResultAttrOfType<StringAttr>(index, transformerName)) {
      return entry.emitError("result ")
             << index << " of entry '" << entry.getSymName() << "' has no transformer.name";
    }
    Value buffer = bufferOf(operand);
    bool isState = isa<transformer::StateType>(operand.getType());
    if (isState || isa<transformer::CacheType>(operand.getType())) {
      if (!isa_and_nonnull<transformer::AccumulateOp, transformer::AppendOp>(
              operand.getDefiningOp()) ||
          transformer::cacheName(operand) != entry.getResultAttr(index, transformerName)) {
        return op.emitOpError("returns another ")
               << (isState ? "state" : "cache") << " as result " << index
               << ", expected the argument of its name, "
               << (isState ? "accumulated into" : "appended to");
      }
      results.push_back(buffer);
      continue;
    }
    auto type = buffer ? cast<BufferType>(buffer.getType()) : BufferType();
    if (!type || !type.getElementType().isF32() ||
        (type.getShape().front() != BufferType::kTokens &&
         type.getShape().front() != BufferType::kSequences)) {
      return entry.emitError("result ")
             << index << " of entry '" << entry.getSymName() << "' is " << operand.getType()
             << ", expected f32 rows of tokens or sequences";
    }
    // A caller's buffer is dense.
    if (type.getRowStride() != 0) {
      buffer = createCopy(builder, symbols, operand.getLoc(), buffer).getResult();
    }
    results.push_back(buffer);
  }
  OutputOp::create(builder, op.getLoc(), results);
  return success();
}

void EntryLowering::setSignature() {
  Block &body = graph.getBody().front();
  SmallVector<Attribute> argumentAttributes;
  SmallVector<Attribute> resultAttributes;
  for (BlockArgument argument : entry.getArguments()) {
    Value buffer = bufferOf(argument);
    if (!buffer) {
      continue;
    }
    NamedAttrList attributes;
    unsigned index = argument.getArgNumber();
    attributes.append("dataflow.name", entry.getArgAttr(index, transformerName));
    auto type = dyn_cast<BufferType>(buffer.getType());
    if (type && type.getElementType().isInteger(32)) {
      auto limit = limits.find(buffer);
      attributes.append("dataflow.limit",
                        builder.getI64IntegerAttr(limit == limits.end() ? anyId : limit->second));
    }
    if (entry.getArgAttr(index, transformerOptional)) {
      attributes.append("dataflow.optional", builder.getUnitAttr());
    }
    argumentAttributes.push_back(attributes.getDictionary(builder.getContext()));
  }
  for (unsigned index = 0; index < entry.getNumResults(); ++index) {
    NamedAttrList attributes;
    attributes.append("dataflow.name", entry.getResultAttr(index, transformerName));
    if (Attribute observed = entry.getResultAttr(index, transformerObserved)) {
      attributes.append("dataflow.observed", observed);
    }
    resultAttributes.push_back(attributes.getDictionary(builder.getContext()));
  }
  graph.setFunctionTypeAttr(TypeAttr::get(
      builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes())));
  graph.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  graph.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  graph.setMaxLength(maxLength);
}

BufferType EntryLowering::denseBuffer(ArrayRef<int64_t> shape) {
  return BufferType::get(builder.getContext(), shape, builder.getF32Type(), /*rowStride=*/0);
}

Value EntryLowering::parameter(FlatSymbolRefAttr symbol) {
  Value &buffer = parameters[symbol.getAttr()];
  if (!buffer) {
    transformer::ParameterOp op = parameterOp(symbol);
    buffer = ParameterOp::create(builder, op.getLoc(), denseBuffer(op.getTensorType().getShape()),
                                 symbol);
  }
  return buffer;
}

LogicalResult EntryLowering::define(Operation *op, Value buffer) {
  buffers[op->getResult(0)] = buffer;
  return success();
}

LogicalResult EntryLowering::dispatch(Operation *op, const KernelParts &parts,
                                      EpilogueBuilder epilogue) {
  DispatchOp created = createDispatch(builder, symbols, op->getLoc(), parts, epilogue);
  return define(op, created.getResult());
}

LogicalResult EntryLowering::nest(Operation *op, StringRef stem, const Twine &axes,
                                  ReductionKind reduction, ArrayRef<Value> inputs,
                                  BufferType result, EpilogueBuilder term, FloatAttr hidden,
                                  bool relative) {
  if (!result.hasSymbol(BufferType::kTokens) && !result.hasSymbol(BufferType::kSequences)) {
    if (llvm::any_of(inputs, hasRows)) {
      return op->emitOpError("has a result without rows: no kernel sums over the rows of a batch");
    }
    return op->emitOpError("has no rows: mathematics of weights alone has no kernel");
  }
  StringAttr specification = builder.getStringAttr(axes);
  KernelParts parts;
  parts.stem = stem;
  parts.inputs.assign(inputs.begin(), inputs.end());
  parts.result = result;
  bool keysFrom = false;
  if (specification.getValue().contains('k') && specification.getValue().contains('t')) {
    FailureOr<Value> keys = keysOf(op);
    if (failed(keys)) {
      return failure();
    }
    keysFrom =
        *keys && llvm::none_of(inputs, [](Value input) { return isa<CacheType>(input.getType()); });
    if (keysFrom) {
      parts.inputs.push_back(*keys);
    }
  }
  parts.computes =
      NestAttr::get(builder.getContext(), specification, reduction, hidden, relative, keysFrom);
  return dispatch(op, parts, term);
}

LogicalResult EntryLowering::limitIds(Operation *op, Value ids, FlatSymbolRefAttr table) {
  Value buffer = bufferOf(ids);
  if (!buffer) {
    return op->emitOpError("looks up ids that are neither an input nor positions");
  }
  int64_t rows = parameterOp(table).getTensorType().getDimSize(0);
  auto [limit, isNew] = limits.try_emplace(buffer, rows);
  limit->second = std::min(limit->second, rows);
  return success();
}

LogicalResult EntryLowering::limitPositions(Operation *op, FlatSymbolRefAttr table,
                                            int64_t offset) {
  int64_t rows = parameterOp(table).getTensorType().getDimSize(0);
  if (offset >= rows) {
    return op->emitOpError("looks up positions from ")
           << offset << " in '" << table.getValue() << "', which has " << rows << " rows";
  }
  maxLength = maxLength == 0 ? rows - offset : std::min(maxLength, rows - offset);
  return success();
}

} // namespace heddle
