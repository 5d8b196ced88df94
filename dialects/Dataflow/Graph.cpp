// SPDX-License-Identifier: Apache-2.0
///
/// Graphs and what stands in them: text and verification.
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Interfaces/FunctionImplementation.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir;

namespace heddle::dataflow {

/// Ids are i32, so that no limit is higher.
static constexpr uint64_t kMostIds = uint64_t{1} << 31;

Value viewedValue(Value value) {
  while (isa_and_nonnull<ColumnsOp, ReshapeOp>(value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
  }
  return value;
}

// --- graph -----------------------------------------------------------------------------------

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

/// C1: a cache, or dense rows of tokens or sequences.
static LogicalResult verifyPortType(GraphOp graph, StringRef kind, unsigned index, Type type) {
  if (isa<CacheType>(type)) {
    return success();
  }
  auto buffer = dyn_cast<BufferType>(type);
  if (!buffer || buffer.getRowStride() != 0 ||
      (buffer.getShape().front() != BufferType::kTokens &&
       buffer.getShape().front() != BufferType::kSequences)) {
    return graph.emitOpError("expects ")
           << kind << " #" << index
           << " to be a cache or a dense buffer of tokens or sequences, got " << type;
  }
  return success();
}

/// Whether it is valid UTF-8 without the control characters U+0000 to U+001F and U+007F to U+009F.
static bool isPrintable(StringRef text) {
  const llvm::UTF8 *begin = text.bytes_begin();
  if (!llvm::isLegalUTF8String(&begin, text.bytes_end())) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // Legal, so that a byte follows 0xc2.
    bool isControl = byte < 0x20 || byte == 0x7f ||
                     (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (isControl) {
      return false;
    }
  }
  return true;
}

/// C3 and C5: a name that is not in `names` yet.
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

/// C9. What is observed comes last, so that the numbers of the other outputs do not depend on it.
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
    if (!kind || !findAttentionKind(kind.getValue())) {
      return graph.emitOpError("expects a 'dataflow.observed' of ")
             << attentionKindChoices() << " of result #" << index << ", got " << observed;
    }
    if (!buffer || !buffer.getElementType().isF32() || buffer.getShape().size() != 3 ||
        buffer.getShape().front() != BufferType::kTokens || buffer.getShape()[1] <= 0 ||
        buffer.getShape().back() != BufferType::kLongest) {
      return graph.emitOpError("expects observed result #")
             << index << " to be [tokens, heads, longest] of f32, got " << type;
    }
  }
  return success();
}

/// C6
static LogicalResult verifyOperations(GraphOp graph) {
  for (Operation &op : graph.getBody().front()) {
    if (!isa<ParameterOp, ColumnsOp, ReshapeOp, DispatchOp, OutputOp>(op)) {
      return op.emitOpError("in a graph: expects parameters, views and dispatches, got '")
             << op.getName() << "'";
    }
  }
  return success();
}

/// C8, for a result that is a cache: a dispatch whose result is one has it as its first operand.
static LogicalResult verifyAppended(GraphOp graph, unsigned index, Value value) {
  auto dispatch = viewedValue(value).getDefiningOp<DispatchOp>();
  auto argument = dispatch && !dispatch.getInputs().empty()
                      ? dyn_cast<BlockArgument>(viewedValue(dispatch.getInputs().front()))
                      : BlockArgument();
  Attribute name = graph.getResultAttr(index, "dataflow.name");
  if (!argument || graph.getArgAttr(argument.getArgNumber(), "dataflow.name") != name) {
    return graph.emitOpError("expects result #")
           << index << " to be what was appended to argument " << name << ", got another value";
  }
  return success();
}

