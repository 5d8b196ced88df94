// SPDX-License-Identifier: Apache-2.0
///
/// Checks programs without their weights.
#include "frontend/Import/ProgramCheck.h"

#include "base/Utf8.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "heddle/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// Expressions are evaluated operand by operand, again for each use, so that memory use is bounded.
/// Frontends nest two levels; passes nest one for each link of a chain of maps.
static constexpr unsigned deepestExpression = 10'000;
static constexpr uint64_t mostEvaluations = 1'000'000;

/// The most rows of a sequence, on the segments of an entry.
static constexpr llvm::StringLiteral mostRowsAttribute = "transformer.most_rows";

/// Returns whether frontends derive parameters with this kind. Passes use the other kinds, and
/// reshaping.
static bool isOfFrontend(ExpressionKind kind) {
  return kind == ExpressionKind::Rows || kind == ExpressionKind::SinusoidInterleaved ||
         kind == ExpressionKind::SinusoidSplit || kind == ExpressionKind::RelativeBuckets ||
         kind == ExpressionKind::OnesFrom || kind == ExpressionKind::Columns ||
         kind == ExpressionKind::Convert;
}

bool isFirstPhase(ModuleOp module) {
  const WalkResult result = module.walk([](Operation *op) {
    if (op->getName().getDialectNamespace() == "dataflow" ||
        isa<AttendOp, AttentionOp, AttentionWeightsOp, EmbedOp, GroupedLinearOp>(op)) {
      return WalkResult::interrupt();
    }
    auto parameter = dyn_cast<ParameterOp>(op);
    const bool isDerived = parameter && parameter.getExpression() &&
                           !isOfFrontend(parameter.getExpression()->getKind());
    return isDerived ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

bool hasFunctionEntries(ModuleOp module) {
  return !module.getOps<func::FuncOp>().empty() || module.getOps<dataflow::GraphOp>().empty();
}

LogicalResult verifyOneModule(ModuleOp module) {
  const WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto parent = op->getParentOfType<ModuleOp>();
    const llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (!parent || parent == module ||
        !(isa<ModuleOp>(op) || dialect == "transformer" || dialect == "dataflow")) {
      return WalkResult::advance();
    }
    op->emitOpError("is inside a module of the program, expected only code of kernels there");
    return WalkResult::interrupt();
  });
  return success(!result.wasInterrupted());
}

LogicalResult verifyNesting(ModuleOp module) {
  for (auto nested : module.getOps<ModuleOp>()) {
    if (hasFunctionEntries(module)) {
      return nested.emitOpError("is inside a program of func.func, expected such modules only "
                                "beside a dataflow.graph, with the code of its kernels");
    }
  }
  return verifyOneModule(module);
}

/// Returns whether a name can be shown and compared as text.
static bool isText(llvm::StringRef name) {
  for (size_t at = 0; at < name.size(); ++at) {
    const auto byte = static_cast<unsigned char>(name[at]);
    // U+0080 to U+009F are control characters too.
    const bool isHigh =
        byte == 0xC2 && at + 1 < name.size() && static_cast<unsigned char>(name[at + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || isHigh) {
      return false;
    }
  }
  return validUtf8Prefix(std::string_view(name.data(), name.size())) == name.size();
}

/// Checks the names of an entry. The attribute `key` holds the names of its ports.
static LogicalResult verifyNamesOf(FunctionOpInterface entry, llvm::StringRef key) {
  const auto verify = [&](const Twine &what, Attribute attribute) -> LogicalResult {
    auto name = dyn_cast_if_present<StringAttr>(attribute);
    if (!name || isText(name.getValue())) {
      return success();
    }
    return entry.emitOpError() << "has " << what << " named "
                               << quote(std::string_view(name.getValue()))
                               << ", expected UTF-8 without control characters";
  };
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    if (failed(verify("argument " + Twine(number), entry.getArgAttr(number, key)))) {
      return failure();
    }
  }
  for (unsigned number = 0; number < entry.getNumResults(); ++number) {
    if (failed(verify("result " + Twine(number), entry.getResultAttr(number, key)))) {
      return failure();
    }
  }
  if (entry.getName().empty()) {
    return entry.emitOpError("has no name, expected one that callers can give");
  }
  return verify("an entry", entry.getNameAttr());
}

LogicalResult verifyNames(ModuleOp module) {
  for (auto entry : module.getOps<FunctionOpInterface>()) {
    const bool isGraph = isa<dataflow::GraphOp>(entry);
    if (!isGraph && !isa<func::FuncOp>(entry)) {
      continue;
    }
    if (failed(verifyNamesOf(entry, isGraph ? "dataflow.name" : "transformer.name"))) {
      return failure();
    }
  }
  return success();
}

/// Checks one name of an entry against those before it, `names`.
static LogicalResult verifyName(func::FuncOp entry, const Twine &what, Attribute name,
                                llvm::StringSet<> &names) {
  auto text = dyn_cast_if_present<StringAttr>(name);
  if (!text || text.empty()) {
    return entry.emitOpError() << "expects \"transformer.name\" on " << what << ", a string";
  }
  if (!names.insert(text.getValue()).second) {
    return entry.emitOpError() << "expects distinct names, got \"" << text.getValue() << "\" again";
  }
  return success();
}

/// Returns whether values of this type persist between runs.
static bool isKept(Type type) { return isa<CacheType, StateType>(type); }

/// Return the name of such a value in messages, and of the operation that changes one that an entry
/// returns.
static llvm::StringRef kindOf(Type type) { return isa<StateType>(type) ? "state" : "cache"; }
static llvm::StringRef changeOf(Type type) {
  return isa<StateType>(type) ? "changed" : "appended to";
}

/// Returns whether callers can pass values of this type: ids, or rows of floats.
static bool isInput(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 || !tensor.isDynamicDim(0)) {
    return false;
  }
  const bool areIds = tensor.getRank() == 1 && tensor.getElementType().isInteger(32);
  return areIds || (tensor.getRank() == 2 && tensor.getElementType().isF32() &&
                    !tensor.isDynamicDim(1) && tensor.getDimSize(1) > 0);
}

