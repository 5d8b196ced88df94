// SPDX-License-Identifier: Apache-2.0
///
/// Buffers, parameters and dispatches of the entry that is being lowered.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Returns whether a value has rows of the batch or positions of a cache.
bool hasRows(Value value) {
  auto buffer = dyn_cast<BufferType>(value.getType());
  return !buffer || llvm::any_of(buffer.getShape(), [](int64_t size) { return size < 0; });
}

} // namespace

LogicalResult checkType(Type type, function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32()) {
    return success();
  }
  SmallVector<int64_t> shape = llvm::map_to_vector(tensor.getShape(), [](int64_t size) {
    return ShapedType::isDynamic(size) ? tokensDimension : size;
  });
  return BufferType::verify(emitError, shape, tensor.getElementType(), /*rowStride=*/0);
}

bool readsEarlierRuns(Block &entry) {
  return llvm::any_of(entry, [](Operation &op) {
    return isa<transformer::CachedOp>(op) ||
           (!isa<transformer::StoreOp>(op) && !op.hasTrait<OpTrait::IsTerminator>() &&
            llvm::any_of(op.getOperandTypes(), llvm::IsaPred<transformer::StateType>));
  });
}

EntryContext::EntryContext(GraphOp graph, SymbolTable &symbols)
    : builder(OpBuilder::atBlockEnd(&graph.getBody().front())), symbols(symbols) {}

// --- Values ----------------------------------------------------------------------------------

CacheType EntryContext::cacheOf(Value value) const {
  Value buffer = bufferOf(value);
  return buffer ? dyn_cast<CacheType>(buffer.getType()) : CacheType();
}

const CacheView *EntryContext::viewOf(Value value) const {
  auto found = views.find(value);
  return found == views.end() ? nullptr : &found->second;
}

LogicalResult EntryContext::define(Operation *op, Value buffer) {
  buffers[op->getResult(0)] = buffer;
  return success();
}

LogicalResult EntryContext::defineView(Operation *op, Value cache, CacheView view) {
  views[op->getResult(0)] = std::move(view);
  return define(op, cache);
}

// --- Parameters ------------------------------------------------------------------------------

Value EntryContext::parameter(FlatSymbolRefAttr symbol) {
  Value &buffer = parameters[symbol.getAttr()];
  if (!buffer) {
    transformer::ParameterOp op = parameterOp(symbol);
    // A value defined in a loop is not visible after it.
    OpBuilder::InsertionGuard guard(builder);
    if (auto loop = dyn_cast<LoopOp>(builder.getInsertionBlock()->getParentOp())) {
      builder.setInsertionPoint(loop);
    }
    buffer = ParameterOp::create(builder, op.getLoc(), denseBuffer(op.getTensorType().getShape()),
                                 symbol);
  }
  return buffer;
}

Value EntryContext::transposedParameter(FlatSymbolRefAttr symbol) {
  auto expression = transformer::ParameterExpressionAttr::get(
      builder.getContext(), transformer::ExpressionKind::Transpose, {symbol}, {});
  std::string name = (symbol.getValue() + ".transposed").str();
  auto known = symbols.lookup<transformer::ParameterOp>(name);
  if (known && known.getExpressionAttr() == expression) {
    return parameter(FlatSymbolRefAttr::get(known.getSymNameAttr()));
  }
  transformer::ParameterOp matrix = parameterOp(symbol);
  ArrayRef<int64_t> shape = matrix.getTensorType().getShape();
  auto type = RankedTensorType::get({shape[1], shape[0]}, builder.getF32Type());
  OpBuilder beside(builder.getContext());
  auto created =
      transformer::ParameterOp::create(beside, matrix.getLoc(), beside.getStringAttr(name),
                                       TypeAttr::get(type), StringAttr(), expression);
  return parameter(
      FlatSymbolRefAttr::get(symbols.insert(created, std::next(Block::iterator(matrix)))));
}

// --- Dispatches ------------------------------------------------------------------------------

BufferType EntryContext::denseBuffer(ArrayRef<int64_t> shape) {
  return BufferType::get(builder.getContext(), shape, builder.getF32Type(), /*rowStride=*/0);
}

LogicalResult EntryContext::dispatch(Operation *op, const KernelParts &parts,
                                     EpilogueBuilder epilogue, EpilogueBuilder pairs) {
  DispatchOp created =
      heddle::createDispatch(builder, symbols, op->getLoc(), parts, epilogue, pairs);
  return define(op, created.getResult(0));
}

LogicalResult EntryContext::dispatchTo(ArrayRef<Value> results, Location location,
                                       const KernelParts &parts) {
  DispatchOp created = heddle::createDispatch(builder, symbols, location, parts);
  for (auto [value, buffer] : llvm::zip_equal(results, created.getResults())) {
    buffers[value] = buffer;
  }
  return success();
}