LogicalResult GraphOp::verify() {
  // C7
  int64_t length = getMaxLengthAttr().getInt();
  if (length < 0) {
    return emitOpError("expects a 'max_length' of 0 or more, got ") << length;
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
  if (failed(verifyObserved(*this)) || failed(verifyOperations(*this))) {
    return failure();
  }
  // C2
  auto output = cast<OutputOp>(getBody().front().getTerminator());
  if (output.getOperandTypes() != TypeRange(getResultTypes())) {
    return output.emitOpError("expects operands of the graph's result types (")
           << getResultTypes() << "), got (" << output.getOperandTypes() << ")";
  }
  for (auto [index, value] : llvm::enumerate(output.getValues())) {
    if (isa<CacheType>(value.getType()) && failed(verifyAppended(*this, index, value))) {
      return failure();
    }
  }
  return success();
}

// --- what stands in a graph ------------------------------------------------------------------

/// The kernel that a dispatch runs; null for one that does not exist.
static KernelOp kernelOf(DispatchOp dispatch, SymbolTableCollection &symbols) {
  return dyn_cast_or_null<KernelOp>(
      symbols.lookupNearestSymbolFrom(dispatch, dispatch.getKernelAttr()));
}

/// What a kernel does with an operand; none of a null kernel and of operands that are no inputs.
static std::optional<KernelInput::Role> roleOf(KernelOp kernel, unsigned index) {
  if (!kernel || index >= kernel.getNumInputs()) {
    return std::nullopt;
  }
  return kernel.getComputes().getInputs(kernel.getKernelType())[index].role;
}

/// The parameter that a symbol names; reports one that names none.
static FailureOr<transformer::ParameterOp> findParameter(ParameterOp op, FlatSymbolRefAttr symbol,
                                                         SymbolTableCollection &symbolTable) {
  Operation *found = symbolTable.lookupNearestSymbolFrom(op, symbol);
  if (auto parameter = dyn_cast_or_null<transformer::ParameterOp>(found)) {
    return parameter;
  }
  InFlightDiagnostic error = op.emitOpError("expects '")
                             << symbol << "' to be a 'transformer.parameter', got ";
  if (found) {
    error << "'" << found->getName() << "'";
  } else {
    error << "no such symbol";
  }
  return failure();
}

/// The groups of the rows of a matrix that a use multiplies; nothing for a use that is no product.
static std::optional<int64_t> groupsOf(OpOperand &use, SymbolTableCollection &symbolTable) {
  auto dispatch = dyn_cast<DispatchOp>(use.getOwner());
  KernelOp kernel = dispatch ? kernelOf(dispatch, symbolTable) : KernelOp();
  if (roleOf(kernel, use.getOperandNumber()) != KernelInput::Role::Matrix) {
    return std::nullopt;
  }
  return kernel.getComputes().getInputs(kernel.getKernelType())[use.getOperandNumber()].groups;
}

/// C2: kernels read the encoding without looking at its type, so that it must be what they expect.
static LogicalResult verifyEncoding(ParameterOp op, transformer::ParameterOp encoded,
                                    SymbolTableCollection &symbolTable) {
  transformer::ParameterExpressionAttr expression = encoded.getExpressionAttr();
  if (!expression || expression.getKind() != transformer::ExpressionKind::Pack ||
      expression.getOperands().front() != op.getParameterAttr()) {
    return op.emitOpError("expects '") << op.getEncodedAttr() << "' to be 'pack' of '"
                                       << op.getParameterAttr() << "', got another parameter";
  }
  int64_t packed = expression.getNumbers().size() > 1 ? expression.getNumbers()[1] : 1;
  for (OpOperand &use : op->getUses()) {
    std::optional<int64_t> groups = groupsOf(use, symbolTable);
    if (groups == packed) {
      continue;
    }
    InFlightDiagnostic error = op.emitOpError();
    if (groups) {
      error << "expects '" << op.getEncodedAttr() << "' of " << *groups << " groups, got "
            << packed;
    } else {
      error << "expects only matrices of products to read an encoded parameter, got '"
            << use.getOwner()->getName() << "'";
    }
    error.attachNote(use.getOwner()->getLoc()) << "the user is here";
    return error;
  }
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  FailureOr<transformer::ParameterOp> parameter =
      findParameter(*this, getParameterAttr(), symbolTable);
  if (failed(parameter)) {
    return failure();
  }
  RankedTensorType tensor = parameter->getTensorType();
  if (getType() != BufferType::get(getContext(), tensor.getShape(), tensor.getElementType(), 0)) {
    InFlightDiagnostic error = emitOpError("expects the type of parameter '")
                               << getParameterAttr() << "', " << tensor << ", got " << getType();
    error.attachNote(parameter->getLoc()) << "the parameter is defined here";
    return error;
  }
  // C2
  if (!getEncodedAttr()) {
    return success();
  }
  FailureOr<transformer::ParameterOp> encoded = findParameter(*this, getEncodedAttr(), symbolTable);
  return failed(encoded) ? failure() : verifyEncoding(*this, *encoded, symbolTable);
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

/// C3: the ids at `index` stay within the table that follows them.
static LogicalResult verifyIds(DispatchOp dispatch, GraphOp graph, unsigned index) {
  Value ids = viewedValue(dispatch.getInputs()[index]);
  if (Operation *made = ids.getDefiningOp()) {
    return dispatch.emitOpError("expects ids that are an argument of the graph, got a result of '")
           << made->getName() << "'";
  }
  unsigned argument = cast<BlockArgument>(ids).getArgNumber();
  int64_t limit = graph.getArgAttrOfType<IntegerAttr>(argument, "dataflow.limit").getInt();
  auto table = cast<BufferType>(dispatch.getInputs()[index + 1].getType());
  if (limit > table.getShape().front()) {
    return dispatch.emitOpError("expects ids with a 'dataflow.limit' of at most the table's ")
           << table.getShape().front() << " rows, got " << limit;
  }
  return success();
}

/// C4: positions stay within their table.
static LogicalResult verifyPositions(DispatchOp dispatch, GraphOp graph, int64_t offset,
                                     BufferType table) {
  int64_t length = graph.getMaxLengthAttr().getInt();
  int64_t rows = table.getShape().front();
  if (length == 0) {
    return dispatch.emitOpError(
        "expects a graph with a 'max_length' where positions are looked up, "
        "got none");
  }
  if (offset > rows || length > rows - offset) {
    return dispatch.emitOpError("expects a table of at least 'max_length' ")
           << length << " plus offset " << offset << " rows, got " << rows;
  }
  return success();
}

/// C3 and C4, for a dispatch that has the types of its kernel.
static LogicalResult verifyLookups(DispatchOp dispatch, ArrayRef<KernelInput> inputs) {
  auto graph = cast<GraphOp>(dispatch->getParentOp());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (input.role == KernelInput::Role::Ids && failed(verifyIds(dispatch, graph, index))) {
      return failure();
    }
  }
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (input.role == KernelInput::Role::Positions &&
        failed(verifyPositions(dispatch, graph, input.offset,
                               cast<BufferType>(dispatch.getInputs()[index].getType())))) {
      return failure();
    }
  }
  return success();
}

