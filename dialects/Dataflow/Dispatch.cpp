// SPDX-License-Identifier: Apache-2.0
///
/// Dispatches: their memory effects, their places in text, and their verifiers.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

OpOperand *DispatchOp::getChanged(OpResult result) {
  if (isa<BufferType>(result.getType())) {
    return nullptr;
  }
  unsigned before = llvm::count_if(getResults().take_front(result.getResultNumber()),
                                   [](Value other) { return !isa<BufferType>(other.getType()); });
  // This can run before the dispatch is verified, because its graph is verified first.
  ArrayRef<int64_t> changes = getChanges();
  if (before >= changes.size() || changes[before] < 0 ||
      changes[before] >= static_cast<int64_t>(getInputs().size())) {
    return nullptr;
  }
  return &getInputsMutable()[changes[before]];
}

SizeAttr DispatchOp::getPlace(unsigned result) {
  return getAtAttr() ? dyn_cast<SizeAttr>(getAtAttr()[result]) : SizeAttr();
}

/// Declares effects only on caches and states. Buffers are values: each is written once, by the
/// dispatch that makes it.
void DispatchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &input : getInputsMutable()) {
    if (isa<BufferType>(input.get().getType())) {
      continue;
    }
    effects.emplace_back(MemoryEffects::Read::get(), &input, SideEffects::DefaultResource::get());
    if (changesOperand(input.getOperandNumber())) {
      effects.emplace_back(MemoryEffects::Write::get(), &input,
                           SideEffects::DefaultResource::get());
    }
  }
}

/// C9
static LogicalResult verifyChanges(DispatchOp dispatch) {
  SmallVector<Type> results;
  llvm::copy_if(dispatch->getResultTypes(), std::back_inserter(results),
                [](Type type) { return !isa<BufferType>(type); });
  ArrayRef<int64_t> changes = dispatch.getChanges();
  if (changes.size() != results.size()) {
    return dispatch.emitOpError("expects 'changes' with an operand for each of ")
           << results.size() << " results that are caches or states, got " << changes.size();
  }
  auto count = static_cast<int64_t>(dispatch.getInputs().size());
  for (auto [place, operand] : llvm::enumerate(changes)) {
    if (operand < 0 || operand >= count || llvm::is_contained(changes.take_front(place), operand)) {
      return dispatch.emitOpError("expects 'changes' of distinct operands below ")
             << count << ", got " << operand;
    }
    Type type = dispatch.getInputs()[operand].getType();
    if (type != results[place]) {
      return dispatch.emitOpError("expects the type of operand #")
             << operand << ", which it changes, as a result, got " << results[place] << " of "
             << type;
    }
  }
  return success();
}

/// C10
static LogicalResult verifyPlaces(DispatchOp dispatch) {
  ArrayAttr places = dispatch.getAtAttr();
  if (!places) {
    return success();
  }
  if (places.size() != dispatch->getNumResults()) {
    return dispatch.emitOpError("expects a place or 'none' for each of ")
           << dispatch->getNumResults() << " results, got " << places.size();
  }
  for (auto [place, type] : llvm::zip_equal(places, dispatch->getResultTypes())) {
    if (!isa<UnitAttr>(place) && !(isa<SizeAttr>(place) && isa<BufferType>(type))) {
      return dispatch.emitOpError(
                 "expects places of buffers, and 'none' for caches and states, got ")
             << place << " of " << type;
    }
  }
  return success();
}

LogicalResult DispatchOp::verify() {
  return success(succeeded(verifyChanges(*this)) && succeeded(verifyPlaces(*this)));
}

ParseResult parsePlaces(OpAsmParser &parser, ArrayAttr &places) {
  if (failed(parser.parseOptionalKeyword("at"))) {
    return success();
  }
  SmallVector<Attribute> list;
  auto parsePlace = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("none"))) {
      list.push_back(parser.getBuilder().getUnitAttr());
      return success();
    }
    SizeAttr place;
    if (parser.parseCustomAttributeWithFallback(place)) {
      return failure();
    }
    list.push_back(place);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare, parsePlace)) {
    return failure();
  }
  // A place without brackets is that of the only result.
  if (list.empty() && parsePlace()) {
    return failure();
  }
  places = parser.getBuilder().getArrayAttr(list);
  return success();
}

