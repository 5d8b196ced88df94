// SPDX-License-Identifier: Apache-2.0
///
/// Graphs, their parameters and columns: parsers, printers and verifiers. Dispatch.cpp has those of
/// dispatches.
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/ParameterChecks.h"
#include "heddle/Selection.h"

#include "mlir/Interfaces/FunctionImplementation.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ConvertUTF.h"

#include <limits>

using namespace mlir;

namespace heddle::dataflow {

/// Ids are i32, so no limit can be higher.
static constexpr uint64_t kMostIds = uint64_t{1} << 31;

Value viewedValue(Value value) {
  while (isa_and_nonnull<ColumnsOp, ReshapeOp>(value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
  }
  return value;
}

// --- graph -----------------------------------------------------------------------------------

int64_t RowLimitsAttr::getMost(RowSpace space) const {
  const auto *found = llvm::find_if(getTerms(), [&](const SizeTerm &term) {
    return term.longest == 0 && term.rows == RowDimension{space}.number();
  });
  return found == getTerms().end() ? 0 : static_cast<int64_t>(found->bytes);
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(),
                                                  /*isVariadic=*/false, getResultTypes());
  SmallVector<StringRef> elided{getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                getResAttrsAttrName()};
  if (getMaxLength() == 0) {
    elided.push_back(getMaxLengthAttrName());
  }
  function_interface_impl::printFunctionAttributes(printer, *this, elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

/// C1: checks that a port is a cache, a state, or dense rows of a space.
static LogicalResult verifyPortType(GraphOp graph, StringRef kind, unsigned index, Type type) {
  if (isa<CacheType, StateType>(type)) {
    return success();
  }
  auto buffer = dyn_cast<BufferType>(type);
  if (!buffer || buffer.getRowStride() != 0 || !buffer.getRowSpace() ||
      buffer.getRowSpace()->isOrdered()) {
    return graph.emitOpError("expects ")
           << kind << " #" << index
           << " to be a cache, a state or a dense buffer of rows, such as tokens, got " << type;
  }
  return success();
}

/// Returns whether the text is valid UTF-8 without the control characters U+0000 to U+001F and
/// U+007F to U+009F.
static bool isPrintable(StringRef text) {
  const llvm::UTF8 *begin = text.bytes_begin();
  if (!llvm::isLegalUTF8String(&begin, text.bytes_end())) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // The text is valid UTF-8, so a byte follows 0xc2.
    bool isControl = byte < 0x20 || byte == 0x7f ||
                     (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (isControl) {
      return false;
    }
  }
  return true;
}

/// C3 and C5: checks a name, which must not be in `names` yet, and inserts it.
static LogicalResult verifyPortName(GraphOp graph, StringRef kind, unsigned index, Attribute name,
                                    llvm::StringSet<> &names) {
  auto text = dyn_cast_or_null<StringAttr>(name);
  if (!text || text.empty()) {
    return graph.emitOpError("expects a 'dataflow.name' of ")
           << kind << " #" << index << ", got none";
  }
  if (!isPrintable(text.getValue())) {
    return graph.emitOpError("expects a 'dataflow.name' of UTF-8 without control characters of ")
           << kind << " #" << index << ", got " << text;
  }
  if (!names.insert(text.getValue()).second) {
    return graph.emitOpError("expects distinct names, got '")
           << text.getValue() << "' again at " << kind << " #" << index;
  }
  return success();
}

/// C4
static LogicalResult verifyLimit(GraphOp graph, unsigned index, Type type) {
  auto buffer = dyn_cast<BufferType>(type);
  if (!buffer || !buffer.getElementType().isInteger(32)) {
    return success();
  }
  Attribute limit = graph.getArgAttr(index, "dataflow.limit");
  auto number = dyn_cast_or_null<IntegerAttr>(limit);
  if (number && number.getType().isSignlessInteger(64) && number.getValue().isStrictlyPositive() &&
      number.getValue().ule(kMostIds)) {
    return success();
  }
  InFlightDiagnostic error = graph.emitOpError("expects a 'dataflow.limit' of 1 to 2^31 in i64 of "
                                               "argument #")
                             << index << ", got ";
  return limit ? error << limit : error << "none";
}

/// C9, for what a device selects from logits.
static LogicalResult verifySelection(GraphOp graph, unsigned index) {
  auto buffer = dyn_cast<BufferType>(graph.getResultTypes()[index]);
  if (!buffer || !buffer.getElementType().isF32() || buffer.getShape().size() != 2 ||
      buffer.getShape().front() != tokensDimension || buffer.getShape().back() <= 0) {
    return graph.emitOpError("expects selection result #")
           << index << " to be [tokens, width] of f32, got " << graph.getResultTypes()[index];
  }
  const auto rest = graph.getResultTypes().drop_front(index + 1);
  if (llvm::any_of(rest, llvm::IsaPred<BufferType>)) {
    return graph.emitOpError("expects the selection, result #") << index << ", after all others";
  }
  return success();
}

/// C9. Observed outputs come last, so that they do not renumber the other outputs.
static LogicalResult verifyObserved(GraphOp graph) {
  bool isObserved = false;
  for (auto [index, type] : llvm::enumerate(graph.getResultTypes())) {
    auto buffer = dyn_cast<BufferType>(type);
    Attribute observed = graph.getResultAttr(index, "dataflow.observed");
    if (!observed) {
      if (buffer && isObserved) {
        return graph.emitOpError("expects observed results after all others, got result #")
               << index << " after one";
      }
      continue;
    }
    isObserved = true;
    auto kind = dyn_cast<StringAttr>(observed);
    if (kind && kind.getValue() == StringRef(selectionOutput)) {
      if (failed(verifySelection(graph, static_cast<unsigned>(index)))) {
        return failure();
      }
      continue;
    }
    if (!kind || !findAttentionKind(kind.getValue())) {
      return graph.emitOpError("expects a 'dataflow.observed' of ")
             << attentionKindChoices() << ", or \"selection\", of result #" << index << ", got "
             << observed;
    }
    if (!buffer || !buffer.getElementType().isF32() || buffer.getShape().size() != 3 ||
        buffer.getShape().front() != tokensDimension || buffer.getShape()[1] <= 0 ||
        buffer.getShape().back() != longestDimension) {
      return graph.emitOpError("expects observed result #")
             << index << " to be [tokens, heads, longest] of f32, got " << type;
    }
  }
  return success();
}

/// C6
static LogicalResult verifyOperations(GraphOp graph) {
  for (Operation &op : graph.getBody().front()) {
    if (!isa<ParameterOp, ColumnsOp, ReshapeOp, DispatchOp, LoopOp, OutputOp>(op)) {
      return op.emitOpError("in a graph: expects parameters, views, dispatches and loops, got '")
             << op.getName() << "'";
    }
  }
  return success();
}

/// C8, for a result that is a cache or a state.
static LogicalResult verifyChanged(GraphOp graph, unsigned index, Value value) {
  Value left = viewedValue(value);
  auto dispatch = left.getDefiningOp<DispatchOp>();
  OpOperand *changed = dispatch ? dispatch.getChanged(cast<OpResult>(left)) : nullptr;
  auto argument = changed ? dyn_cast<BlockArgument>(viewedValue(changed->get())) : BlockArgument();
  Attribute name = graph.getResultAttr(index, "dataflow.name");
  if (!argument || graph.getArgAttr(argument.getArgNumber(), "dataflow.name") != name) {
    return graph.emitOpError("expects result #")
           << index << " to be what a dispatch left of argument " << name << ", got another value";
  }
  return success();
}

/// Returns the row space that a dispatch appends to a cache; nothing if it does not append.
static std::optional<RowSpace> appendedRows(DispatchOp dispatch) {
  if (llvm::none_of(dispatch.getResultTypes(), llvm::IsaPred<CacheType>)) {
    return std::nullopt;
  }
  for (Type type : dispatch->getOperandTypes()) {
    if (auto buffer = dyn_cast<BufferType>(type)) {
      return buffer.getRowSpace();
    }
  }
  return std::nullopt;
}

/// C10
static LogicalResult verifyAppended(GraphOp graph) {
  std::optional<RowSpace> first = graph.getAppendedRows();
  for (DispatchOp dispatch : graph.getDispatches()) {
    std::optional<RowSpace> rows = appendedRows(dispatch);
    if (rows && rows != first) {
      return dispatch.emitOpError("expects to append rows of ")
             << first->text() << ", as a dispatch before it does, got rows of " << rows->text();
    }
  }
  return success();
}

std::optional<RowSpace> GraphOp::getAppendedRows() {
  for (DispatchOp dispatch : getDispatches()) {
    if (std::optional<RowSpace> rows = appendedRows(dispatch)) {
      return rows;
    }
  }
  return std::nullopt;
}

SmallVector<DispatchOp> GraphOp::getDispatches() {
  SmallVector<DispatchOp> dispatches;
  getBody().walk([&](DispatchOp dispatch) { dispatches.push_back(dispatch); });
  return dispatches;
}

LogicalResult GraphOp::verify() {
  // C7
  int64_t length = getMaxLengthAttr().getInt();
  if (length < 0) {
    return emitOpError("expects a 'max_length' of 0 or more, got ") << length;
  }
  // C11
  for (const SizeTerm &term : getMaxRows() ? getMaxRows()->getTerms() : ArrayRef<SizeTerm>()) {
    std::optional<RowSpace> space = rowSpaceOf(term.rows);
    constexpr uint64_t most = std::numeric_limits<int32_t>::max();
    if (term.longest != 0 || !space || !space->hasWidths() || term.bytes == 0 ||
        term.bytes > most) {
      return emitOpError("expects 'max_rows' of 1 to ")
             << most << " rows of images of any width, got " << term.bytes << " of "
             << dimensionText(term.rows);
    }
  }
  llvm::StringSet<> argumentNames;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (failed(verifyPortType(*this, "argument", index, type)) ||
        failed(verifyPortName(*this, "argument", index, getArgAttr(index, "dataflow.name"),
                              argumentNames)) ||
        failed(verifyLimit(*this, index, type))) {
      return failure();
    }
  }
  llvm::StringSet<> resultNames;
  for (auto [index, type] : llvm::enumerate(getResultTypes())) {
    if (failed(verifyPortType(*this, "result", index, type)) ||
        failed(verifyPortName(*this, "result", index, getResultAttr(index, "dataflow.name"),
                              resultNames))) {
      return failure();
    }
  }
  return verifyObserved(*this);
}

// Runs after the body's operations are verified, so the last one is known to be an OutputOp.
LogicalResult GraphOp::verifyRegions() {
  if (failed(verifyOperations(*this)) || failed(verifyAppended(*this))) {
    return failure();
  }
  // C2
  auto output = cast<OutputOp>(getBody().front().getTerminator());
  if (output.getOperandTypes() != TypeRange(getResultTypes())) {
    return output.emitOpError("expects operands of the graph's result types (")
           << getResultTypes() << "), got (" << output.getOperandTypes() << ")";
  }
  for (auto [index, value] : llvm::enumerate(output.getValues())) {
    if (!isa<BufferType>(value.getType()) && failed(verifyChanged(*this, index, value))) {
      return failure();
    }
  }
  return success();
}

// --- operations of a graph -----------------------------------------------------------------------

FlatSymbolRefAttr ParameterOp::getStored(unsigned target) {
  ArrayAttr encodings = getEncodingsAttr();
  if (!encodings) {
    return getParameterAttr();
  }
  size_t last = encodings.size() - 1;
  return cast<FlatSymbolRefAttr>(encodings[std::min<size_t>(target, last)]);
}

/// Returns the expression of `encoding` if that is a `pack` of the parameter; else null.
static transformer::ParameterExpressionAttr packOf(ParameterOp op,
                                                   transformer::ParameterOp encoding) {
  transformer::ParameterExpressionAttr expression = encoding.getExpressionAttr();
  bool isPack = expression && expression.getKind() == transformer::ExpressionKind::Pack &&
                expression.getOperands() == ArrayRef(op.getParameterAttr());
  return isPack ? expression : transformer::ParameterExpressionAttr();
}

/// C2
static LogicalResult verifyEncodings(ParameterOp op, SymbolTableCollection &symbolTable) {
  for (auto symbol : op.getEncodingsAttr().getAsRange<FlatSymbolRefAttr>()) {
    transformer::ParameterOp encoding =
        transformer::lookUpParameter(op, "encoding", symbol, symbolTable);
    if (!encoding) {
      return failure();
    }
    if (!packOf(op, encoding)) {
      return op.emitOpError("expects '") << symbol << "' to be 'pack' of '" << op.getParameterAttr()
                                         << "', got another parameter";
    }
  }
  for (Operation *user : op->getUsers()) {
    if (!isa<DispatchOp>(user)) {
      InFlightDiagnostic error =
          op.emitOpError("expects only dispatches to read an encoded parameter, got '")
          << user->getName() << "'";
      error.attachNote(user->getLoc()) << "the user is here";
      return error;
    }
  }
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  transformer::ParameterOp parameter =
      transformer::lookUpParameter(*this, "symbol", getParameterAttr(), symbolTable);
  if (!parameter) {
    return failure();
  }
  RankedTensorType tensor = parameter.getTensorType();
  if (getType() != BufferType::get(getContext(), tensor.getShape(), tensor.getElementType(), 0)) {
    InFlightDiagnostic error = emitOpError("expects the type of parameter '")
                               << getParameterAttr() << "', " << tensor << ", got " << getType();
    error.attachNote(parameter.getLoc()) << "the parameter is defined here";
    return error;
  }
  return getEncodingsAttr() ? verifyEncodings(*this, symbolTable) : success();
}

LogicalResult ColumnsOp::verify() {
  BufferType source = getSource().getType();
  BufferType result = getType();
  // C1
  int64_t first = getFirstAttr().getInt();
  if (source.getShape().size() != 2 || source.getWidth() < 0 || result.getShape().size() != 2 ||
      result.getWidth() < 0) {
    return emitOpError("expects buffers of rows [rows, width], got ")
           << source << " and " << result;
  }
  if (first < 0 || result.getWidth() > source.getWidth() ||
      first > source.getWidth() - result.getWidth()) {
    return emitOpError("expects columns within the source's ")
           << source.getWidth() << ", got " << result.getWidth() << " from " << first;
  }
  // C2
  if (source.getShape().front() != result.getShape().front() ||
      source.getElementType() != result.getElementType() ||
      source.getRowElements() != result.getRowElements()) {
    return emitOpError("expects the source's rows, element type and row stride ")
           << source.getRowElements() << ", got " << result << " from " << source;
  }
  return success();
}

} // namespace heddle::dataflow