/// C5: `append` is the only one that appends to its cache, and nothing reads what was there before.
static LogicalResult verifyOnlyAppend(DispatchOp append, SymbolTableCollection &symbolTable) {
  auto argument = dyn_cast<BlockArgument>(viewedValue(append.getInputs().front()));
  if (!argument) {
    return append.emitOpError("expects to append to an argument of the graph, got a result");
  }
  SmallVector<Value> values = {argument};
  while (!values.empty()) {
    for (OpOperand &use : values.pop_back_val().getUses()) {
      if (auto view = dyn_cast<ReshapeOp>(use.getOwner())) {
        values.push_back(view.getResult());
        continue;
      }
      auto user = dyn_cast<DispatchOp>(use.getOwner());
      bool isKeys = user && roleOf(kernelOf(user, symbolTable), use.getOperandNumber()) ==
                                KernelInput::Role::Extent;
      if (user != append && !isKeys) {
        InFlightDiagnostic error =
            append.emitOpError("expects to be the only user of the cache it appends to, got '")
            << use.getOwner()->getName() << "' beside it";
        error.attachNote(use.getOwner()->getLoc()) << "the other user is here";
        return error;
      }
    }
  }
  return success();
}

/// C8: `accumulate` is the last to touch its state, which is an argument.
static LogicalResult verifyLastUse(DispatchOp accumulate) {
  auto argument = dyn_cast<BlockArgument>(viewedValue(accumulate.getInputs().front()));
  if (!argument) {
    return accumulate.emitOpError("expects to accumulate into an argument of the graph, got a "
                                  "result");
  }
  SmallVector<Value> values = {argument};
  while (!values.empty()) {
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ReshapeOp>(user)) {
        values.push_back(view.getResult());
      } else if (isa<DispatchOp>(user) && accumulate->isBeforeInBlock(user)) {
        InFlightDiagnostic error = accumulate.emitOpError(
            "expects to be the last to use the state it changes, got a dispatch after it");
        error.attachNote(user->getLoc()) << "the other user is here";
        return error;
      }
    }
  }
  return success();
}

