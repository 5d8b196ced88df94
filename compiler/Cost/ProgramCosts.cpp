// SPDX-License-Identifier: Apache-2.0
///
/// Counts costs over graphs.
#include "compiler/Cost/ProgramCosts.h"

#include "compiler/Cost/KernelCost.h"
#include "compiler/Cost/OptionalWork.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Selects the encodings to count. Targets are ordered by capability.
constexpr unsigned lastTarget = std::numeric_limits<unsigned>::max();

/// Returns "f32 [tokens, 384]".
std::string typeText(BufferType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type.getElementType() << " [";
  llvm::interleaveComma(type.getShape(), stream,
                        [&](int64_t size) { stream << dimensionText(size); });
  stream << "]";
  return text;
}

bool hasLongest(Value value) {
  auto type = dyn_cast<BufferType>(value.getType());
  return type && type.hasLongest();
}

/// Returns the bytes of a buffer's rows per token; for scores, whose rows are as long as the
/// longest sequence, per token and key; 0 for other values and for sequences.
uint64_t rowBytes(Value value) {
  auto type = dyn_cast<BufferType>(value.getType());
  if (!type || !type.hasRows()) {
    return 0;
  }
  uint64_t bytes = type.getConstantElements() * type.getElementBytes();
  for (int64_t size : type.getShape()) {
    std::optional<RowSpace> rows = rowSpaceOf(size);
    bytes = rows ? rows->perToken(bytes) : bytes;
  }
  return bytes;
}

class CostCounter {
public:
  explicit CostCounter(ModuleOp module) : symbols(module) {
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto [index, type] : llvm::enumerate(graph.getResultTypes())) {
        if (auto name = graph.getResultAttrOfType<StringAttr>(index, "dataflow.name");
            name && isa<CacheType>(type)) {
          appended.try_emplace(name.getValue(),
                               graph.getAppendedRows().value_or(RowSpace::tokens()));
        }
      }
    }
  }

  EntryCosts count(GraphOp graph) {
    EntryCosts entry;
    entry.name = graph.getSymName();
    entry.maxLength = static_cast<int64_t>(graph.getMaxLength());
    if (SizeAttr arena = graph.getArenaAttr()) {
      entry.arena = boundOf(arena);
    }
    addPorts(graph, entry);
    readInEntry.clear();
    const llvm::DenseSet<Operation *> aside =
        optionalWork(graph.getBody().front().getTerminator(), [&](unsigned result) {
          return graph.getResultAttr(result, "dataflow.observed") != nullptr;
        });
    const llvm::DenseSet<Operation *> usual = usualWork(graph);
    for (auto dispatch : graph.getDispatches()) {
      placeScores(dispatch);
      if (!aside.contains(dispatch)) {
        auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
        const SmallVector<WeightRead> weights = weightReads(dispatch, kernel, lastTarget, symbols);
        DispatchCosts &costs = entry.dispatches.emplace_back(count(dispatch, kernel, weights));
        costs.isUsual = usual.contains(dispatch);
        if (costs.isUsual) {
          addTraffic(dispatch, weights, entry);
        }
      }
    }
    return entry;
  }

