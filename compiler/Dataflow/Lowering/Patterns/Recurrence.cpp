// SPDX-License-Identifier: Apache-2.0
///
/// The pattern of recurrences: reorders rows by time, runs the dispatches of the region in a loop
/// over the rows of each step, and moves the results back.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/Pattern.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Returns the state that a carried value is loaded from before the loop and stored to after it;
/// null if there is none.
Value stateOf(transformer::RecurrenceOp op, unsigned carried) {
  auto load = carried < op.getInitial().size()
                  ? op.getInitial()[carried].getDefiningOp<transformer::LoadOp>()
                  : transformer::LoadOp();
  auto isStore = [&](Operation *user) {
    auto store = dyn_cast<transformer::StoreOp>(user);
    return store && store.getInput() == op.getResult(carried);
  };
  return load && llvm::any_of(load.getState().getUsers(), isStore) ? load.getState() : Value();
}

/// Fails unless a run has all rows of every sequence or continues where the previous one ended.
LogicalResult checkBegin(transformer::RecurrenceOp op) {
  if (!readsEarlierRuns(*op->getBlock())) {
    return success();
  }
  StringRef why = " in an entry that reads a cache or a state, whose runs may begin in the middle "
                  "of a sequence; expected ";
  if (op.getReversed()) {
    return op.emitOpError("goes backwards") << why << "an entry that reads none";
  }
  for (unsigned carried = 0; carried < op.getNumCarried(); ++carried) {
    if (!stateOf(op, carried)) {
      return op.emitOpError("carries value #")
             << carried << " from no state" << why
             << "'from' to be what 'transformer.load' gives of a state, and 'transformer.store' to "
                "leave what is carried there";
    }
  }
  return success();
}

/// Fails unless the rows are tokens and carried values begin with a row for each sequence.
LogicalResult checkRows(transformer::RecurrenceOp op, EntryContext &entry) {
  if (entry.spaceOf(op.getRows()) != RowSpace::tokens()) {
    return op.emitOpError("goes through rows of ")
           << entry.spaceOf(op.getRows())->text() << ", expected rows of tokens";
  }
  for (Value value : op.getInitial()) {
    auto type = dyn_cast<BufferType>(entry.bufferOf(value).getType());
    if (!type || type.getRowSpace() != RowSpace::sequences()) {
      return op.emitOpError("begins with rows of ")
             << (type ? dimensionText(type.getShape().front()) : "a cache")
             << ", expected a row for each sequence";
    }
  }
  for (Type type : op.getBody().getArgumentTypes()) {
    if (failed(checkType(type, [&] { return op.emitOpError(); }))) {
      return failure();
    }
  }
  for (Value input : op.getInputs()) {
    if (failed(entry.checkRows(op, "goes through", entry.bufferOf(input), op.getRows()))) {
      return failure();
    }
  }
  return success();
}

/// Returns which result of the loop each value at the end of a step is. A value that is also
/// carried, or occurs twice, is one result.
SmallVector<unsigned> resultsOf(transformer::RecurrenceOp op) {
  SmallVector<Value> values(op.getBody().front().getTerminator()->getOperands());
  SmallVector<unsigned> results;
  unsigned count = 0;
  for (auto [number, value] : llvm::enumerate(values)) {
    size_t first = llvm::find(values, value) - values.begin();
    results.push_back(op.isGiven(number) && first < number ? results[first] : count++);
  }
  return results;
}

/// Lowers the region into a loop with the builder at its end.
LogicalResult lowerStep(transformer::RecurrenceOp op, EntryContext &entry) {
  for (Operation &each : op.getBody().front()) {
    for (Type type : each.getResultTypes()) {
      if (failed(checkType(type, [&] { return each.emitOpError(); }))) {
        return failure();
      }
    }
    const Pattern *pattern = findPattern(&each);
    if (!pattern) {
      return each.emitOpError("has no kernel in a recurrence");
    }
    Value segments = pattern->rowsOf(&each);
    if (segments && !entry.spaceOf(segments)) {
      return each.emitOpError(
          "names other segments for its rows, expected those of the recurrence");
    }
    if (failed(entry.checkCachePositions(&each, pattern->caches)) ||
        failed(entry.keys.note(&each, *pattern)) || failed(pattern->lower(&each, entry))) {
      return failure();
    }
  }
  return success();
}

