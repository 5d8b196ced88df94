// SPDX-License-Identifier: Apache-2.0
///
/// Numbers row spaces, kernels and parameters, and writes the tables of what the numbers refer to.
#include "compiler/Link/ManifestTables.h"

#include "compiler/Parameters/FloatProducts.h"
#include "formats/Binary/ManifestCheck.h"
#include "heddle/Limits.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <span>

using namespace mlir;
using namespace heddle::dataflow;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

uint8_t elementNumber(Type type) {
  Type element = llvm::TypeSwitch<Type, Type>(type)
                     .Case<BufferType, CacheType, StateType>(
                         [](auto memory) { return memory.getElementType(); })
                     .Default(type);
  return uint8_t(elementTypeOf(element));
}

LogicalResult SpaceTable::add(int64_t dimension) {
  std::optional<RowSpace> space = spaceOfDimension(dimension);
  if (!space || llvm::is_contained(spaces, *space)) {
    return success();
  }
  if (spaces.size() == mostSpaces) {
    return failure();
  }
  spaces.push_back(*space);
  return success();
}

LogicalResult SpaceTable::addAll(GraphOp graph) {
  auto visit = [&](auto dimensions) {
    bool added =
        llvm::all_of(dimensions, [&](int64_t dimension) { return succeeded(add(dimension)); });
    return added ? WalkResult::advance() : WalkResult::interrupt();
  };
  AttrTypeWalker walker;
  walker.addWalk([&](BufferType type) { return visit(type.getShape()); });
  auto visitTerms = [&](ArrayRef<SizeTerm> terms) {
    SmallVector<int64_t> dimensions;
    for (const SizeTerm &term : terms) {
      dimensions.append({term.rows, term.longest});
    }
    return visit(dimensions);
  };
  walker.addWalk([&](SizeAttr size) { return visitTerms(size.getTerms()); });
  walker.addWalk([&](RowLimitsAttr limits) { return visitTerms(limits.getTerms()); });
  WalkResult walked = graph.walk([&](Operation *op) {
    bool isFull = walker.walk(op->getAttrDictionary()).wasInterrupted() ||
                  llvm::any_of(op->getResultTypes(),
                               [&](Type type) { return walker.walk(type).wasInterrupted(); });
    return isFull ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walked.wasInterrupted()) {
    return graph.emitError("graph '")
           << graph.getSymName() << "' has more than " << mostSpaces << " row spaces";
  }
  return success();
}

uint8_t SpaceTable::operator[](RowSpace space) const {
  auto found = llvm::find(spaces, space);
  assert(found != spaces.end() && "addAll() has seen every space of the graph");
  return static_cast<uint8_t>(found - spaces.begin());
}

std::vector<manifest::RowSpace> SpaceTable::write() const {
  std::vector<manifest::RowSpace> table;
  for (RowSpace space : spaces) {
    table.emplace_back(space.size(), static_cast<uint8_t>(space.kind()));
  }
  return table;
}

std::vector<manifest::Dimension> shapeOf(Type type, const SpaceTable &spaces) {
  const StoredLayout stored =
      llvm::TypeSwitch<Type, StoredLayout>(type)
          .Case([](CacheType cache) {
            // A row of codes has one dimension, in every view.
            const bool areCodes = isa<transformer::QuantizedType>(cache.getElementType());
            return storedAs(cache.getElementType(),
                            areCodes ? ArrayRef(cache.getWidth()) : cache.getShape());
          })
          .Case<BufferType, StateType>(
              [](auto memory) { return storedAs(memory.getElementType(), memory.getShape()); });
  std::vector<manifest::Dimension> shape;
  for (int64_t dimension : stored.shape) {
    std::optional<RowDimension> rows = RowDimension::of(dimension);
    if (rows) {
      shape.emplace_back(0, spaces[rows->space], rows->isLongest);
    } else {
      shape.emplace_back(dimension, 0, false);
    }
  }
  return shape;
}

std::vector<manifest::SizeTerm> toSize(SizeAttr size, const SpaceTable &spaces) {
  std::vector<manifest::SizeTerm> terms;
  for (const SizeTerm &term : size.getTerms()) {
    std::optional<RowSpace> keys = spaceOfDimension(term.longest);
    terms.emplace_back(term.bytes, spaces[*rowSpaceOf(term.rows)],
                       keys ? static_cast<uint8_t>(spaces[*keys] + 1) : 0);
  }
  return terms;
}

uint64_t columnsOf(const Division &division, int64_t panelColumns) {
  switch (division.columns) {
  case Division::Columns::None:
    return 1;
  case Division::Columns::Heads:
    return division.count;
  case Division::Columns::Elements:
    return division.count * llvm::divideCeil(division.size, panelColumns);
  }
  llvm_unreachable("every division has columns");
}

std::pair<uint64_t, uint64_t> columnElements(const Division &division, int64_t panelColumns) {
  switch (division.columns) {
  case Division::Columns::None:
    return {0, 0};
  case Division::Columns::Heads:
    return {division.size, division.size};
  case Division::Columns::Elements:
    return {panelColumns, division.size};
  }
  llvm_unreachable("every division has columns");
}

manifest::Arithmetic arithmeticOf(KernelOp kernel) {
  static_assert(int(manifest::Arithmetic::Integers) == int(Arithmetic::Integers) &&
                int(manifest::Arithmetic::Bf16) == int(Arithmetic::Bf16) &&
                manifest::Arithmetic::MAX == manifest::Arithmetic::Bf16);
  for (const KernelInput &input : kernel.getComputes().getInputs(kernel.getKernelType())) {
    using Role = KernelInput::Role;
    const bool isFactor = input.role == Role::Matrix || input.role == Role::Sequence;
    if (isFactor && input.arithmetic != Arithmetic::F32) {
      return static_cast<manifest::Arithmetic>(input.arithmetic);
    }
  }
  return manifest::Arithmetic::F32;
}

manifest::FloatProducts writtenProductsOf(KernelOp kernel) {
  switch (floatProductsOf(kernel)) {
  case FloatProducts::Exact:
    return manifest::FloatProducts::Exact;
  case FloatProducts::Tf32x3:
    return manifest::FloatProducts::Tf32x3;
  case FloatProducts::Tf32:
    return manifest::FloatProducts::Tf32;
  case FloatProducts::Bf16:
    return manifest::FloatProducts::Bf16;
  }
  llvm_unreachable("every kind is handled");
}

ChosenGroups chosenGroups(KernelOp kernel) {
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  ChosenGroups found;
  bool hasMatrix = false;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    hasMatrix |= input.role == KernelInput::Role::Matrix;
    if (input.role == KernelInput::Role::Chosen) {
      found = {static_cast<uint32_t>(input.limit), kernel.getCallOperand(index)};
    }
  }
  return hasMatrix ? found : ChosenGroups();
}