/// Ids and rows of floats, then the segments of the rows, then a memory's segments by name, then
/// caches and states.
static LogicalResult verifyArguments(func::FuncOp entry) {
  const llvm::ArrayRef<Type> types = entry.getFunctionType().getInputs();
  const auto isSegments = [](Type type) { return isa<SegmentsType>(type); };
  const auto segments = llvm::find_if(types, isSegments);
  if (segments == types.end()) {
    return entry.emitOpError("expects segments after its inputs");
  }
  const auto rows = static_cast<unsigned>(segments - types.begin());
  llvm::StringSet<> inputs, caches;
  for (auto [number, type] : llvm::enumerate(types)) {
    if (number < rows && !isInput(type)) {
      return entry.emitOpError() << "expects argument " << number
                                 << " to be ids, tensor<?xi32>, or rows, tensor<?xWxf32>, got "
                                 << type;
    }
    const bool isMemory = number == rows + 1 && isSegments(type);
    if (number > rows && !isMemory && !isKept(type)) {
      return entry.emitOpError() << "expects argument " << number
                                 << ", after its segments, to be a cache or state, got " << type;
    }
    if (number != rows && failed(verifyName(entry, "argument " + Twine(number),
                                            entry.getArgAttr(number, "transformer.name"),
                                            isKept(type) ? caches : inputs))) {
      return failure();
    }
  }
  return success();
}

/// A cache or state among the results is the argument of that name, changed.
static LogicalResult verifyCacheResult(func::FuncOp entry, unsigned number) {
  auto end = dyn_cast<func::ReturnOp>(entry.getBody().back().getTerminator());
  const Value value = end ? end.getOperand(number) : Value();
  const BlockArgument origin = value ? cacheArgument(value) : BlockArgument();
  if (!origin || origin == value || origin.getOwner() != &entry.getBody().front() ||
      entry.getArgAttr(origin.getArgNumber(), "transformer.name") !=
          entry.getResultAttr(number, "transformer.name")) {
    const Type type = entry.getFunctionType().getResult(number);
    return entry.emitOpError() << "expects result " << number << ", a " << kindOf(type)
                               << ", to be the argument of its name, " << changeOf(type);
  }
  return success();
}

/// A cache that was appended to, or a state that was changed, must be a result, for later runs.
static LogicalResult verifyAppended(func::FuncOp entry) {
  const WalkResult result = entry.walk([](Operation *op) {
    if (!op->hasTrait<ChangesKept>() ||
        llvm::any_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>)) {
      return WalkResult::advance();
    }
    const Type type = op->getOperand(0).getType();
    op->emitOpError() << (isa<StateType>(type) ? "changes a state" : "appends to a cache")
                      << " that its entry does not return, expected it among the results";
    return WalkResult::interrupt();
  });
  return success(!result.wasInterrupted());
}