Value EntryContext::createDispatch(Location location, const KernelParts &parts) {
  return heddle::createDispatch(builder, symbols, location, parts).getResult(0);
}

LogicalResult EntryContext::nest(Operation *op, const NestParts &nest, EpilogueBuilder term) {
  if (!nest.result.hasRows()) {
    if (llvm::any_of(nest.inputs, hasRows)) {
      return op->emitOpError("has a result without rows: no kernel sums over the rows of a batch");
    }
    return op->emitOpError("has no rows: mathematics of weights alone has no kernel");
  }
  KernelParts parts;
  parts.stem = nest.stem;
  parts.inputs = nest.inputs;
  parts.results = {nest.result};
  bool keysFrom = false;
  StringRef axes = nest.axes;
  if (axes.contains('k') && axes.contains('t')) {
    FailureOr<Value> cache = keysOf(op);
    if (failed(cache)) {
      return failure();
    }
    auto isCache = [](Value input) { return isa<CacheType>(input.getType()); };
    keysFrom = *cache && llvm::none_of(nest.inputs, isCache);
    if (keysFrom) {
      parts.inputs.push_back(*cache);
    }
  }
  parts.computes =
      NestAttr::get(builder.getContext(), builder.getStringAttr(axes), nest.reduction, nest.hidden,
                    nest.visibility, nest.relative, keysFrom, nest.slides);
  return dispatch(op, parts, term);
}

Value EntryContext::copy(Location location, Value source) {
  return createCopy(builder, symbols, location, source).getResult(0);
}

// --- Order of rows ---------------------------------------------------------------------------

Value EntryContext::sourceOf(Value buffer) const {
  const auto *found = llvm::find_if(moves, [&](const auto &each) { return each.second == buffer; });
  return found == moves.end() ? Value() : found->first.first;
}

Value EntryContext::moved(Location location, Value buffer, RowSpace space) {
  auto type = cast<BufferType>(buffer.getType());
  int64_t rows = RowDimension{space}.number();
  if (type.getShape().front() == rows) {
    return buffer;
  }
  if (type.getRowSpace() == RowSpace::tokens() && unmoved(buffer) != buffer) {
    // Moves directly from the original order, which may be the requested one.
    return moved(location, unmoved(buffer), space);
  }
  Value state = sourceOf(buffer);
  if (state && isa<StateType>(state.getType()) && space == RowSpace::ranks()) {
    // Moves directly from the state.
    auto kernel = symbols.lookup<KernelOp>(buffer.getDefiningOp<DispatchOp>().getKernel());
    return loaded(location, state, cast<LoadAttr>(kernel.getComputes()).getGiven(), space);
  }
  Value &result = moves[{buffer, {rows, 0}}];
  if (!result) {
    KernelParts parts;
    parts.stem = "collect";
    // The shape of rows of one width, or of numbers of keys.
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = rows;
    parts.computes = CollectAttr::get(builder.getContext(), {shape[1]});
    parts.inputs = {buffer};
    parts.results = {denseBuffer(shape)};
    result = createDispatch(location, parts);
  }
  return result;
}

Value EntryContext::loaded(Location location, Value state, bool given, RowSpace space) {
  int64_t rows = RowDimension{space}.number();
  Value &result = moves[{state, {rows, given}}];
  if (!result) {
    KernelParts parts;
    parts.stem = "load";
    parts.computes = LoadAttr::get(builder.getContext(), given);
    parts.inputs = {state};
    auto type = cast<StateType>(state.getType());
    SmallVector<int64_t> shape = {rows, type.getWidth()};
    if (type.getKeyed()) {
      shape.push_back(longestDimension);
    }
    parts.results = {denseBuffer(shape)};
    result = createDispatch(location, parts);
  }
  return result;
}

Value EntryContext::unmoved(Value buffer) const {
  Value source = sourceOf(buffer);
  return source && isa<BufferType>(source.getType()) ? source : buffer;
}

void EntryContext::eraseUnreadMoves() {
  for (auto &[move, result] : llvm::reverse(moves)) {
    auto dispatch = result.getDefiningOp<DispatchOp>();
    if (dispatch->use_empty()) {
      symbols.erase(symbols.lookup(dispatch.getKernel()));
      dispatch.erase();
    }
  }
  moves.clear();
}

// --- Keys and bounds -------------------------------------------------------------------------

LogicalResult EntryContext::checkCachePositions(Operation *op, const CachePositions &use) const {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!cacheOf(value) || isa<transformer::CacheType, transformer::StateType>(value.getType())) {
      continue;
    }
    bool isChanged = viewOf(value) != nullptr;
    bool isAllowed = false;
    switch (use.kind) {
    case CachePositions::None:
      break;
    case CachePositions::Views:
      isAllowed = !isChanged;
      break;
    case CachePositions::Transposes:
    case CachePositions::Contracts:
      isAllowed = true;
      break;
    case CachePositions::Attends: {
      int number = static_cast<int>(operand.getOperandNumber());
      isAllowed = !isChanged && (number == use.key || number == use.value);
      break;
    }
    }
    if (!isAllowed) {
      return op->emitOpError("reads a cache as rows, expected only attention and its mathematics "
                             "to read one");
    }
  }
  return success();
}

