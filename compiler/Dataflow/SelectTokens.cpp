// SPDX-License-Identifier: Apache-2.0
///
/// Makes a step of a decoder select tokens: its last result is what a search needs of the logits.
/// On a GPU only that is copied to the host, unless a search needs more.
///
/// Before:
///   dataflow.graph @decode(...) -> (!logits {dataflow.name = "logits"}) {
///     %0 = dataflow.dispatch @contract_40x72(...)
///     dataflow.output %0
/// After:
///   dataflow.graph @decode(...) -> (!logits {dataflow.name = "logits"},
///       !pairs {dataflow.name = "selection", dataflow.observed = "selection"}) {
///     %0 = dataflow.dispatch @contract_40x72(...)
///     %1 = dataflow.dispatch @peaks(%0) computes <columns = 72, piece = 768>
///     %2 = dataflow.dispatch @select(%0, %1) computes <columns = 72, piece = 768, count = 64>
///     dataflow.output %0, %2
///
/// Tested by tests/compiler/Dataflow/select-tokens.mlir.
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "formats/Binary/GenerationCheck.h"
#include "heddle/Selection.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_SELECTTOKENSPASS
#include "compiler/Passes.h.inc"

/// Returns the result of a graph with a name; null if there is none.
static Value resultNamed(GraphOp graph, StringRef name) {
  auto output = cast<OutputOp>(graph.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(output->getOperands())) {
    auto own = graph.getResultAttrOfType<StringAttr>(index, "dataflow.name");
    if (own && own.getValue() == name) {
      return value;
    }
  }
  return {};
}

/// Returns why a device cannot select tokens of these logits; an empty string if it can.
static std::string reasonAgainst(BufferType logits) {
  if (!logits || !isRows(logits) || logits.getShape().front() != tokensDimension) {
    return "the logits are no rows of tokens";
  }
  if (logits.getWidth() > largestSelectedVocabulary) {
    return llvm::formatv("{0} tokens, more than i32 can number", logits.getWidth());
  }
  return {};
}

/// Creates a dispatch whose result is rows of so many numbers for each token.
static Value createRows(OpBuilder &builder, SymbolTable &symbols, KernelFamily computes,
                        ArrayRef<Value> inputs, int64_t width) {
  KernelParts parts;
  parts.stem = computes.getFamilyName();
  parts.computes = computes;
  parts.inputs.append(inputs.begin(), inputs.end());
  parts.results = {BufferType::get(builder.getContext(), {tokensDimension, width},
                                   builder.getF32Type(), /*rowStride=*/0)};
  return createDispatch(builder, symbols, inputs.front().getLoc(), parts).getResult(0);
}

/// Adds the selection after all other results.
static LogicalResult addSelection(GraphOp graph, Value logits, SymbolTable &symbols) {
  auto output = cast<OutputOp>(graph.getBody().front().getTerminator());
  OpBuilder builder(output);
  const int64_t vocabulary = cast<BufferType>(logits.getType()).getWidth();
  auto ofPieces = PeaksAttr::get(builder.getContext(), vocabulary, logitsChunk);
  Value peaks = createRows(builder, symbols, ofPieces, {logits}, peakWords * ofPieces.getPieces());
  auto ofRow = SelectAttr::get(builder.getContext(), vocabulary, logitsChunk,
                               std::min(vocabulary, mostSelected));
  Value selection = createRows(builder, symbols, ofRow, {logits, peaks},
                               selectedPair * (ofRow.getPieces() + ofRow.getCount()));
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr("dataflow.name", builder.getStringAttr(selectionOutput)),
      builder.getNamedAttr("dataflow.observed", builder.getStringAttr(selectionOutput))};
  const unsigned place = graph.getNumResults();
  if (failed(
          graph.insertResult(place, selection.getType(), builder.getDictionaryAttr(attributes)))) {
    return failure();
  }
  output->insertOperands(place, selection);
  return success();
}

namespace {
struct SelectTokens : impl::SelectTokensPassBase<SelectTokens> {
  using Base::Base;

  void runOnOperation() override {
    auto graph = getOperation().lookupSymbol<GraphOp>(decodeEntry);
    Value logits = graph ? resultNamed(graph, logitsOutput) : Value();
    if (!logits || resultNamed(graph, selectionOutput)) {
      return;
    }
    const std::string reason = reasonAgainst(dyn_cast<BufferType>(logits.getType()));
    if (!reason.empty()) {
      reportDeclined(logits.getLoc(), passNames::selectTokens,
                     "tokens are selected on the host: " + reason);
      return;
    }
    SymbolTable symbols(getOperation());
    if (failed(addSelection(graph, logits, symbols))) {
      return signalPassFailure();
    }
    reportTaken(logits.getLoc(), passNames::selectTokens,
                "a GPU selects the best tokens of a step, and copies only these");
  }
};
} // namespace

} // namespace heddle