/// Returns whether a type is that of rows [t, w] or, with `areScores`, of scores [t, h, k].
static bool isOutput(Type type, bool areScores) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32() || tensor.getRank() < 2 ||
      !tensor.isDynamicDim(0) || tensor.isDynamicDim(1)) {
    return false;
  }
  return areScores ? tensor.getRank() == 3 && tensor.isDynamicDim(2) : tensor.getRank() == 2;
}

/// Whether callers can ask for scores. In an entry without caches only observed scores can be
/// requested, because sessions know how to return those.
static bool handsOutScores(func::FuncOp entry, unsigned result) {
  return entry.getResultAttr(result, "transformer.observed") ||
         llvm::any_of(entry.getFunctionType().getInputs(), isKept);
}

/// The limits of an entry's description in a binary.
static LogicalResult verifyCounts(func::FuncOp entry) {
  const llvm::ArrayRef<Type> inputs = entry.getFunctionType().getInputs();
  const llvm::ArrayRef<Type> results = entry.getFunctionType().getResults();
  const auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  const std::pair<llvm::StringRef, int64_t> counts[] = {
      {"inputs", llvm::count_if(inputs, isTensor)},
      {"caches and states", llvm::count_if(inputs, isKept)},
      {"outputs", llvm::count_if(results, isTensor)}};
  for (const auto &[what, count] : counts) {
    if (count > static_cast<int64_t>(mostPorts)) {
      return entry.emitOpError() << "has " << count << " " << what << ", expected at most "
                                 << mostPorts;
    }
  }
  return success();
}

static LogicalResult verifyResults(func::FuncOp entry) {
  llvm::StringSet<> outputs, caches;
  for (auto [number, type] : llvm::enumerate(entry.getFunctionType().getResults())) {
    const bool isCache = isKept(type);
    if (isOutput(type, /*areScores=*/true) && !handsOutScores(entry, number)) {
      InFlightDiagnostic error = entry.emitOpError()
                                 << "expects result " << number
                                 << " to be rows, tensor<?xWxf32>, got scores, which only an entry "
                                 << "with caches hands out, or one that observes them";
      error.attachNote(entry.getBody().back().getTerminator()->getLoc()) << "it is returned here";
      return error;
    }
    if (!isCache && !isOutput(type, /*areScores=*/false) && !isOutput(type, /*areScores=*/true)) {
      return entry.emitOpError() << "expects result " << number
                                 << " to be rows, tensor<?xWxf32>, scores, tensor<?xHx?xf32>, or a "
                                 << "cache or state, got " << type;
    }
    if (failed(verifyName(entry, "result " + Twine(number),
                          entry.getResultAttr(number, "transformer.name"),
                          isCache ? caches : outputs)) ||
        (isCache && failed(verifyCacheResult(entry, number)))) {
      return failure();
    }
  }
  return verifyAppended(entry);
}

static LogicalResult verifyEntry(func::FuncOp entry) {
  if (entry.isExternal()) {
    return entry.emitOpError("expects a body");
  }
  if (failed(verifyCounts(entry)) || failed(verifyArguments(entry))) {
    return failure();
  }
  if (entry.getFunctionType().getNumResults() == 0) {
    return entry.emitOpError("expects at least one result");
  }
  return verifyResults(entry);
}

/// Entries share caches and states by name, so each has one type.
static LogicalResult verifyCaches(ModuleOp module) {
  llvm::StringMap<Type> caches;
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (auto [number, type] : llvm::enumerate(entry.getFunctionType().getInputs())) {
      if (!isKept(type)) {
        continue;
      }
      const auto name = cast<StringAttr>(entry.getArgAttr(number, "transformer.name"));
      const auto [known, isNew] = caches.try_emplace(name.getValue(), type);
      if (!isNew && known->second != type) {
        return entry.emitOpError()
               << "expects " << kindOf(known->second) << " " << name << " of type " << known->second
               << ", as in another entry, got " << type;
      }
    }
  }
  return success();
}

