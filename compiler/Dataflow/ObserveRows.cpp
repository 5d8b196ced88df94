// SPDX-License-Identifier: Apache-2.0
///
/// Makes the rows that products read results of their graphs: `heddlec --calibration` runs this
/// program on texts to see the rows that matrices are multiplied with. Only requested rows are
/// added, with the numbers of ProductRows.h.
///
/// Before:
///   dataflow.graph @embed(...) -> (!x {dataflow.name = "embedding"}) {
///     %y = dataflow.dispatch @contract_72x40(%x, %w) ...
///     dataflow.output %z
/// After:
///   dataflow.graph @embed(...) -> (!x {dataflow.name = "embedding"},
///       !dataflow.buffer<[tokens, 40], f32> {dataflow.name = "rows 0"}) {
///     %y = dataflow.dispatch @contract_72x40(%x, %w) ...
///     dataflow.output %z, %x
///
/// Rows in time order are moved to token order; rows that steps of a loop read are copied by each
/// step. If rows choose groups of weights, "choices 0" holds the chosen group numbers as f32: the
/// result of a product with chosen weights of zero and biases 0, 1, 2 and so on.
///
/// Tested by tests/compiler/Dataflow/observe-rows.mlir and observe-rows-order.mlir.
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/ProductRows.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

using transformer::ExpressionKind;

#define GEN_PASS_DEF_OBSERVEROWSPASS
#include "compiler/Passes.h.inc"

/// Returns the index for a new result: before observed attention, which stays last.
static unsigned placeOfResult(GraphOp graph) {
  unsigned place = 0;
  while (place < graph.getNumResults() && !graph.getResultAttr(place, "dataflow.observed")) {
    ++place;
  }
  return place;
}

static OutputOp outputOf(GraphOp graph) {
  return cast<OutputOp>(graph.getBody().front().getTerminator());
}

/// Returns the loop whose steps compute a buffer; null outside loops.
static LoopOp loopOf(Value buffer) {
  return dyn_cast<LoopOp>(buffer.getParentRegion()->getParentOp());
}

namespace {
/// Makes rows results of the graphs of a program.
class Observer {
public:
  explicit Observer(ModuleOp module) : parameters(module) {}

  LogicalResult observe(const ProductRows &rows, int64_t site);

private:
  SymbolTable &symbols() { return parameters.symbolTable(); }

  Value copy(OpBuilder &builder, Value buffer) {
    return createCopy(builder, symbols(), buffer.getLoc(), buffer).getResult(0);
  }
  Value giveFromLoop(LoopOp loop, Value inner);
  Value inOrderOfTexts(OpBuilder &builder, Value buffer);
  Value numbersOf(OpBuilder &builder, const ProductRows &rows);
  Value parameter(OpBuilder &builder, FlatSymbolRefAttr symbol);
  FlatSymbolRefAttr numbersBelow(Location location, int64_t groups);

  DerivedParameters parameters;
};

struct ObserveRows : impl::ObserveRowsPassBase<ObserveRows> {
  using Base::Base;