private:
  static BatchBound boundOf(SizeAttr arena) {
    BatchBound bound;
    for (const SizeTerm &term : arena.getTerms()) {
      RowSpace rows = *rowSpaceOf(term.rows);
      std::optional<RowSpace> keys = spaceOfDimension(term.longest);
      keys ? bound.addPairs(term.bytes, rows, *keys) : bound.addRows(term.bytes, rows);
    }
    return bound;
  }

  /// Returns the work of a run that requests no probabilities; all needed work, if there are no
  /// other results.
  static llvm::DenseSet<Operation *> usualWork(GraphOp graph) {
    auto isBuffer = [&](unsigned result) {
      return isa<BufferType>(graph.getResultTypes()[result]);
    };
    auto isUsual = [&](unsigned result) {
      auto buffer = dyn_cast<BufferType>(graph.getResultTypes()[result]);
      return !graph.getResultAttr(result, "dataflow.observed") && !(buffer && buffer.hasLongest());
    };
    const bool hasUsual =
        llvm::any_of(llvm::seq<unsigned>(0, graph.getResultTypes().size()),
                     [&](unsigned result) { return isBuffer(result) && isUsual(result); });
    return neededWork(graph.getBody().front().getTerminator(), [&](unsigned result) {
      return isUsual(result) || (!hasUsual && !graph.getResultAttr(result, "dataflow.observed"));
    });
  }

  void addPorts(GraphOp graph, EntryCosts &entry) {
    auto nameOf = [](StringAttr name) { return name ? name.getValue().str() : std::string(); };
    llvm::StringSet<> written;
    for (auto [index, type] : llvm::enumerate(graph.getResultTypes())) {
      std::string name = nameOf(graph.getResultAttrOfType<StringAttr>(index, "dataflow.name"));
      if (graph.getResultAttr(index, "dataflow.observed")) {
        entry.observed += 1;
      } else if (auto buffer = dyn_cast<BufferType>(type)) {
        entry.outputs.push_back({name, typeText(buffer)});
      } else {
        written.insert(name);
      }
    }
    for (auto [index, type] : llvm::enumerate(graph.getArgumentTypes())) {
      std::string name = nameOf(graph.getArgAttrOfType<StringAttr>(index, "dataflow.name"));
      if (auto buffer = dyn_cast<BufferType>(type)) {
        entry.inputs.push_back({name, typeText(buffer)});
      } else if (auto state = dyn_cast<StateType>(type)) {
        entry.caches.push_back({name, 0, uint64_t(state.getBytes()), written.contains(name)});
      } else if (auto cache = dyn_cast<CacheType>(type)) {
        // Caches that nothing appends to only occur in tests.
        auto rows = appended.find(name);
        uint64_t bytes = cache.getPositionBytes();
        entry.caches.push_back({name, rows == appended.end() ? bytes : rows->second.perToken(bytes),
                                0, written.contains(name)});
      }
    }
  }

  DispatchCosts count(DispatchOp dispatch, KernelOp kernel, ArrayRef<WeightRead> weights) {
    Flops flops = kernelFlops(kernel).perToken();
    DispatchCosts costs;
    costs.name = checkpointName(dispatch.getLoc());
    costs.kernel = kernel.getSymName();
    costs.kind = kernel.getComputes().getFamilyName();
    costs.flopsPerToken = flops.perRow;
    costs.flopsPerTokenKey = flops.perRowAndKey;
    costs.keys = keysOf(dispatch);
    costs.reads = readsOf(dispatch, kernel, weights);
    costs.weightBytes = storedBytes(weights, counted);
    return costs;
  }

  /// Returns the place of the keys of a dispatch. Either all caches that it reads are appended to
  /// in the graph, or none is.
  static KeyPlace keysOf(DispatchOp dispatch) {
    for (Value input : dispatch.getInputs()) {
      if (isa<CacheType>(input.getType())) {
        // A cache of which only the extent is needed may be read before the append.
        Value cache = viewedValue(input);
        const bool isWritten =
            cache.getDefiningOp() || llvm::any_of(cache.getUses(), [&](OpOperand &use) {
              auto other = dyn_cast<DispatchOp>(use.getOwner());
              return other && other.changesOperand(use.getOperandNumber());
            });
        return isWritten ? KeyPlace::WrittenCache : KeyPlace::ReadCache;
      }
    }
    return KeyPlace::Rows;
  }

  /// Returns whether a kernel reads the contents of a cache or state: appending only writes, and an
  /// extent only counts keys.
  static bool readsKept(const KernelInput &input, Type type) {
    return isa<StateType>(type) ||
           (isa<CacheType>(type) && input.role != KernelInput::Role::Changed &&
            input.role != KernelInput::Role::Extent);
  }

  /// Returns the stored bytes of the parameters that are not in `known` yet, and adds them to it.
  uint64_t storedBytes(ArrayRef<WeightRead> weights, llvm::StringSet<> &known) {
    uint64_t bytes = 0;
    for (WeightRead read : weights) {
      if (known.insert(read.parameter.getStored(lastTarget).getValue()).second) {
        bytes += parameterBytes(read.parameter, lastTarget, symbols);
      }
    }
    return bytes;
  }

  static DispatchReads readsOf(DispatchOp dispatch, KernelOp kernel, ArrayRef<WeightRead> weights) {
    DispatchReads reads;
    for (const WeightRead &read : weights) {
      if (read.isPerRow) {
        reads.lookupBytesPerToken += kernel.getRows().perToken(read.neededBytes);
      } else {
        reads.weightBytes += read.neededBytes;
      }
    }
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    for (auto [input, value] : llvm::zip_first(inputs, dispatch.getInputs())) {
      if (!readsKept(input, value.getType())) {
        continue;
      }
      if (auto state = dyn_cast<StateType>(value.getType())) {
        reads.stateBytesPerSequence += state.getBytes();
      } else {
        reads.cacheBytesPerPosition += cast<CacheType>(value.getType()).getPositionBytes();
      }
    }
    return reads;
  }

  /// Counts a buffer that a dispatch writes or reads.
  void addActivation(Value value, EntryCosts &entry) {
    const auto scores = keysOfScores.find(value);
    const bool hasKeys = scores != keysOfScores.end();
    (!hasKeys                                   ? entry.activationBytesPerToken
     : scores->second == KeyPlace::Rows         ? entry.activationBytesPerTokenAndRow
     : scores->second == KeyPlace::WrittenCache ? entry.activationBytesPerTokenAndHistory
                                                : entry.activationBytesPerTokenAndSource) +=
        rowBytes(value);
  }

  void addTraffic(DispatchOp dispatch, ArrayRef<WeightRead> weights, EntryCosts &entry) {
    entry.weightBytes += storedBytes(weights, readInEntry);
    for (Value result : dispatch->getResults()) {
      addActivation(result, entry);
    }
    for (OpOperand &input : dispatch.getInputsMutable()) {
      addActivation(input.get(), entry);
      entry.readsCaches |= isa<StateType>(input.get().getType()) ||
                           (isa<CacheType>(input.get().getType()) &&
                            !dispatch.changesOperand(input.getOperandNumber()));
    }
  }

  /// Assigns the keys of scores that a dispatch writes: those of scores that it reads, else those
  /// that it sees.
  void placeScores(DispatchOp dispatch) {
    KeyPlace place = keysOf(dispatch);
    for (Value input : dispatch.getInputs()) {
      if (const auto read = keysOfScores.find(input); read != keysOfScores.end()) {
        place = read->second;
      }
    }
    for (Value result : dispatch->getResults()) {
      if (hasLongest(result)) {
        keysOfScores.try_emplace(result, place);
      }
    }
  }

  SymbolTable symbols;
  /// The place of the keys of scores, which dispatches propagate.
  llvm::DenseMap<Value, KeyPlace> keysOfScores;
  /// The rows that are appended to each cache.
  llvm::StringMap<RowSpace> appended;
  llvm::StringSet<> readInEntry;
  /// Counted parameters of all entries: a parameter that several read is stored once.
  llvm::StringSet<> counted;
};