uint32_t KernelTable::numberOf(KernelOp kernel) {
  auto [found, isNew] = numbers.try_emplace(kernel.getSymName(), count);
  if (isNew) {
    kernels.push_back(kernel);
    count += kernel.hasFinish() ? 2 : 1;
  }
  return found->second;
}

static Offset<manifest::Kernel> writeKernel(FlatBufferBuilder &builder,
                                            const ManifestInputs &inputs, StringRef name,
                                            ScratchSize scratch,
                                            ArrayRef<manifest::LaunchShape> launches) {
  Table<flatbuffers::String> symbols;
  for (const ManifestTarget &target : inputs.targets) {
    symbols.push_back(text(builder, inputs.functionName(name, target.name)));
  }
  return manifest::CreateKernel(builder, text(builder, name), builder.CreateVector(symbols),
                                scratch.fixed, scratch.perLongest,
                                builder.CreateVectorOfStructs(launches.data(), launches.size()));
}

Table<manifest::Kernel> KernelTable::write(FlatBufferBuilder &builder,
                                           const ManifestInputs &inputs) const {
  Table<manifest::Kernel> table;
  for (KernelOp kernel : kernels) {
    std::vector<manifest::LaunchShape> launches, ofFinish;
    for (const ManifestTarget &target : inputs.targets) {
      launches.push_back(inputs.launchShape(kernel, target));
      ofFinish.push_back(target.launch);
    }
    table.push_back(
        writeKernel(builder, inputs, kernel.getSymName(), inputs.scratch(kernel), launches));
    if (kernel.hasFinish()) {
      // A norm works in place on the finished row.
      table.push_back(writeKernel(builder, inputs, inputs.finishName(kernel.getSymName()),
                                  ScratchSize(), ofFinish));
    }
  }
  return table;
}