void printPlaces(OpAsmPrinter &printer, Operation *, ArrayAttr places) {
  if (!places) {
    return;
  }
  auto printPlace = [&](Attribute place) {
    if (auto size = dyn_cast<SizeAttr>(place)) {
      printer.printStrippedAttrOrType(size);
    } else {
      printer << "none";
    }
  };
  printer << " at ";
  if (places.size() == 1 && isa<SizeAttr>(places[0])) {
    printPlace(places[0]);
    return;
  }
  printer << '[';
  llvm::interleaveComma(places, printer, printPlace);
  printer << ']';
}

// --- checks against the kernel -----------------------------------------------------------------

std::optional<KernelInput> DispatchOp::findInput(unsigned operand, SymbolTableCollection &symbols) {
  auto kernel = dyn_cast_or_null<KernelOp>(symbols.lookupNearestSymbolFrom(*this, getKernelAttr()));
  if (!kernel || operand >= kernel.getNumInputs()) {
    return std::nullopt;
  }
  return kernel.getComputes().getInputs(kernel.getKernelType())[operand];
}

// --- checks against the graph ------------------------------------------------------------------

/// C3: checks that the ids at `index` are within the table that follows them.
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

/// C4: checks that positions are within their table.
static LogicalResult verifyPositions(DispatchOp dispatch, GraphOp graph, int64_t offset,
                                     BufferType table) {
  int64_t length = graph.getMaxLengthAttr().getInt();
  // There are as many positions as the longest sequence has rows in the space of the result.
  auto result = dyn_cast<BufferType>(dispatch->getResult(0).getType());
  std::optional<RowSpace> space = result ? result.getRowSpace() : std::nullopt;
  bool hasWidths = space && space->hasWidths();
  StringRef limit = hasWidths ? "max_rows" : "max_length";
  if (hasWidths) {
    length = graph.getMaxRows() ? graph.getMaxRows()->getMost(*space) : 0;
  } else if (length > 0 && space) {
    length = space->rowsOf(length);
  }
  int64_t rows = table.getShape().front();
  if (length == 0) {
    return dispatch.emitOpError("expects a graph with a '")
           << limit << "' where positions are looked up, got none";
  }
  if (offset > rows || length > rows - offset) {
    return dispatch.emitOpError("expects a table of at least '")
           << limit << "' " << length << " plus offset " << offset << " rows, got " << rows;
  }
  return success();
}

/// Checks C3 and C4. The types of the dispatch must be those of its kernel.
static LogicalResult verifyLookups(DispatchOp dispatch, ArrayRef<KernelInput> inputs) {
  auto graph = dispatch->getParentOfType<GraphOp>();
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

/// Calls `visit` with every use of a value by a dispatch, through any number of views.
static void overUses(Value value, function_ref<void(DispatchOp, OpOperand &)> visit) {
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    for (OpOperand &use : values.pop_back_val().getUses()) {
      if (auto view = dyn_cast<ReshapeOp>(use.getOwner())) {
        values.push_back(view.getResult());
      } else if (auto dispatch = dyn_cast<DispatchOp>(use.getOwner())) {
        visit(dispatch, use);
      }
    }
  }
}

/// Returns whether a use only asks for the number of positions of a cache, which is constant during
/// a run.
static bool isExtent(DispatchOp user, OpOperand &use, SymbolTableCollection &symbols) {
  std::optional<KernelInput> input = user.findInput(use.getOperandNumber(), symbols);
  return input && input->role == KernelInput::Role::Extent;
}