  void runOnOperation() override {
    const ProgramProducts products = findProducts(getOperation());
    const auto count = static_cast<int64_t>(products.rows.size());
    for (int64_t site : sites) {
      if (site < 0 || site >= count) {
        getOperation().emitError("expects rows of products numbered below ")
            << count << ", got " << site;
        return signalPassFailure();
      }
    }
    // A loop with additional results is a new operation, which invalidates values found in the old
    // one. So rows of loop steps are observed last.
    SmallVector<int64_t> ordered, ofSteps;
    for (int64_t site : sites) {
      (loopOf(products.rows[site].buffer) ? ofSteps : ordered).push_back(site);
    }
    llvm::append_range(ordered, ofSteps);
    Observer observer(getOperation());
    for (int64_t site : ordered) {
      if (failed(observer.observe(products.rows[site], site))) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace

/// Returns a dense buffer [rows, width] of f32.
static BufferType rowsOfWidth(MLIRContext *context, RowSpace rows, int64_t width) {
  return BufferType::get(context, {RowDimension{rows}.number(), width}, Float32Type::get(context),
                         /*rowStride=*/0);
}

/// Returns all rows that the steps of a loop read. Carried values are those of the previous step,
/// so a copy inside the loop records what the step itself reads.
Value Observer::giveFromLoop(LoopOp loop, Value inner) {
  auto next = cast<NextOp>(loop.getBody().front().getTerminator());
  OpBuilder builder(next);
  const Value copied = copy(builder, inner);
  next.getValuesMutable().append(copied);
  builder.setInsertionPoint(loop);
  SmallVector<Type> types(loop.getResultTypes());
  types.push_back(copied.getType());
  auto wider = LoopOp::create(builder, loop.getLoc(), types, loop.getInitial(), loop.getBeside());
  wider.getBody().takeBody(loop.getBody());
  loop.replaceAllUsesWith(wider.getResults().drop_back());
  loop.erase();
  return wider.getResults().back();
}

/// Returns rows of tokens, or of another space without an order of its own.
Value Observer::inOrderOfTexts(OpBuilder &builder, Value buffer) {
  auto type = cast<BufferType>(buffer.getType());
  if (type.getRowStride() != 0) {
    buffer = copy(builder, buffer);
  }
  const RowSpace space = *type.getRowSpace();
  if (space.isSplit()) {
    // Choices of a row are adjacent.
    Type joined = rowsOfWidth(builder.getContext(), space.base(), space.parts() * type.getWidth());
    return ReshapeOp::create(builder, buffer.getLoc(), joined, buffer);
  }
  if (!space.isOfSteps()) {
    return buffer;
  }
  KernelParts parts;
  parts.stem = "collect";
  parts.computes = CollectAttr::get(builder.getContext(), {type.getWidth()});
  parts.inputs = {buffer};
  parts.results = {rowsOfWidth(builder.getContext(), RowSpace::tokens(), type.getWidth())};
  return createDispatch(builder, symbols(), buffer.getLoc(), parts).getResult(0);
}

/// Returns a vector 0, 1, 2 and so on.
FlatSymbolRefAttr Observer::numbersBelow(Location location, int64_t groups) {
  SmallVector<FlatSymbolRefAttr> steps = {
      parameters.derive(location, "numbers.step", ExpressionKind::Zeros, {}, {groups})};
  for (int64_t first = 1; first < groups; ++first) {
    steps.push_back(parameters.derive(location, "numbers.step", ExpressionKind::OnesFrom, {},
                                      {groups}, {}, {first}));
  }
  return parameters.derive(location, "numbers", ExpressionKind::Sum, steps, {groups});
}

Value Observer::parameter(OpBuilder &builder, FlatSymbolRefAttr symbol) {
  transformer::ParameterOp named = parameters.lookUp(symbol);
  return ParameterOp::create(builder, named.getLoc(),
                             BufferType::get(builder.getContext(), named.getTensorType().getShape(),
                                             builder.getF32Type(), /*rowStride=*/0),
                             symbol);
}

/// Returns the groups that rows chose, with all choices of a row adjacent.
Value Observer::numbersOf(OpBuilder &builder, const ProductRows &rows) {
  const Location location = rows.chosen.getLoc();
  const FlatSymbolRefAttr nothing =
      parameters.derive(location, "nothing", ExpressionKind::Zeros, {}, {rows.groups, rows.k});
  KernelParts parts;
  parts.stem = "contract_chosen";
  parts.computes = ContractChosenAttr::get(builder.getContext(), /*n=*/1, rows.k, rows.groups,
                                           /*biased=*/true);
  parts.inputs = {rows.buffer, parameter(builder, nothing), rows.chosen, rows.order,
                  parameter(builder, numbersBelow(location, rows.groups))};
  parts.results = {
      rowsOfWidth(builder.getContext(), *cast<BufferType>(rows.chosen.getType()).getRowSpace(), 1)};
  return inOrderOfTexts(builder, createDispatch(builder, symbols(), location, parts).getResult(0));
}

static LogicalResult addResult(GraphOp graph, Value buffer, StringRef name) {
  OutputOp output = outputOf(graph);
  OpBuilder builder(output);
  const unsigned place = placeOfResult(graph);
  NamedAttribute named(builder.getStringAttr("dataflow.name"), builder.getStringAttr(name));
  if (failed(graph.insertResult(place, buffer.getType(), builder.getDictionaryAttr(named)))) {
    return failure();
  }
  output->insertOperands(place, buffer);
  return success();
}

LogicalResult Observer::observe(const ProductRows &rows, int64_t site) {
  Value buffer = rows.buffer;
  if (LoopOp loop = loopOf(buffer)) {
    buffer = giveFromLoop(loop, buffer);
  }
  OpBuilder builder(outputOf(rows.graph));
  if (failed(addResult(rows.graph, inOrderOfTexts(builder, buffer), rowsName(site)))) {
    return failure();
  }
  if (!rows.chosen) {
    return success();
  }
  return addResult(rows.graph, numbersOf(builder, rows), choicesName(site));
}

} // namespace heddle