LogicalResult lowerRecurrence(transformer::RecurrenceOp op, EntryContext &entry) {
  if (failed(checkBegin(op)) || failed(checkRows(op, entry))) {
    return failure();
  }
  RowSpace space = RowSpace::steps(op.getReversed());
  int64_t rows = RowDimension{space}.number();
  Location location = op.getLoc();
  auto arguments = op.getBody().getArguments();
  for (auto [argument, input] : llvm::zip(arguments, op.getInputs())) {
    entry.defineValue(argument, entry.moved(location, entry.bufferOf(input), space));
  }
  auto typeOf = [&](Value value) -> Type {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {rows, type.getDimSize(1)};
    if (type.getRank() == 3) {
      shape.push_back(longestDimension);
    }
    return entry.denseBuffer(shape);
  };
  SmallVector<unsigned> places = resultsOf(op);
  SmallVector<Type> results;
  for (auto [result, place] : llvm::zip_equal(op.getResults(), places)) {
    if (place == results.size()) {
      results.push_back(typeOf(result));
    }
  }
  SmallVector<Value> initial = llvm::map_to_vector(op.getInitial(), [&](Value value) {
    return entry.moved(location, entry.bufferOf(value), RowSpace::ranks());
  });
  auto loop = LoopOp::create(entry.builder, location, results, initial, /*beside=*/UnitAttr());
  Block *body = entry.builder.createBlock(&loop.getBody());
  for (BlockArgument argument : arguments.drop_front(op.getInputs().size())) {
    entry.defineValue(argument, body->addArgument(typeOf(argument), argument.getLoc()));
  }
  for (auto [argument, from] :
       llvm::zip(arguments.drop_front(op.getInputs().size()), op.getInitial())) {
    if (failed(entry.keys.hand(op, from, argument))) {
      return failure();
    }
  }
  if (failed(lowerStep(op, entry))) {
    return failure();
  }
  for (auto [value, result] :
       llvm::zip_equal(op.getBody().front().getTerminator()->getOperands(), op.getResults())) {
    if (failed(entry.keys.hand(op, value, result))) {
      return failure();
    }
  }
  entry.builder.setInsertionPointAfter(loop);
  for (auto [result, place] : llvm::zip_equal(op.getResults(), places)) {
    if (!result.use_empty()) {
      bool isGiven = op.isGiven(result.getResultNumber());
      entry.defineValue(result, entry.moved(location, loop.getResult(place),
                                            isGiven ? RowSpace::tokens() : RowSpace::sequences()));
    }
  }
  return success();
}

/// Makes each distinct value a separate result of a dispatch in the loop, with a copy if needed.
LogicalResult lowerNext(transformer::NextOp op, EntryContext &entry) {
  SmallVector<Value> values;
  SmallVector<unsigned> places = resultsOf(cast<transformer::RecurrenceOp>(op->getParentOp()));
  for (auto [value, place] : llvm::zip_equal(op.getValues(), places)) {
    if (place < values.size()) {
      continue;
    }
    Value buffer = entry.bufferOf(value);
    auto dispatch = buffer.getDefiningOp<DispatchOp>();
    bool isOwn = dispatch && dispatch->getBlock() == entry.builder.getInsertionBlock();
    values.push_back(
        isOwn && !llvm::is_contained(values, buffer) ? buffer : entry.copy(op.getLoc(), buffer));
  }
  NextOp::create(entry.builder, op.getLoc(), values);
  return success();
}

} // namespace

template <> Pattern patternOf<transformer::NextOp>() {
  return rowPattern<transformer::NextOp, lowerNext>();
}

template <> Pattern patternOf<transformer::RecurrenceOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::RecurrenceOp, lowerRecurrence>};
}

} // namespace heddle