/// Whether the graph appends to a cache that is read: it is a result of that, or was there before.
static bool isAppended(Value cache) {
  SmallVector<Value> values = {viewedValue(cache)};
  if (values.back().getDefiningOp()) {
    return true;
  }
  while (!values.empty()) {
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<ReshapeOp>(user)) {
        values.push_back(user->getResult(0));
      }
      if (isa<DispatchOp>(user) && isa<CacheType>(user->getResult(0).getType())) {
        return true;
      }
    }
  }
  return false;
}

/// C6 and C7, for a dispatch that has the types of its kernel and does not append.
static LogicalResult verifyCaches(DispatchOp dispatch, KernelFamily family) {
  std::optional<bool> areAppended;
  for (auto [index, input] : llvm::enumerate(dispatch.getInputs())) {
    if (!isa<CacheType>(input.getType())) {
      continue;
    }
    bool appended = isAppended(input);
    if (areAppended.value_or(appended) != appended) {
      return dispatch.emitOpError(
                 "expects caches that are all appended to in the graph or all only "
                 "read, got operand #")
             << index << ", which is " << (appended ? "appended to" : "only read");
    }
    areAppended = appended;
  }
  if (family.hidesLaterKeys() && !areAppended.value_or(true)) {
    return dispatch.emitOpError("expects a cache that is appended to in the graph where keys after "
                                "the row are hidden, got one that is only read");
  }
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  Operation *found = symbolTable.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto kernel = dyn_cast_or_null<KernelOp>(found);
  if (!kernel) {
    InFlightDiagnostic error = emitOpError("expects '")
                               << getKernelAttr() << "' to be a 'dataflow.kernel', got ";
    return found ? error << "'" << found->getName() << "'" : error << "no such symbol";
  }
  // C2
  auto type = FunctionType::get(getContext(), getOperandTypes(), getResult().getType());
  if (type != kernel.getKernelType()) {
    InFlightDiagnostic error = emitOpError("expects the type of kernel '")
                               << getKernelAttr() << "', " << kernel.getKernelType() << ", got "
                               << type;
    error.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return error;
  }
  KernelFamily family = kernel.getComputes();
  if (kernel.writesCache()) {
    auto cache = cast<CacheType>(getResult().getType());
    return cache.getLayout() == CacheLayout::State ? verifyLastUse(*this)
                                                   : verifyOnlyAppend(*this, symbolTable);
  }
  if (failed(verifyCaches(*this, family))) {
    return failure();
  }
  return verifyLookups(*this, family.getInputs(type));
}

} // namespace heddle::dataflow