/// C5, for an operand that the dispatch changes.
static LogicalResult verifyChange(DispatchOp dispatch, OpOperand &changed,
                                  SymbolTableCollection &symbols) {
  auto argument = dyn_cast<BlockArgument>(viewedValue(changed.get()));
  if (!argument) {
    return dispatch.emitOpError("expects to change an argument of the graph in place, got a result "
                                "as operand #")
           << changed.getOperandNumber();
  }
  LogicalResult verified = success();
  overUses(argument, [&](DispatchOp user, OpOperand &use) {
    bool isAfter = user == dispatch ? &use != &changed : dispatch->isBeforeInBlock(user);
    if (failed(verified) || !isAfter || isExtent(user, use, symbols)) {
      return;
    }
    InFlightDiagnostic error = dispatch.emitOpError("expects to be the last to use operand #")
                               << changed.getOperandNumber()
                               << " as it was, which it changes in place, got another use";
    error.attachNote(user.getLoc()) << "the other use is here";
    verified = error;
  });
  return verified;
}

/// Returns whether a dispatch of the graph changes a cache. The cache may be the result of that
/// dispatch or its operand.
static bool isChanged(Value cache) {
  Value value = viewedValue(cache);
  bool changed = value.getDefiningOp() != nullptr;
  overUses(value, [&](DispatchOp user, OpOperand &use) {
    changed |= user.changesOperand(use.getOperandNumber());
  });
  return changed;
}

/// C6: checks that a dispatch reads a cache as changed by the run, if any dispatch changes it.
static LogicalResult verifyPositionsThere(DispatchOp dispatch, OpOperand &input,
                                          SymbolTableCollection &symbols) {
  if (!viewedValue(input.get()).getDefiningOp() && isChanged(input.get()) &&
      !isExtent(dispatch, input, symbols)) {
    return dispatch.emitOpError("expects to read the cache as it is when the rows of the run are "
                                "in it, got operand #")
           << input.getOperandNumber() << " as it was before";
  }
  return success();
}

/// Checks C6 and C7 for the caches that a dispatch reads. Its types must be those of its kernel.
static LogicalResult verifyCaches(DispatchOp dispatch, KernelFamily family,
                                  SymbolTableCollection &symbols) {
  std::optional<bool> areChanged;
  for (OpOperand &input : dispatch.getInputsMutable()) {
    if (!isa<CacheType>(input.get().getType()) ||
        dispatch.changesOperand(input.getOperandNumber())) {
      continue;
    }
    bool changed = isChanged(input.get());
    if (areChanged.value_or(changed) != changed) {
      return dispatch.emitOpError(
                 "expects caches that are all appended to in the graph or all only "
                 "read, got operand #")
             << input.getOperandNumber() << ", which is "
             << (changed ? "appended to" : "only read");
    }
    areChanged = changed;
    if (failed(verifyPositionsThere(dispatch, input, symbols))) {
      return failure();
    }
  }
  if (family.hidesLaterKeys() && !areChanged.value_or(true)) {
    return dispatch.emitOpError("expects a cache that is appended to in the graph where keys are "
                                "hidden by their positions, got one that is only read");
  }
  return success();
}

/// C8
static LogicalResult verifyStates(DispatchOp dispatch) {
  for (OpOperand &input : dispatch.getInputsMutable()) {
    if (isa<StateType>(input.get().getType()) && viewedValue(input.get()).getDefiningOp() &&
        !dispatch.changesOperand(input.getOperandNumber())) {
      return dispatch.emitOpError("expects to read the state as it was before the run, got operand "
                                  "#")
             << input.getOperandNumber() << " as a dispatch left it";
    }
  }
  return success();
}

/// C2: checks that the types and changes of a dispatch are those of its kernel.
static LogicalResult verifyKernelType(DispatchOp dispatch, KernelOp kernel) {
  auto type = FunctionType::get(dispatch.getContext(), dispatch.getOperandTypes(),
                                dispatch->getResultTypes());
  if (type != kernel.getKernelType()) {
    InFlightDiagnostic error = dispatch.emitOpError("expects the type of kernel '")
                               << dispatch.getKernelAttr() << "', " << kernel.getKernelType()
                               << ", got " << type;
    error.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return error;
  }
  SmallVector<int64_t> changes = kernel.getChanges();
  if (dispatch.getChanges() == ArrayRef<int64_t>(changes)) {
    return success();
  }
  InFlightDiagnostic error = dispatch.emitOpError("expects to change the operands that kernel '")
                             << dispatch.getKernelAttr() << "' changes, [";
  llvm::interleaveComma(changes, error);
  error << "], got [";
  llvm::interleaveComma(dispatch.getChanges(), error);
  error << "]";
  error.attachNote(kernel.getLoc()) << "the kernel is defined here";
  return error;
}

