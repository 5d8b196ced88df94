// SPDX-License-Identifier: Apache-2.0
///
/// The conversion names no operation that has a pattern: it gets lowering order, segments and cache
/// use from the pattern.
#include "compiler/Dataflow/Lowering/EntryLowering.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

constexpr llvm::StringLiteral transformerName = "transformer.name";
constexpr llvm::StringLiteral transformerOptional = "transformer.optional";
constexpr llvm::StringLiteral transformerPad = "transformer.pad";
constexpr llvm::StringLiteral transformerMostRows = "transformer.most_rows";
constexpr llvm::StringLiteral transformerLimit = "transformer.limit";
constexpr llvm::StringLiteral transformerObserved = "transformer.observed";
// What a port says about its tensor in files.
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> tensorAttributes[] = {
    {"transformer.axes", "dataflow.axes"},
    {"transformer.after", "dataflow.after"},
    {"transformer.rows", "dataflow.rows"}};
// The limit of ids that no table bounds: any number that is not negative.
constexpr int64_t anyId = int64_t{1} << 31;

/// Returns the buffer type of an argument, whose rows are tokens. Null if it is no activation.
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
  shape.front() = tokensDimension;
  return BufferType::get(type.getContext(), shape, element, /*rowStride=*/0);
}

// --- Order -----------------------------------------------------------------------------------

LoweringOrder orderOf(Operation *op) {
  const Pattern *pattern = findPattern(op);
  return pattern ? pattern->order : LoweringOrder::InPlace;
}

/// Appends `op` after those of its producers that are deferred to their first user.
void append(Operation *op, llvm::SetVector<Operation *> &order) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && orderOf(producer) == LoweringOrder::AtFirstUse && !order.contains(producer)) {
      append(producer, order);
    }
  }
  order.insert(op);
}

/// Returns whether all readers of the first operand of `op` are already ordered.
bool areReadersPlaced(Operation *op, const llvm::SetVector<Operation *> &order) {
  return llvm::all_of(op->getOperand(0).getUsers(), [&](Operation *user) {
    return user == op || user->hasTrait<OpTrait::IsTerminator>() || order.contains(user);
  });
}

/// Returns the operations of an entry in lowering order. Operations that are deferred to a first
/// user and have none are dropped.
llvm::SetVector<Operation *> orderOperations(Block &entry) {
  llvm::SetVector<Operation *> order;
  SmallVector<Operation *> waiting;
  for (Operation &op : entry) {
    if (orderOf(&op) == LoweringOrder::InPlace) {
      append(&op, order);
    } else if (orderOf(&op) == LoweringOrder::AfterReaders) {
      waiting.push_back(&op);
    }
    llvm::erase_if(waiting, [&](Operation *changer) {
      bool isNext = areReadersPlaced(changer, order);
      if (isNext) {
        append(changer, order);
      }
      return isNext;
    });
  }
  return order;
}

// --- One entry -------------------------------------------------------------------------------

/// Creates the graph that replaces an entry, without operations or a signature.
GraphOp createGraph(func::FuncOp entry) {
  OpBuilder builder(entry);
  auto graph =
      GraphOp::create(builder, entry.getLoc(), entry.getSymNameAttr(),
                      TypeAttr::get(builder.getFunctionType({}, {})), ArrayAttr(), ArrayAttr(),
                      SizeAttr(), builder.getI64IntegerAttr(0), RowLimitsAttr());
  builder.createBlock(&graph.getBody());
  return graph;
}

class EntryLowering {
public:
  EntryLowering(func::FuncOp entry, SymbolTable &symbols, const CacheLayouts &layouts)
      : entry(entry), layouts(layouts), graph(createGraph(entry)), context(graph, symbols) {}

  LogicalResult run();
  GraphOp getGraph() const { return graph; }

private:
  LogicalResult lowerArgument(BlockArgument argument);
  LogicalResult lowerSegments(BlockArgument argument);
  /// Returns the type of the argument that holds a cache or a state; null after an error.
  Type keptType(BlockArgument argument);
  LogicalResult lowerOperation(Operation *op);
  LogicalResult lowerReturn(func::ReturnOp op);
  /// Returns the cache or state that the entry returns as a result; null after an error.
  Value returnedCache(func::ReturnOp op, unsigned index);
  Value returnedRows(func::ReturnOp op, unsigned index);
  /// Returns null after an error.
  DictionaryAttr argumentAttributes(BlockArgument argument);
  LogicalResult setSignature();

