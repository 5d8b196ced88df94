// SPDX-License-Identifier: Apache-2.0
///
/// Numbers kernels and parameters in the order in which graphs first use them, and buffers in the
/// order of inputs, parameters and results, so that the same program gives the same bytes.
#include "compiler/Link/Manifest.h"

#include "heddle/Abi.h"
#include "heddle/Limits.h"
#include "heddle/Selection.h"

#include "compiler/Cost/KernelCost.h"
#include "compiler/Link/ManifestTables.h"
#include "compiler/Link/PortTensors.h"
#include "compiler/Link/PrecisionTables.h"
#include "compiler/Link/UsageTables.h"
#include "compiler/Remarks/Report.h"
#include "formats/Binary/SymbolicSize.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace heddle::dataflow;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {
namespace {

/// Returns the kind of an observed output; graphs have been verified.
manifest::Observed observedKind(StringAttr kind) {
  static_assert(int(manifest::Observed::Cross) == int(AttentionKind::Cross) &&
                manifest::Observed::MAX == manifest::Observed::Selection);
  if (kind && kind.getValue() == StringRef(selectionOutput)) {
    return manifest::Observed::Selection;
  }
  const AttentionSpelling *known = kind ? findAttentionKind(kind.getValue()) : nullptr;
  return known ? static_cast<manifest::Observed>(known->kind) : manifest::Observed::No;
}

manifest::CacheLayout layoutOf(CacheType type) {
  switch (type.getLayout()) {
  case CacheLayout::Keys:
    return manifest::CacheLayout::Keys;
  case CacheLayout::Rows:
    return manifest::CacheLayout::Rows;
  }
  llvm_unreachable("every layout is handled");
}

/// Writes one graph as an entry of the manifest.
class EntryWriter {
public:
  EntryWriter(GraphOp graph, FlatBufferBuilder &builder, SymbolTable &symbols, KernelTable &kernels,
              const llvm::StringMap<uint32_t> &parameters, const ManifestInputs &facts)
      : graph(graph), builder(builder), symbols(symbols), kernels(kernels), parameters(parameters),
        facts(facts), output(cast<OutputOp>(graph.getBody().front().getTerminator())) {}

  FailureOr<Offset<manifest::Entry>> write();

private:
  LogicalResult writeInputs();
  LogicalResult writeInput(BlockArgument argument);
  void writeCache(BlockArgument argument);
  void writeState(BlockArgument argument);
  /// Returns whether a dispatch changes an argument.
  bool isChanged(BlockArgument argument);
  /// Returns the first positions that rows read of a cache; nothing if one row reads all of it.
  std::vector<manifest::PositionBound> readsOf(BlockArgument cache);
  LogicalResult writeOutputs();
  LogicalResult writeDispatch(DispatchOp dispatch);
  LogicalResult writeLoop(LoopOp loop);
  FailureOr<Offset<manifest::Grid>> writeGrid(DispatchOp dispatch, KernelOp kernel);
  /// Writes the buffer of a parameter or a result and numbers it.
  LogicalResult writeResult(DispatchOp dispatch, OpResult result);
  LogicalResult writeParameter(ParameterOp parameter);
  void addBuffer(Value value, manifest::Location location, uint32_t index, SizeAttr offset = {},
                 ArrayRef<uint32_t> stored = {});
  FailureOr<manifest::Operand> operandOf(Value value, DispatchOp user);