Offset<flatbuffers::Vector<Offset<manifest::Image>>> writeImages(FlatBufferBuilder &builder,
                                                                 const ManifestInputs &inputs) {
  if (inputs.images.empty()) {
    return {};
  }
  Table<manifest::Image> table;
  for (const ManifestImage &image : inputs.images) {
    table.push_back(manifest::CreateImage(builder, image.target, image.kind, image.offset,
                                          image.size, image.checksum,
                                          text(builder, image.compiler)));
  }
  return builder.CreateVector(table);
}

// --- parameters ---------------------------------------------------------------------------------

SmallVector<transformer::ParameterOp> usedParameters(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SetVector<Operation *> used;
  SmallVector<ParameterOp> read;
  unsigned targets = 1;
  for (auto graph : module.getOps<GraphOp>()) {
    for (auto parameter : graph.getBody().getOps<ParameterOp>()) {
      if (!parameter->use_empty()) {
        read.push_back(parameter);
        targets = std::max(targets, parameter.getNumStored());
      }
    }
  }
  for (unsigned target = 0; target < targets; ++target) {
    for (ParameterOp parameter : read) {
      used.insert(symbols.lookup(parameter.getStored(target).getAttr()));
    }
  }
  return llvm::map_to_vector(used,
                             [](Operation *op) { return cast<transformer::ParameterOp>(op); });
}

FailureOr<Table<manifest::Parameter>> writeParameters(ModuleOp module, const ManifestInputs &inputs,
                                                      FlatBufferBuilder &builder) {
  Table<manifest::Parameter> table;
  for (transformer::ParameterOp parameter : usedParameters(module)) {
    auto place = inputs.parameters.find(parameter.getSymName());
    if (place == inputs.parameters.end()) {
      return parameter.emitOpError("has no place in the weights");
    }
    RankedTensorType type = parameter.getTensorType();
    const StoredLayout stored = storedAs(type.getElementType(), type.getShape());
    std::vector<uint64_t> shape(stored.shape.begin(), stored.shape.end());
    auto written = builder.CreateVector(shape);
    table.push_back(manifest::CreateParameter(
        builder, text(builder, parameter.getSymName()), static_cast<uint8_t>(stored.element),
        written, place->second.offset, place->second.size, place->second.checksum));
  }
  return table;
}

Table<flatbuffers::String> writeTargets(FlatBufferBuilder &builder,
                                        ArrayRef<ManifestTarget> targets) {
  Table<flatbuffers::String> table;
  for (const ManifestTarget &target : targets) {
    table.push_back(text(builder, target.name));
  }
  return table;
}

StringRef textOf(ModuleOp module, StringRef attribute) {
  auto text = module->getAttrOfType<StringAttr>(attribute);
  return text ? text.getValue() : StringRef();
}

Offset<manifest::Tokenizer> writeTokenizer(const TokenizerWriter &write,
                                           FlatBufferBuilder &builder) {
  return write ? write(builder) : Offset<manifest::Tokenizer>();
}

void addCodeChecksum(const ManifestInputs &inputs, FlatBufferBuilder &builder,
                     manifest::ManifestBuilder &root) {
  builder.ForceDefaults(true);
  root.add_code_checksum(inputs.codeChecksum);
  builder.ForceDefaults(false);
}

LogicalResult checkWritten(ModuleOp module, const ManifestInputs &inputs,
                           const FlatBufferBuilder &builder) {
  const std::span<const uint8_t> bytes(builder.GetBufferPointer(), builder.GetSize());
  Status status = checkWrittenManifest(
      std::as_bytes(bytes),
      {inputs.weightsSize, std::as_bytes(std::span<const char>(inputs.imageSection))});
  if (!status.ok()) {
    return module.emitError("the program gives a binary that the runtime would refuse: ")
           << status.message();
  }
  return success();
}

} // namespace heddle