  func::FuncOp entry;
  const CacheLayouts &layouts;
  GraphOp graph;
  EntryContext context;
  /// Whether operations read data of earlier runs: runs may then begin in the middle of a sequence.
  bool readsKept = false;
};

LogicalResult EntryLowering::run() {
  for (BlockArgument argument : entry.getArguments()) {
    if (failed(lowerArgument(argument))) {
      return failure();
    }
  }
  Block &body = entry.getBody().front();
  readsKept = readsEarlierRuns(body);
  context.keys.begin(context.rows, body, [&](Value value) { return context.bufferOf(value); });
  for (Operation *op : orderOperations(body)) {
    if (failed(lowerOperation(op))) {
      return failure();
    }
  }
  context.eraseUnreadMoves();
  return setSignature();
}

LogicalResult EntryLowering::lowerArgument(BlockArgument argument) {
  if (isa<transformer::SegmentsType>(argument.getType())) {
    return lowerSegments(argument);
  }
  if (failed(checkType(argument.getType(), [&] { return entry.emitError(); }))) {
    return failure();
  }
  if (!entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName)) {
    return entry.emitError("argument ") << argument.getArgNumber() << " of entry '"
                                        << entry.getSymName() << "' has no transformer.name";
  }
  Type type = argumentBuffer(argument.getType());
  if (isa<transformer::CacheType, transformer::StateType>(argument.getType())) {
    type = keptType(argument);
    if (!type) {
      return failure();
    }
  }
  if (!type) {
    return entry.emitError("argument ")
           << argument.getArgNumber() << " of entry '" << entry.getSymName() << "' is "
           << argument.getType() << ", expected rows of tokens";
  }
  context.defineValue(argument, graph.getBody().front().addArgument(type, argument.getLoc()));
  return success();
}

LogicalResult EntryLowering::lowerSegments(BlockArgument argument) {
  // The first segments argument is that of the rows; others belong to a memory, which has a name.
  if (context.rows &&
      !entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName)) {
    return entry.emitError("entry '")
           << entry.getSymName() << "' has several segments without a transformer.name, expected "
           << "one";
  }
  if (context.rows) {
    return success();
  }
  context.rows = argument;
  if (Attribute attribute = entry.getArgAttr(argument.getArgNumber(), transformerMostRows)) {
    auto most = dyn_cast<IntegerAttr>(attribute);
    if (!most || most.getInt() < 1 || most.getInt() > std::numeric_limits<int32_t>::max()) {
      return entry.emitError("entry '")
             << entry.getSymName() << "' has '" << transformerMostRows << "' " << attribute
             << ", expected an integer from 1 to " << std::numeric_limits<int32_t>::max();
    }
    context.limitPositions(argument, most.getInt());
  }
  return success();
}

Type EntryLowering::keptType(BlockArgument argument) {
  MLIRContext *context = entry.getContext();
  auto emitError = [&] { return entry.emitError(); };
  if (auto state = dyn_cast<transformer::StateType>(argument.getType())) {
    // A state stays f32, because every run updates it and would round it again.
    return StateType::getChecked(emitError, context, ArrayRef<int64_t>(state.getWidth()),
                                 Type(Float32Type::get(context)), state.getKeyed());
  }
  auto cache = cast<transformer::CacheType>(argument.getType());
  auto chosen =
      layouts.find(entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), transformerName));
  CacheLayout layout = chosen == layouts.end() ? CacheLayout::Rows : chosen->second;
  return CacheType::getChecked(emitError, context, ArrayRef<int64_t>(cache.getWidth()),
                               cache.getElementType(), layout);
}

/// Returns whether the result of an operation is independent of the positions of choice rows, which
/// restart with each run.
bool areFreeOfPositions(Operation *op, Value segments) {
  std::optional<RowSpace> space =
      segments ? transformer::rowsOfSegments(segments).space : std::nullopt;
  return !space || !space->isSplit() ||
         isa<transformer::ChoicesOp, transformer::TopKOp, transformer::RepeatOp,
             transformer::SplitRowsOp, transformer::JoinRowsOp, transformer::PoolOp>(op);
}