void writePorts(llvm::json::OStream &json, llvm::StringRef key,
                const std::vector<PortFacts> &ports) {
  json.attributeArray(key, [&] {
    for (const PortFacts &port : ports) {
      json.object([&] {
        json.attribute("name", llvm::json::fixUTF8(port.name));
        json.attribute("type", port.type);
      });
    }
  });
}

void writeDispatch(llvm::json::OStream &json, const DispatchCosts &dispatch) {
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(dispatch.name));
    json.attribute("layer", llvm::json::fixUTF8(layerPrefix(dispatch.name)));
    json.attribute("kernel", dispatch.kernel);
    json.attribute("kind", dispatch.kind);
    json.attribute("flops_per_token", dispatch.flopsPerToken);
    json.attribute("flops_per_token_and_key", dispatch.flopsPerTokenKey);
    json.attribute("weight_bytes", dispatch.weightBytes);
  });
}

} // namespace

std::vector<EntryCosts> programCosts(ModuleOp module) {
  CostCounter counter(module);
  std::vector<EntryCosts> entries;
  for (auto graph : module.getOps<GraphOp>()) {
    entries.push_back(counter.count(graph));
  }
  return entries;
}

void writeCosts(llvm::json::OStream &json, const EntryCosts &entry) {
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(entry.name));
    writePorts(json, "inputs", entry.inputs);
    writePorts(json, "outputs", entry.outputs);
    json.attribute("observed", entry.observed);
    json.attributeArray("caches", [&] {
      for (const CacheCosts &cache : entry.caches) {
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(cache.name));
          json.attribute("layer", llvm::json::fixUTF8(layerPrefix(cache.name)));
          json.attribute("bytes_per_token", cache.bytesPerToken);
          json.attribute("bytes_per_sequence", cache.bytesPerSequence);
          json.attribute("written", cache.written);
        });
      }
    });
    json.attributeArray("dispatches", [&] {
      for (const DispatchCosts &dispatch : entry.dispatches) {
        writeDispatch(json, dispatch);
      }
    });
    json.attribute("arena_bytes_per_token", entry.arena.perToken);
    json.attribute("arena_bytes_per_sequence", entry.arena.perSequence);
    json.attribute("arena_bytes_per_token_and_longest", entry.arena.perTokenAndLongest);
    json.attribute("max_length", entry.maxLength);
  });
}

} // namespace heddle
