// SPDX-License-Identifier: Apache-2.0
///
/// Questions to programs.
#include "frontend/Import/ProgramCheck.h"

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "runtime/Base/Utf8.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using namespace transformer;

bool isFirstPhase(ModuleOp module) {
  const WalkResult result = module.walk([](Operation *op) {
    if (op->getName().getDialectNamespace() == "dataflow" ||
        isa<AttentionOp, ColumnsOp, EmbedOp>(op)) {
      return WalkResult::interrupt();
    }
    auto parameter = dyn_cast<ParameterOp>(op);
    return parameter && parameter.getExpression() ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

bool hasFunctionEntries(ModuleOp module) {
  return !module.getOps<func::FuncOp>().empty() || module.getOps<dataflow::GraphOp>().empty();
}

LogicalResult verifyNesting(ModuleOp module) {
  for (auto nested : module.getOps<ModuleOp>()) {
    if (hasFunctionEntries(module)) {
      return nested.emitOpError("is inside a program of func.func, expected such modules only "
                                "beside a dataflow.graph, with the code of its kernels");
    }
  }
  const WalkResult result = module.walk([&](Operation *op) {
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

/// Whether a name can be shown and compared as text.
static bool isText(llvm::StringRef name) {
  for (size_t at = 0; at < name.size(); ++at) {
    const auto byte = static_cast<unsigned char>(name[at]);
    // U+0080 to U+009F are controls too.
    const bool isHigh =
        byte == 0xC2 && at + 1 < name.size() && static_cast<unsigned char>(name[at + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || isHigh) {
      return false;
    }
  }
  return validUtf8Prefix(std::string_view(name.data(), name.size())) == name.size();
}

/// Checks the names of an entry whose ports are named by the attribute `key`.
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

/// Checks one name of an entry; `names` are those before it.
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

static LogicalResult verifyEntry(func::FuncOp entry) {
  const FunctionType type = entry.getFunctionType();
  if (entry.isExternal()) {
    return entry.emitOpError("expects a body");
  }
  if (type.getNumInputs() == 0 || !isa<SegmentsType>(type.getInputs().back())) {
    return entry.emitOpError("expects segments as its last argument");
  }
  if (type.getNumResults() == 0) {
    return entry.emitOpError("expects at least one result");
  }
  llvm::StringSet<> inputs, outputs;
  for (unsigned number = 0; number + 1 < type.getNumInputs(); ++number) {
    auto tensor = dyn_cast<RankedTensorType>(type.getInput(number));
    if (!tensor || tensor.getRank() != 1 || !tensor.isDynamicDim(0) ||
        !tensor.getElementType().isInteger(32)) {
      return entry.emitOpError() << "expects argument " << number << " to be ids, tensor<?xi32>, "
                                 << "got " << type.getInput(number);
    }
    if (failed(verifyName(entry, "argument " + Twine(number),
                          entry.getArgAttr(number, "transformer.name"), inputs))) {
      return failure();
    }
  }
  for (unsigned number = 0; number < type.getNumResults(); ++number) {
    auto tensor = dyn_cast<RankedTensorType>(type.getResult(number));
    if (!tensor || tensor.getRank() != 2 || !tensor.isDynamicDim(0) || tensor.isDynamicDim(1) ||
        !tensor.getElementType().isF32()) {
      return entry.emitOpError() << "expects result " << number
                                 << " to be rows, tensor<?xWxf32>, got " << type.getResult(number);
    }
    if (failed(verifyName(entry, "result " + Twine(number),
                          entry.getResultAttr(number, "transformer.name"), outputs))) {
      return failure();
    }
  }
  return success();
}

LogicalResult verifyEntries(ModuleOp module) {
  auto entries = module.getOps<func::FuncOp>();
  if (entries.empty()) {
    return module.emitError("the program has no func.func, expected an entry");
  }
  return success(
      llvm::all_of(entries, [](func::FuncOp entry) { return succeeded(verifyEntry(entry)); }));
}

/// The rows of a parameter that is a table.
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
  const auto include = [&](llvm::StringRef table, int64_t offset) {
    if (const std::optional<int64_t> rows = rowsOf(symbols, table)) {
      const int64_t left = std::max<int64_t>(*rows - offset, 0);
      least = std::min(least.value_or(left), left);
    }
  };
  module.walk([&](Operation *op) {
    if (auto gather = dyn_cast<GatherOp>(op)) {
      if (auto positions = gather.getIds().getDefiningOp<PositionsOp>()) {
        include(gather.getTable(), positions.getOffset());
      }
    } else if (auto embed = dyn_cast<EmbedOp>(op)) {
      // Tables looked up by position follow those with ids.
      for (auto [number, offset] : llvm::enumerate(embed.getPositionOffsets())) {
        auto table = cast<FlatSymbolRefAttr>(embed.getTables()[embed.getIds().size() + number]);
        include(table.getValue(), offset);
      }
    }
  });
  return least;
}

} // namespace heddle
