// SPDX-License-Identifier: Apache-2.0
///
/// Verifies choices of rows and the operations on chosen rows.
#include "dialects/Transformer/ParameterChecks.h"
#include "heddle/Limits.h"

using namespace mlir;
using namespace heddle::transformer;

LogicalResult ChoicesOp::verify() {
  // C1
  int64_t count = getCountAttr().getInt();
  if (count < 1 || count > heddle::SplitSize::mostParts) {
    return emitOpError("expects 1 to ")
           << heddle::SplitSize::mostParts << " choices, got " << count;
  }
  // C2. The operation that derives invalid segments reports them.
  std::optional<heddle::RowSpace> rows = rowsOfSegments(getRows()).space;
  if (rows && !rows->choices(count)) {
    return emitOpError("expects rows that are no choices themselves, got ") << rows->text();
  }
  return success();
}

std::optional<heddle::RowSpace> ChoicesOp::deriveSpace(heddle::RowSpace space) {
  return space.choices(getCountAttr().getInt());
}

/// Returns how many choices each row has in `segments`; emits an error at `op` if they are not
/// choices. Returns nothing for invalid segments, which the operation that derives them reports.
/// `role` is the operation's name for the segments.
static FailureOr<std::optional<int64_t>> choicesOf(Operation *op, Value segments,
                                                   StringRef role = "to") {
  std::optional<heddle::RowSpace> space = rowsOfSegments(segments).space;
  if (!space) {
    return std::optional<int64_t>();
  }
  if (!space->isSplit()) {
    return op->emitOpError("expects choices in '") << role << "', got " << space->text();
  }
  return std::optional(space->parts());
}

LogicalResult TopKOp::verify() {
  // C1
  FailureOr<std::optional<int64_t>> choices = choicesOf(*this, getChoices());
  if (failed(choices)) {
    return failure();
  }
  int64_t count = getValue().getType().getDimSize(1);
  if (*choices && **choices != count) {
    return emitOpError("expects a value of ")
           << **choices << " columns, one for each choice, got " << count;
  }
  // C2
  int64_t columns = getInput().getType().getDimSize(1);
  if (columns < count) {
    return emitOpError("expects at least as many columns as choices, got ")
           << columns << " columns and " << count << " choices";
  }
  return success();
}

LogicalResult RepeatOp::verify() {
  // C1
  return success(succeeded(choicesOf(*this, getChoices())));
}

LogicalResult SplitRowsOp::verify() {
  // C1
  FailureOr<std::optional<int64_t>> choices = choicesOf(*this, getChoices());
  if (failed(choices)) {
    return failure();
  }
  int64_t columns = getInput().getType().getDimSize(1);
  int64_t width = getType().getDimSize(1);
  if (*choices && (columns % **choices != 0 || columns / **choices != width)) {
    return emitOpError("expects ")
           << **choices << " times the result's " << width << " columns, got " << columns;
  }
  return success();
}

LogicalResult JoinRowsOp::verify() {
  // C1
  FailureOr<std::optional<int64_t>> choices = choicesOf(*this, getChoices(), "in");
  if (failed(choices)) {
    return failure();
  }
  int64_t columns = getType().getDimSize(1);
  int64_t width = getInput().getType().getDimSize(1);
  if (*choices && (columns % **choices != 0 || columns / **choices != width)) {
    return emitOpError("expects a result of ")
           << **choices << " times the input's " << width << " columns, got " << columns;
  }
  return success();
}

LogicalResult PlaceColumnsOp::verify() {
  // C1
  auto topK = getChoice().getDefiningOp<TopKOp>();
  if (!topK) {
    return emitOpError("expects the choices of a 'transformer.top_k'");
  }
  int64_t count = topK.getValue().getType().getDimSize(1);
  int64_t columns = topK.getInput().getType().getDimSize(1);
  int64_t values = getValue().getType().getDimSize(1);
  if (values != count || getType().getDimSize(1) != columns) {
    return emitOpError("expects ")
           << count << " values a row, chosen of " << columns << " columns, got " << values
           << " of " << getType().getDimSize(1);
  }
  return success();
}

LogicalResult ChosenLinearOp::verify() {
  // C1
  int64_t maps = getMapsAttr().getInt();
  if (maps < 1 || maps > mostGroups) {
    return emitOpError("expects 1 to ") << mostGroups << " maps, got " << maps;
  }
  // C4
  if (auto topK = getChoice().getDefiningOp<TopKOp>()) {
    int64_t columns = topK.getInput().getType().getDimSize(1);
    if (columns > maps) {
      return emitOpError("expects choices of at most ")
             << maps << " columns, one for each map, got choices of " << columns;
    }
    return success();
  }
  if (Operation *made = getChoice().getDefiningOp()) {
    return emitOpError("expects choices of a 'transformer.top_k' or an input of the entry, got "
                       "those of '")
           << made->getName() << "'";
  }
  return success();
}

LogicalResult ChosenLinearOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C2, C3. No parameter has a shape that overflows.
  int64_t rows = 0;
  if (llvm::MulOverflow(getMapsAttr().getInt(), getType().getDimSize(1), rows)) {
    return emitOpError("expects fewer maps, got ") << getMaps();
  }
  return verifyLinearMap(*this, getWeightAttr(), getBiasAttr(), getInput().getType().getDimSize(1),
                         rows, symbolTable);
}

// --- costs -----------------------------------------------------------------------------------

OperationFlops ChosenLinearOp::getFlops() {
  int64_t width = getType().getDimSize(1);
  return {.perRow = 2 * getInput().getType().getDimSize(1) * width + (getBias() ? width : 0)};
}

OperationFlops RowSoftmaxOp::getFlops() { return {.perRow = getType().getDimSize(1)}; }