/// C11: checks the encodings, because kernels read one without checking its type.
static LogicalResult verifyEncoded(DispatchOp dispatch, ArrayRef<KernelInput> inputs,
                                   SymbolTableCollection &symbolTable) {
  for (auto [index, value] : llvm::enumerate(dispatch.getInputs())) {
    auto parameter = value.getDefiningOp<ParameterOp>();
    if (!parameter || !parameter.getEncodings()) {
      continue;
    }
    if (index >= inputs.size() || !inputs[index].takesEncoding()) {
      return dispatch.emitOpError("expects an encoded parameter as the matrix of a product or the "
                                  "table of an encoded look-up, got it as operand #")
             << index;
    }
    for (auto symbol : parameter.getEncodingsAttr().getAsRange<FlatSymbolRefAttr>()) {
      auto encoding = dyn_cast_or_null<transformer::ParameterOp>(
          symbolTable.lookupNearestSymbolFrom(dispatch, symbol));
      transformer::ParameterExpressionAttr pack =
          encoding ? encoding.getExpressionAttr() : transformer::ParameterExpressionAttr();
      // The parameter's verifier reports an encoding that is not a `pack`.
      bool isPack = pack && pack.getKind() == transformer::ExpressionKind::Pack;
      if (isPack && pack.getGroups() != inputs[index].groups) {
        return dispatch.emitOpError("expects '")
               << symbol << "' of " << inputs[index].groups << " groups, got " << pack.getGroups();
      }
      // A target may want more elements of bf16 together for its products; packedType() says which.
      // Whether a target reads them is checked where its kernels are made.
      const int64_t together = elementsTogether(inputs[index].arithmetic);
      const bool isOfTarget = inputs[index].role == KernelInput::Role::Matrix &&
                              inputs[index].arithmetic == Arithmetic::Bf16 && pack &&
                              pack.getElementsTogether() > together;
      if (isPack && pack.getElementsTogether() != together && !isOfTarget) {
        return dispatch.emitOpError("expects '")
               << symbol << "' with " << together << " elements together, got "
               << pack.getElementsTogether();
      }
    }
  }
  return success();
}

/// C12
static LogicalResult verifyStep(DispatchOp dispatch, KernelOp kernel,
                                ArrayRef<KernelInput> inputs) {
  auto loop = dyn_cast<LoopOp>(dispatch->getParentOp());
  if (!loop) {
    return success();
  }
  for (auto [index, input] : llvm::enumerate(inputs)) {
    Value value = dispatch.getInputs()[index];
    bool isMemory = isa<CacheType>(value.getType()) && isa<BlockArgument>(viewedValue(value));
    if (!input.isOfOneRow(isMemory)) {
      return dispatch.emitOpError(
                 "in a loop: expects a kernel of which each row reads that row of "
                 "its inputs or a cache that is only read, got others of operand #")
             << index;
    }
  }
  if (kernel.getRows() != loop.getRows()) {
    return dispatch.emitOpError("in a loop: expects the rows of the loop, ")
           << loop.getRows().text() << ", got " << kernel.getRows().text();
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
  if (failed(verifyKernelType(*this, kernel))) {
    return failure();
  }
  KernelFamily family = kernel.getComputes();
  SmallVector<KernelInput> inputs = family.getInputs(kernel.getKernelType());
  if (failed(verifyStep(*this, kernel, inputs)) ||
      failed(verifyEncoded(*this, inputs, symbolTable))) {
    return failure();
  }
  for (int64_t changed : getChanges()) {
    if (failed(verifyChange(*this, getInputsMutable()[changed], symbolTable))) {
      return failure();
    }
  }
  if (failed(verifyCaches(*this, family, symbolTable)) || failed(verifyStates(*this))) {
    return failure();
  }
  return verifyLookups(*this, inputs);
}

} // namespace heddle::dataflow