/// A value that an entry reads as given must be stored by another entry.
static LogicalResult verifyGiven(ModuleOp module) {
  const auto stores = [](func::FuncOp entry, Attribute name) {
    return llvm::any_of(entry.getOps<StoreOp>(),
                        [&](StoreOp store) { return cacheName(store.getState()) == name; });
  };
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (auto load : entry.getOps<LoadOp>()) {
      const Attribute name = cacheName(load.getState());
      const auto isOther = [&](func::FuncOp other) {
        return other != entry && stores(other, name);
      };
      if (load.getGiven() && llvm::none_of(module.getOps<func::FuncOp>(), isOther)) {
        return load.emitOpError() << "reads what another entry has given in state " << name
                                  << ", expected one that stores it";
      }
    }
  }
  return success();
}

LogicalResult verifyEntries(ModuleOp module) {
  auto entries = module.getOps<func::FuncOp>();
  if (entries.empty()) {
    return module.emitError("the program has no func.func, expected an entry");
  }
  const auto isValid = [](func::FuncOp entry) { return succeeded(verifyEntry(entry)); };
  return success(llvm::all_of(entries, isValid) && succeeded(verifyCaches(module)) &&
                 succeeded(verifyGiven(module)));
}

LogicalResult verifyParameters(ModuleOp module) {
  /// The depth of an expression and the number of its evaluations, counting each use of an operand.
  struct Work {
    unsigned depth = 0;
    uint64_t evaluations = 1;
  };
  llvm::DenseMap<Attribute, Work> known;
  for (auto parameter : module.getOps<ParameterOp>()) {
    Work work;
    if (auto expression = parameter.getExpression()) {
      // Operands are declared before their users.
      for (FlatSymbolRefAttr operand : expression->getOperands()) {
        const Work of = known.lookup(operand.getAttr());
        work.depth = std::max(work.depth, of.depth + 1);
        work.evaluations += of.evaluations;
      }
    }
    if (work.depth > deepestExpression) {
      return parameter.emitOpError() << "is an expression of expressions " << work.depth
                                     << " deep, expected at most " << deepestExpression;
    }
    if (work.evaluations > mostEvaluations) {
      return parameter.emitOpError() << "takes the evaluation of " << work.evaluations
                                     << " expressions, expected at most " << mostEvaluations;
    }
    known[parameter.getSymNameAttr()] = work;
  }
  return success();
}

/// Returns the number of rows of a parameter that is a table.
static std::optional<int64_t> rowsOf(SymbolTable &symbols, llvm::StringRef table) {
  auto parameter = symbols.lookup<ParameterOp>(table);
  if (!parameter) {
    return std::nullopt;
  }
  return parameter.getTensorType().getDimSize(0);
}

std::optional<int64_t> countPositions(ModuleOp module) {
  SymbolTable symbols(module);
  std::optional<int64_t> least;
  const auto include = [&](llvm::StringRef table, int64_t offset, mlir::Value segments) {
    const std::optional<int64_t> rows = rowsOf(symbols, table);
    const std::optional<RowSpace> space = rowsOfSegments(segments).space;
    // For images of variable width, the number of rows does not follow from the number of tokens.
    if (rows && space && !space->hasWidths()) {
      const int64_t tokens = space->tokensWithin(std::max<int64_t>(*rows - offset, 0));
      least = std::min(least.value_or(tokens), tokens);
    }
  };
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
      if (auto most = entry.getArgAttrOfType<IntegerAttr>(number, mostRowsAttribute)) {
        least = std::min(least.value_or(most.getInt()), most.getInt());
      }
    }
  }
  module.walk([&](Operation *op) {
    if (auto gather = dyn_cast<GatherOp>(op)) {
      if (auto positions = gather.getIds().getDefiningOp<PositionsOp>()) {
        include(gather.getTable(), positions.getOffset(), positions.getRows());
      }
    } else if (auto embed = dyn_cast<EmbedOp>(op)) {
      // Tables for positions follow the tables for ids.
      for (auto [number, offset] : llvm::enumerate(embed.getPositionOffsets())) {
        auto table = cast<FlatSymbolRefAttr>(embed.getTables()[embed.getIds().size() + number]);
        include(table.getValue(), offset, embed.getRows());
      }
    } else if (auto graph = dyn_cast<dataflow::GraphOp>(op); graph && graph.getMaxLength() > 0) {
      const auto length = static_cast<int64_t>(graph.getMaxLength());
      least = std::min(least.value_or(length), length);
    }
  });
  return least;
}

} // namespace heddle
