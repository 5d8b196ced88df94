// SPDX-License-Identifier: Apache-2.0
///
/// Makes the rows that products read results of their graphs: `heddlec --calibration` runs this
/// program on texts to see what matrices are multiplied with. Only the rows that were asked for:
/// the numbers are those of ProductRows.h.
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
/// Pinned by tests/compiler/Dataflow/observe-rows.mlir.
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/ProductRows.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_OBSERVEROWSPASS
#include "compiler/Passes.h.inc"

/// Where a result goes: observed attention stays behind all others.
static unsigned placeOfResult(GraphOp graph) {
  unsigned place = 0;
  while (place < graph.getNumResults() && !graph.getResultAttr(place, "dataflow.observed")) {
    ++place;
  }
  return place;
}

static LogicalResult observe(const ProductRows &rows, int64_t site, SymbolTable &symbols) {
  GraphOp graph = rows.graph;
  auto output = cast<OutputOp>(graph.getBody().front().getTerminator());
  OpBuilder builder(output);
  Value buffer = rows.buffer;
  if (cast<BufferType>(buffer.getType()).getRowStride() != 0) {
    buffer = createCopy(builder, symbols, buffer.getLoc(), buffer).getResult(0);
  }
  const unsigned place = placeOfResult(graph);
  NamedAttribute name(builder.getStringAttr("dataflow.name"),
                      builder.getStringAttr(rowsName(site)));
  if (failed(graph.insertResult(place, buffer.getType(), builder.getDictionaryAttr(name)))) {
    return failure();
  }
  output->insertOperands(place, buffer);
  return success();
}

namespace {
struct ObserveRows : impl::ObserveRowsPassBase<ObserveRows> {
  using Base::Base;

  void runOnOperation() override {
    const ProgramProducts products = findProducts(getOperation());
    SymbolTable symbols(getOperation());
    for (int64_t site : sites) {
      const auto count = static_cast<int64_t>(products.rows.size());
      if (site < 0 || site >= count) {
        getOperation().emitError("expects rows of products numbered below ")
            << count << ", got " << site;
        return signalPassFailure();
      }
      if (failed(observe(products.rows[site], site, symbols))) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace

} // namespace heddle