LogicalResult EntryContext::checkVisibility(Operation *op,
                                            const transformer::Visibility &visibility,
                                            Value queries, Value keySegments) const {
  if (visibility.isAll()) {
    return success();
  }
  StringRef kind = visibility.isCausal() ? "causal" : "local";
  // Segments without a defining operation are the rows or a memory.
  if (keySegments != rows && !keySegments.getDefiningOp()) {
    return op->emitOpError("is ")
           << kind << " over a memory, expected keys of the entry's rows or of their history";
  }
  RowSpace querySpace = spaceOf(queries).value_or(RowSpace::tokens());
  RowSpace keySpace = spaceOf(keySegments).value_or(RowSpace::tokens());
  if (querySpace != keySpace) {
    return op->emitOpError("is ")
           << kind << " over keys of '" << keySpace.text() << "' for rows of '" << querySpace.text()
           << "', expected one row space: only there a key is before a row or after it";
  }
  return success();
}

LogicalResult EntryContext::checkDistances(Operation *op, Value queries, Value keySegments) const {
  RowSpace querySpace = spaceOf(queries).value_or(RowSpace::tokens());
  RowSpace keySpace = spaceOf(keySegments).value_or(RowSpace::tokens());
  return querySpace == keySpace ? success()
                                : op->emitOpError("has a bias by distance from rows of '")
                                      << querySpace.text() << "' to keys of '" << keySpace.text()
                                      << "', expected one row space";
}

// --- Row spaces ------------------------------------------------------------------------------

std::optional<RowSpace> EntryContext::spaceOf(Value segments) const {
  auto loop = dyn_cast<LoopOp>(builder.getInsertionBlock()->getParentOp());
  if (loop && segments == rows) {
    // The rows of the step.
    return loop.getRows();
  }
  transformer::SegmentRows its = transformer::rowsOfSegments(segments);
  return its.rows == rows ? its.space : std::nullopt;
}

LogicalResult EntryContext::checkRows(Operation *op, StringRef verb, Value buffer,
                                      Value segments) const {
  std::optional<RowSpace> expected = spaceOf(segments);
  auto type = dyn_cast<BufferType>(buffer.getType());
  if (!expected || !type || type.getRowSpace() == expected) {
    return success();
  }
  return op->emitOpError() << verb << " rows of " << dimensionText(type.getShape().front())
                           << ", expected rows of " << expected->text();
}

LogicalResult EntryContext::limitIds(Operation *op, Value ids, FlatSymbolRefAttr table) {
  return limitIds(op, ids, parameterOp(table).getTensorType().getDimSize(0));
}

LogicalResult EntryContext::limitIds(Operation *op, Value ids, int64_t count) {
  Value buffer = bufferOf(ids);
  if (!buffer) {
    return op->emitOpError("looks up ids that are neither an input nor positions");
  }
  auto [limit, isNew] = limits.try_emplace(buffer, count);
  limit->second = std::min(limit->second, count);
  return success();
}

LogicalResult EntryContext::limitPositions(Operation *op, Value segments, FlatSymbolRefAttr table,
                                           int64_t offset) {
  int64_t tableRows = parameterOp(table).getTensorType().getDimSize(0);
  if (offset >= tableRows) {
    return op->emitOpError("looks up positions from ")
           << offset << " in '" << table.getValue() << "', which has " << tableRows << " rows";
  }
  limitPositions(segments, tableRows - offset);
  return success();
}

void EntryContext::limitPositions(Value segments, int64_t most) {
  // In tokens: a row of blocks covers several.
  RowSpace space = spaceOf(segments).value_or(RowSpace::tokens());
  if (space.hasWidths()) {
    int64_t &limit = rowLimits.try_emplace(RowDimension{space}.number(), most).first->second;
    limit = std::min(limit, most);
    return;
  }
  int64_t tokens = space.tokensWithin(most);
  maxLength = maxLength == 0 ? tokens : std::min(maxLength, tokens);
}

RowLimitsAttr EntryContext::getMaxRows() const {
  SmallVector<SizeTerm> terms;
  for (auto [rows, most] : rowLimits) {
    terms.push_back({rows, 0, static_cast<uint64_t>(most)});
  }
  llvm::sort(terms);
  return terms.empty() ? RowLimitsAttr() : RowLimitsAttr::get(builder.getContext(), terms);
}

std::optional<int64_t> EntryContext::idLimit(Value buffer) const {
  auto found = limits.find(buffer);
  return found == limits.end() ? std::nullopt : std::optional(found->second);
}

} // namespace heddle