  GraphOp graph;
  FlatBufferBuilder &builder;
  SymbolTable &symbols;
  KernelTable &kernels;
  const llvm::StringMap<uint32_t> &parameters;
  const ManifestInputs &facts;
  OutputOp output;
  SpaceTable spaces;
  llvm::DenseMap<Value, uint32_t> numbers;
  Table<manifest::Buffer> buffers;
  Table<manifest::Dispatch> dispatches;
  Table<manifest::Loop> loops;
  Table<manifest::Port> inputs;
  Table<manifest::Port> outputs;
  Table<manifest::CachePort> caches;
  Table<manifest::StatePort> states;
};

void EntryWriter::addBuffer(Value value, manifest::Location location, uint32_t index,
                            SizeAttr offset, ArrayRef<uint32_t> stored) {
  numbers[value] = buffers.size();
  std::vector<manifest::Dimension> dimensions = shapeOf(value.getType(), spaces);
  auto parameter = value.getDefiningOp<ParameterOp>();
  if (parameter && parameter.getEncodings()) {
    // Targets have different layouts of rows.
    auto matrix = cast<BufferType>(value.getType());
    if (auto quantized = dyn_cast<transformer::QuantizedType>(matrix.getElementType())) {
      dimensions.back() = {static_cast<uint64_t>(quantized.getLeastRowBytes(matrix.getWidth())), 0,
                           false};
    }
  }
  auto shape = builder.CreateVectorOfStructs(dimensions);
  Offset<flatbuffers::Vector<const manifest::SizeTerm *>> terms;
  if (offset) {
    terms = builder.CreateVectorOfStructs(toSize(offset, spaces));
  }
  auto indices = stored.empty() ? Offset<flatbuffers::Vector<uint32_t>>()
                                : builder.CreateVector(stored.data(), stored.size());
  buffers.push_back(manifest::CreateBuffer(builder, location, elementNumber(value.getType()), shape,
                                           terms, index, indices));
}

LogicalResult EntryWriter::writeInputs() {
  for (BlockArgument argument : graph.getBody().getArguments()) {
    if (isa<CacheType>(argument.getType())) {
      writeCache(argument);
    } else if (isa<StateType>(argument.getType())) {
      writeState(argument);
    } else if (failed(writeInput(argument))) {
      return failure();
    }
  }
  return success();
}

LogicalResult EntryWriter::writeInput(BlockArgument argument) {
  uint32_t index = argument.getArgNumber();
  auto name = graph.getArgAttrOfType<StringAttr>(index, "dataflow.name");
  auto limit = graph.getArgAttrOfType<IntegerAttr>(index, "dataflow.limit");
  auto type = cast<BufferType>(argument.getType());
  bool areIds = type.getElement() == ElementType::I32 && type.getShape().size() == 1 && limit;
  bool areRows = type.getElement() == ElementType::F32 && type.getShape().size() == 2;
  if (type.getShape().front() != tokensDimension || (!areIds && !areRows)) {
    return graph.emitError("input '")
           << name.getValue() << "' of entry '" << graph.getSymName() << "' is " << type
           << ", expected i32 ids of tokens with a limit, or f32 rows of tokens";
  }
  Attribute pad = graph.getArgAttr(index, "dataflow.pad");
  auto token = dyn_cast_or_null<IntegerAttr>(pad);
  const bool isToken = token && token.getType().isSignlessInteger(32) && token.getInt() >= 0 &&
                       token.getInt() <= (areIds ? limit.getInt() - 1 : 0);
  if (pad && !isToken) {
    return graph.emitError("input '")
           << name.getValue() << "' of entry '" << graph.getSymName() << "' is padded with " << pad
           << ", expected 0" << (areIds ? " to " + std::to_string(limit.getInt() - 1) : "")
           << " in i32";
  }
  FailureOr<PortTensorFields> tensor =
      writePortTensor(graph, index, /*isInput=*/true, type, builder);
  if (failed(tensor)) {
    return failure();
  }
  addBuffer(argument, manifest::Location::Input, inputs.size());
  auto shape = builder.CreateVectorOfStructs(shapeOf(type, spaces));
  inputs.push_back(manifest::CreatePort(builder, text(builder, name.getValue()),
                                        elementNumber(type), shape, areIds ? limit.getInt() : 0,
                                        graph.getArgAttr(index, "dataflow.optional") != nullptr,
                                        numbers.lookup(argument), manifest::Observed::No,
                                        isToken ? static_cast<int32_t>(token.getInt()) : -1,
                                        tensor->axes, tensor->after, tensor->rows));
  return success();
}

bool EntryWriter::isChanged(BlockArgument argument) {
  return llvm::any_of(graph.getDispatches(), [&](DispatchOp dispatch) {
    return llvm::any_of(dispatch.getChanges(), [&](int64_t changed) {
      return viewedValue(dispatch.getInputs()[changed]) == argument;
    });
  });
}

std::vector<manifest::PositionBound> EntryWriter::readsOf(BlockArgument cache) {
  // The cache, and the results of appending to it.
  llvm::SmallPtrSet<Value, 4> states = {cache};
  std::vector<manifest::PositionBound> bounds;
  for (auto dispatch : graph.getBody().getOps<DispatchOp>()) {
    auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
    for (OpResult result : dispatch->getResults()) {
      OpOperand *changed = dispatch.getChanged(result);
      if (changed && states.contains(viewedValue(changed->get()))) {
        states.insert(result);
      }
    }
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    for (auto [input, value] : llvm::zip_first(inputs, dispatch.getInputs())) {
      bool isRead = input.role != KernelInput::Role::Changed &&
                    input.role != KernelInput::Role::Extent && states.contains(viewedValue(value));
      if (isRead && !input.readsFrom) {
        return {};
      }
      if (isRead) {
        const transformer::PositionBound &bound = *input.readsFrom;
        bounds.emplace_back(bound.shift, bound.size, bound.step, bound.offset);
      }
    }
  }
  return bounds;
}

/// Returns the elements of a position; for codes, which are stored as bytes, those of the codes and
/// their scales.
static uint64_t bytesOrWidthOf(CacheType type) {
  return isa<transformer::QuantizedType>(type.getElementType()) ? type.getPositionBytes()
                                                                : type.getWidth();
}

void EntryWriter::writeCache(BlockArgument argument) {
  auto name = graph.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dataflow.name");
  auto type = cast<CacheType>(argument.getType());
  addBuffer(argument, manifest::Location::Cache, caches.size());
  caches.push_back(manifest::CreateCachePort(
      builder, text(builder, name.getValue()), bytesOrWidthOf(type), elementNumber(type),
      layoutOf(type), isChanged(argument), numbers.lookup(argument),
      builder.CreateVectorOfStructs(readsOf(argument))));
}

void EntryWriter::writeState(BlockArgument argument) {
  auto name = graph.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dataflow.name");
  auto type = cast<StateType>(argument.getType());
  addBuffer(argument, manifest::Location::State, states.size());
  states.push_back(manifest::CreateStatePort(
      builder, text(builder, name.getValue()), type.getWidth(), elementNumber(type),
      isChanged(argument), numbers.lookup(argument), type.getKeyed()));
}

LogicalResult EntryWriter::writeOutputs() {
  for (auto [index, value] : llvm::enumerate(output->getOperands())) {
    auto type = dyn_cast<BufferType>(value.getType());
    if (!type) {
      continue;
    }
    auto name = graph.getResultAttrOfType<StringAttr>(index, "dataflow.name");
    auto observed = graph.getResultAttrOfType<StringAttr>(index, "dataflow.observed");
    // In entries without caches only observed outputs can be weights: sessions can return those.
    bool isWeights = (!caches.empty() || !states.empty() || observed) &&
                     type.getShape().size() == 3 && type.getShape().front() == tokensDimension &&
                     type.getShape().back() == longestDimension;
    if (type.hasLongest() && !isWeights) {
      return graph.emitError("output '") << name.getValue() << "' of entry '" << graph.getSymName()
                                         << "' is " << type << ", expected rows of constant width";
    }
    FailureOr<PortTensorFields> tensor =
        writePortTensor(graph, index, /*isInput=*/false, type, builder);
    if (failed(tensor)) {
      return failure();
    }
    auto shape = builder.CreateVectorOfStructs(shapeOf(type, spaces));
    outputs.push_back(manifest::CreatePort(builder, text(builder, name.getValue()),
                                           elementNumber(type), shape, 0, false,
                                           numbers.lookup(value), observedKind(observed), -1,
                                           tensor->axes, tensor->after, tensor->rows));
  }
  return success();
}

LogicalResult EntryWriter::writeParameter(ParameterOp parameter) {
  // The table only has used parameters: see usedParameters().
  if (parameter->use_empty()) {
    return success();
  }
  if (parameter.getNumStored() != 1 && parameter.getNumStored() != facts.targets.size()) {
    return parameter.emitOpError("has ") << parameter.getNumStored() << " encodings, expected one "
                                         << "for each of " << facts.targets.size() << " targets";
  }
  SmallVector<uint32_t> stored;
  for (unsigned target = 0; target < facts.targets.size(); ++target) {
    auto number = parameters.find(parameter.getStored(target).getValue());
    if (number == parameters.end()) {
      return parameter.emitOpError("has no place in the manifest's table of parameters");
    }
    stored.push_back(number->second);
  }
  addBuffer(parameter.getResult(), manifest::Location::Parameter, 0, {}, stored);
  return success();
}

LogicalResult EntryWriter::writeResult(DispatchOp dispatch, OpResult result) {
  if (OpOperand *changed = dispatch.getChanged(result)) {
    // The result aliases the operand.
    FailureOr<manifest::Operand> kept = operandOf(changed->get(), dispatch);
    if (failed(kept)) {
      return failure();
    }
    numbers[result] = kept->buffer();
    return success();
  }
  auto type = cast<BufferType>(result.getType());
  if (type.getRowStride() != 0) {
    return dispatch.emitOpError("expects a result whose rows follow each other, got ") << type;
  }
  auto outputBuffers = llvm::make_filter_range(
      output->getOperands(), [](Value value) { return isa<BufferType>(value.getType()); });
  auto place = llvm::find(outputBuffers, Value(result));
  if (place != outputBuffers.end()) {
    addBuffer(result, manifest::Location::Output, std::distance(outputBuffers.begin(), place));
    return success();
  }
  SizeAttr at = dispatch.getPlace(result.getResultNumber());
  if (!at) {
    return dispatch.emitOpError("has no place in the arena: its memory is not planned");
  }
  addBuffer(result, manifest::Location::Arena, 0, at);
  return success();
}

FailureOr<manifest::Operand> EntryWriter::operandOf(Value value, DispatchOp user) {
  uint64_t offset = 0;
  while (Operation *op = value.getDefiningOp()) {
    if (auto columns = dyn_cast<ColumnsOp>(op)) {
      offset += columns.getFirst() * columns.getType().getElementBytes();
    } else if (!isa<ReshapeOp>(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  auto number = numbers.find(value);
  if (number == numbers.end()) {
    return user.emitOpError("reads a value that is no buffer of the graph");
  }
  if (offset > std::numeric_limits<uint32_t>::max()) {
    return user.emitOpError("reads columns from byte ")
           << offset << " of a row, expected at most " << std::numeric_limits<uint32_t>::max();
  }
  return manifest::Operand(number->second, static_cast<uint32_t>(offset));
}

FailureOr<Offset<manifest::Grid>> EntryWriter::writeGrid(DispatchOp dispatch, KernelOp kernel) {
  Division division = kernel.getComputes().getDivision(kernel.getKernelType());
  // Work along sequences processes rows in order, so it can only be divided by sequences.
  RowSpace rows =
      division.rows == Division::Rows::AlongSequences ? RowSpace::sequences() : kernel.getRows();
  const bool hasResult = static_cast<bool>(kernel.getResultBuffer());
  std::vector<manifest::TargetColumns> columns;
  uint64_t group = 0;
  for (auto [number, target] : llvm::enumerate(facts.targets)) {
    uint64_t count = columnsOf(division, target.panelColumns);
    if (count > largestGrid) {
      return kernel.emitOpError("has work of ")
             << count << " columns, expected at most " << largestGrid;
    }
    uint64_t elements = 0;
    if (hasResult) {
      std::tie(elements, group) = columnElements(division, target.panelColumns);
    }
    columns.emplace_back(count, elements, weightTraffic(dispatch, kernel, number, symbols).perRun,
                         division.rowsShareWork ? facts.tileRows(kernel, target) : 1);
  }
  return manifest::CreateGrid(builder, spaces[rows], builder.CreateVectorOfStructs(columns), group);
}

LogicalResult EntryWriter::writeDispatch(DispatchOp dispatch) {
  SmallVector<Value> values;
  for (OpResult result : dispatch->getResults()) {
    if (!numbers.contains(result) && failed(writeResult(dispatch, result))) {
      return failure();
    }
    values.push_back(result);
  }
  // A changed operand is only listed as a result.
  for (OpOperand &input : dispatch.getInputsMutable()) {
    if (!dispatch.changesOperand(input.getOperandNumber())) {
      values.push_back(input.get());
    }
  }
  auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
  std::vector<manifest::Operand> operands;
  for (Value value : values) {
    FailureOr<manifest::Operand> operand = operandOf(value, dispatch);
    if (failed(operand)) {
      return failure();
    }
    operands.push_back(*operand);
  }
  int32_t number = kernels.numberOf(kernel);
  const KernelFlops flops = kernelFlops(kernel);
  // Tables are the same for every target.
  const uint64_t bytesPerRow = weightTraffic(dispatch, kernel, 0, symbols).perRow;
  // Empty for a program without checkpoint names: a path would differ between machines.
  std::string name = checkpointName(dispatch.getLoc());
  FailureOr<Offset<manifest::Grid>> grid = writeGrid(dispatch, kernel);
  if (failed(grid)) {
    return failure();
  }
  std::vector<uint8_t> named;
  for (RowSpace space : namedSpaces(kernel.getKernelType())) {
    named.push_back(spaces[space]);
  }
  const ChosenGroups chosen = chosenGroups(kernel);
  dispatches.push_back(manifest::CreateDispatch(
      builder, number, kernel.hasFinish() ? number + 1 : -1,
      builder.CreateVectorOfStructs(operands), *grid, builder.CreateVector(named),
      text(builder, name.empty() ? kernel.getSymName() : StringRef(name)), flops.ofRow.perRow,
      flops.ofRow.perRowAndKey, bytesPerRow, dispatch->getNumResults(), spaces[flops.rows],
      spaces[flops.keys], flops.ofRow.mostKeys, chosen.groups, chosen.by, arithmeticOf(kernel),
      kernel.isRowByRow(), writtenProductsOf(kernel)));
  return success();
}

/// Writes the dispatches of a loop in order, then which of their operands are from the previous
/// step.
LogicalResult EntryWriter::writeLoop(LoopOp loop) {
  auto first = static_cast<uint32_t>(dispatches.size());
  // Numbers results before the operands that read them a step later.
  SmallVector<DispatchOp> inside(loop.getBody().getOps<DispatchOp>());
  for (DispatchOp dispatch : inside) {
    for (OpResult result : dispatch->getResults()) {
      if (failed(writeResult(dispatch, result))) {
        return failure();
      }
    }
  }
  for (BlockArgument argument : loop.getBody().getArguments()) {
    numbers[argument] = numbers.lookup(loop.getNext(argument));
  }
  std::vector<manifest::EarlierOperand> earlier;
  for (auto [number, dispatch] : llvm::enumerate(inside)) {
    for (OpOperand &input : dispatch.getInputsMutable()) {
      auto argument = dyn_cast<BlockArgument>(viewedValue(input.get()));
      if (argument && argument.getOwner()->getParentOp() == loop) {
        // The operands of a dispatch are its results, then its inputs.
        uint32_t initial =
            loop.getInitial().empty()
                ? 0
                : numbers.lookup(viewedValue(loop.getInitial()[argument.getArgNumber()])) + 1;
        earlier.emplace_back(first + number, dispatch->getNumResults() + input.getOperandNumber(),
                             initial);
      }
    }
    if (failed(writeDispatch(dispatch))) {
      return failure();
    }
  }
  for (OpResult result : loop->getResults()) {
    numbers[result] = numbers.lookup(loop.getNext(result));
  }
  loops.push_back(manifest::CreateLoop(builder, first, inside.size(), spaces[loop.getRows()],
                                       builder.CreateVectorOfStructs(earlier), loop.getBeside()));
  return success();
}

FailureOr<Offset<manifest::Entry>> EntryWriter::write() {
  if (!graph.getArenaAttr()) {
    return graph.emitError("graph '") << graph.getSymName() << "' has no arena: its memory is not "
                                      << "planned";
  }
  if (failed(spaces.addAll(graph)) || failed(writeInputs())) {
    return failure();
  }
  for (Operation &op : graph.getBody().front()) {
    if (auto parameter = dyn_cast<ParameterOp>(op);
        parameter && failed(writeParameter(parameter))) {
      return failure();
    }
    if (auto dispatch = dyn_cast<DispatchOp>(op); dispatch && failed(writeDispatch(dispatch))) {
      return failure();
    }
    if (auto loop = dyn_cast<LoopOp>(op); loop && failed(writeLoop(loop))) {
      return failure();
    }
  }
  // The memory plan has made each output a separate result.
  for (Value value : output->getOperands()) {
    if (!isa<BufferType>(value.getType())) {
      continue;
    }
    if (llvm::count(output->getOperands(), value) != 1 || !value.getDefiningOp<DispatchOp>()) {
      return graph.emitError("graph '")
             << graph.getSymName() << "' outputs a value that no dispatch "
             << "writes for it alone: its memory is not planned";
    }
  }
  if (failed(writeOutputs())) {
    return failure();
  }
  auto arena = builder.CreateVectorOfStructs(toSize(graph.getArenaAttr(), spaces));
  std::vector<manifest::RowLimit> limits;
  for (const SizeTerm &term :
       graph.getMaxRows() ? graph.getMaxRows()->getTerms() : ArrayRef<SizeTerm>()) {
    limits.emplace_back(term.bytes, spaces[*rowSpaceOf(term.rows)]);
  }
  return manifest::CreateEntry(
      builder, text(builder, graph.getSymName()), builder.CreateVector(inputs),
      builder.CreateVector(outputs), builder.CreateVector(buffers),
      builder.CreateVector(dispatches), arena, graph.getMaxLength(), builder.CreateVector(caches),
      builder.CreateVector(states), builder.CreateVectorOfStructs(spaces.write()),
      builder.CreateVector(loops), spaces[graph.getAppendedRows().value_or(RowSpace::tokens())],
      builder.CreateVectorOfStructs(limits));
}

} // namespace

static FailureOr<Table<manifest::Entry>> writeEntries(ModuleOp module, SymbolTable &symbols,
                                                      const ManifestInputs &inputs,
                                                      KernelTable &kernels,
                                                      FlatBufferBuilder &builder) {
  llvm::StringMap<uint32_t> numbers;
  for (transformer::ParameterOp parameter : usedParameters(module)) {
    numbers.try_emplace(parameter.getSymName(), numbers.size());
  }
  Table<manifest::Entry> entries;
  for (auto graph : module.getOps<GraphOp>()) {
    FailureOr<Offset<manifest::Entry>> entry =
        EntryWriter(graph, builder, symbols, kernels, numbers, inputs).write();
    if (failed(entry)) {
      return failure();
    }
    entries.push_back(*entry);
  }
  return entries;
}

LogicalResult buildManifest(ModuleOp module, const ManifestInputs &inputs,
                            FlatBufferBuilder &builder) {
  SymbolTable symbols(module);
  KernelTable kernels;
  auto entries = writeEntries(module, symbols, inputs, kernels, builder);
  if (failed(entries)) {
    return failure();
  }
  auto parameters = writeParameters(module, inputs, builder);
  if (failed(parameters)) {
    return failure();
  }
  const Offset<manifest::Generation> generation = writeGeneration(module, builder);
  const Offset<manifest::Chat> chat = writeChat(module, builder);
  const auto classification = writeClassification(module, builder);
  const auto languages = writeLanguages(module, builder);
  auto producer = text(builder, inputs.producer);
  auto type = text(builder, textOf(module, "transformer.model_type"));
  auto hash = text(builder, inputs.sourceHash);
  auto precision = text(builder, inputs.precision);
  auto targets = builder.CreateVector(writeTargets(builder, inputs.targets));
  auto entryTable = builder.CreateVector(*entries);
  auto kernelTable = builder.CreateVector(kernels.write(builder, inputs));
  auto parameterTable = builder.CreateVector(*parameters);
  auto summary = builder.CreateVectorOfStrings(inputs.reportSummary);
  const auto codes = writeCodes(inputs.codes, builder);
  const auto images = writeImages(builder, inputs);
  auto policy = optionalText(builder, textOf(module, "transformer.sharing"));
  const auto calibration = writeCalibration(inputs.calibration, builder);
  auto kept = writeKept(module, builder);
  auto tokenizer = writeTokenizer(inputs.tokenizer, builder);
  auto target = writeTokenizer(inputs.targetTokenizer, builder);

  manifest::ManifestBuilder root(builder);
  root.add_abi(HEDDLE_ABI);
  root.add_producer(producer);
  root.add_model_type(type);
  root.add_source_hash(hash);
  root.add_precision(precision);
  root.add_targets(targets);
  root.add_entries(entryTable);
  root.add_kernels(kernelTable);
  root.add_parameters(parameterTable);
  root.add_weights_size(inputs.weightsSize);
  addCodeChecksum(inputs, builder, root);
  root.add_tokenizer(tokenizer);
  root.add_target_tokenizer(target);
  root.add_generation(generation);
  root.add_report_summary(summary);
  root.add_sharing(policy);
  root.add_calibration(calibration);
  root.add_kept(kept);
  root.add_codes(codes);
  root.add_images(images);
  root.add_chat(chat);
  root.add_classification(classification);
  root.add_languages(languages);
  manifest::FinishManifestBuffer(builder, root.Finish());
  return checkWritten(module, inputs, builder);
}

} // namespace heddle