LogicalResult EntryLowering::lowerOperation(Operation *op) {
  for (Type type : op->getResultTypes()) {
    if (failed(checkType(type, [&] { return op->emitOpError(); }))) {
      return failure();
    }
  }
  const Pattern *pattern = findPattern(op);
  if (!pattern) {
    if (failed(context.checkCachePositions(op, CachePositions::none()))) {
      return failure();
    }
    auto end = dyn_cast<func::ReturnOp>(op);
    return end ? lowerReturn(end) : op->emitOpError("has no kernel at the dataflow level");
  }
  Value segments = pattern->rowsOf(op);
  if (segments && !context.spaceOf(segments)) {
    return op->emitOpError(
        "names other segments for its rows, expected those of the entry's rows or what derives "
        "from them");
  }
  if (readsKept && !areFreeOfPositions(op, segments)) {
    return op->emitOpError("reads positions of choices in an entry that reads a cache or a state, "
                           "whose runs may begin in the middle of a sequence; expected their rows, "
                           "where they begin");
  }
  // Choices only depend on their own row.
  if (readsKept && isa<transformer::DerivedRowsInterface>(op) && !isa<transformer::ChoicesOp>(op)) {
    return op->emitOpError("derives rows in an entry that reads a cache or a state, whose runs may "
                           "begin in the middle of a sequence; expected an entry that reads none");
  }
  if (failed(context.checkCachePositions(op, pattern->caches)) ||
      failed(context.keys.note(op, *pattern))) {
    return failure();
  }
  return pattern->lower(op, context);
}

// --- Results ---------------------------------------------------------------------------------

Value EntryLowering::returnedCache(func::ReturnOp op, unsigned index) {
  Value operand = op.getOperand(index);
  bool isState = isa<transformer::StateType>(operand.getType());
  if (!operand.getDefiningOp() ||
      transformer::cacheName(operand) != entry.getResultAttr(index, transformerName)) {
    op.emitOpError("returns another ")
        << (isState ? "state" : "cache") << " as result " << index
        << ", expected the argument of its name, " << (isState ? "changed" : "appended to");
    return {};
  }
  return context.bufferOf(operand);
}

Value EntryLowering::returnedRows(func::ReturnOp op, unsigned index) {
  Value operand = op.getOperand(index);
  Value buffer = context.bufferOf(operand);
  auto type = buffer ? cast<BufferType>(buffer.getType()) : BufferType();
  if (!type || !type.getElementType().isF32() || !type.getRowSpace()) {
    entry.emitError("result ") << index << " of entry '" << entry.getSymName() << "' is "
                               << operand.getType() << ", expected f32 rows, such as tokens";
    return {};
  }
  // A caller's buffer is dense.
  return type.getRowStride() == 0 ? buffer : context.copy(operand.getLoc(), buffer);
}

LogicalResult EntryLowering::lowerReturn(func::ReturnOp op) {
  SmallVector<Value> results;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    if (!entry.getResultAttrOfType<StringAttr>(index, transformerName)) {
      return entry.emitError("result ")
             << index << " of entry '" << entry.getSymName() << "' has no transformer.name";
    }
    bool isKept = isa<transformer::CacheType, transformer::StateType>(operand.getType());
    results.push_back(isKept ? returnedCache(op, index) : returnedRows(op, index));
    if (!results.back()) {
      return failure();
    }
  }
  OutputOp::create(context.builder, op.getLoc(), results);
  return success();
}

DictionaryAttr EntryLowering::argumentAttributes(BlockArgument argument) {
  Builder builder(entry.getContext());
  Value buffer = context.bufferOf(argument);
  unsigned index = argument.getArgNumber();
  NamedAttrList attributes;
  attributes.append("dataflow.name", entry.getArgAttr(index, transformerName));
  auto type = dyn_cast<BufferType>(buffer.getType());
  if (type && type.getElementType().isInteger(32)) {
    int64_t limit = context.idLimit(buffer).value_or(anyId);
    // A program may declare a tighter limit on its ids than its tables do.
    if (Attribute said = entry.getArgAttr(index, transformerLimit)) {
      auto number = dyn_cast<IntegerAttr>(said);
      if (!number || !number.getType().isSignlessInteger(32) || number.getInt() < 1) {
        entry.emitError("input ") << entry.getArgAttr(index, transformerName) << " has the limit "
                                  << said << ", expected 1 or more in i32";
        return {};
      }
      limit = std::min(limit, number.getInt());
    }
    attributes.append("dataflow.limit", builder.getI64IntegerAttr(limit));
  }
  if (entry.getArgAttr(index, transformerOptional)) {
    attributes.append("dataflow.optional", builder.getUnitAttr());
  }
  if (Attribute pad = entry.getArgAttr(index, transformerPad)) {
    attributes.append("dataflow.pad", pad);
  }
  for (const auto &[said, kept] : tensorAttributes) {
    if (Attribute value = entry.getArgAttr(index, said)) {
      attributes.append(kept, value);
    }
  }
  return attributes.getDictionary(builder.getContext());
}

LogicalResult EntryLowering::setSignature() {
  Builder builder(entry.getContext());
  Block &body = graph.getBody().front();
  SmallVector<Attribute> arguments;
  for (BlockArgument argument : entry.getArguments()) {
    if (context.bufferOf(argument)) {
      arguments.push_back(argumentAttributes(argument));
      if (!arguments.back()) {
        return failure();
      }
    }
  }
  SmallVector<Attribute> results;
  for (unsigned index = 0; index < entry.getNumResults(); ++index) {
    NamedAttrList attributes;
    attributes.append("dataflow.name", entry.getResultAttr(index, transformerName));
    if (Attribute observed = entry.getResultAttr(index, transformerObserved)) {
      attributes.append("dataflow.observed", observed);
    }
    for (const auto &[said, kept] : tensorAttributes) {
      if (Attribute value = entry.getResultAttr(index, said)) {
        attributes.append(kept, value);
      }
    }
    results.push_back(attributes.getDictionary(builder.getContext()));
  }
  graph.setFunctionTypeAttr(TypeAttr::get(
      builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes())));
  graph.setArgAttrsAttr(builder.getArrayAttr(arguments));
  graph.setResAttrsAttr(builder.getArrayAttr(results));
  graph.setMaxLength(context.getMaxLength());
  if (dataflow::RowLimitsAttr limits = context.getMaxRows()) {
    graph.setMaxRowsAttr(limits);
  }
  return success();
}

/// Records that `op` reads operand `operand`, if it has one, as keys or as values.
LogicalResult noteLayout(Operation *op, int operand, CacheLayout layout, CacheLayouts &layouts) {
  if (operand < 0) {
    return success();
  }
  transformer::CachedOp cached = transformer::cachedSource(op->getOperand(operand));
  StringAttr name = cached ? transformer::cacheName(cached.getCache()) : StringAttr();
  if (!name) {
    return success(); // not a cache, or reported when the arguments are lowered
  }
  auto [found, isNew] = layouts.try_emplace(name, layout);
  if (!isNew && found->second != layout) {
    return op->emitOpError("reads cache ")
           << name << " as " << stringifyCacheLayout(layout) << ", but another attention as "
           << stringifyCacheLayout(found->second);
  }
  return success();
}

} // namespace

FailureOr<CacheLayouts> chooseCacheLayouts(ModuleOp module) {
  CacheLayouts layouts;
  // Operations in recurrences read caches too.
  WalkResult walked = module.walk([&](Operation *op) {
    const Pattern *pattern = findPattern(op);
    bool isNoted =
        !pattern || (succeeded(noteLayout(op, pattern->caches.key, CacheLayout::Keys, layouts)) &&
                     succeeded(noteLayout(op, pattern->caches.value, CacheLayout::Rows, layouts)));
    return isNoted ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walked.wasInterrupted()) {
    return failure();
  }
  return layouts;
}

LogicalResult lowerEntry(func::FuncOp entry, SymbolTable &symbols, const CacheLayouts &layouts) {
  if (!entry.getBody().hasOneBlock()) {
    return entry.emitError("entry '") << entry.getSymName() << "' has no body of one block";
  }
  EntryLowering lowering(entry, symbols, layouts);
  if (failed(lowering.run())) {
    return failure();
  }
  GraphOp graph = lowering.getGraph();
  symbols.erase(entry);
  symbols.insert(graph);
  return success();
}

} // namespace heddle
