// SPDX-License-Identifier: Apache-2.0
///
/// Visits the products of the graphs that run on texts, and all other readers of their matrices.
#include "compiler/Dataflow/ProductRows.h"

#include "compiler/Dataflow/KernelBuilder.h"
#include "formats/Binary/GenerationCheck.h"
#include "heddle/Limits.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

static constexpr llvm::StringLiteral momentsOf = "moments of ";
static constexpr llvm::StringLiteral rowsPrefix = "rows ";
static constexpr llvm::StringLiteral choicesPrefix = "choices ";

std::string rowsName(int64_t site) { return (rowsPrefix + Twine(site)).str(); }

std::string choicesName(int64_t site) { return (choicesPrefix + Twine(site)).str(); }

std::string momentsName(int64_t site) { return (momentsOf + rowsName(site)).str(); }

std::optional<int64_t> siteOfMoments(StringRef source) {
  int64_t site = 0;
  const bool isOne = source.consume_front(momentsOf) && source.consume_front(rowsPrefix) &&
                     !source.getAsInteger(10, site);
  return isOne ? std::optional(site) : std::nullopt;
}

/// Returns whether the ids of texts are the only required inputs of a graph.
static bool takesTexts(GraphOp graph) {
  size_t needed = 0;
  for (auto [index, type] : llvm::enumerate(graph.getArgumentTypes())) {
    if (graph.getArgAttr(index, "dataflow.optional")) {
      continue;
    }
    auto buffer = dyn_cast<BufferType>(type);
    if (!buffer || !buffer.getElementType().isInteger(32) || buffer.getShape().size() != 1 ||
        buffer.getShape().front() != tokensDimension) {
      return false;
    }
    ++needed;
  }
  return needed == 1;
}

static bool takesCaches(GraphOp graph) {
  return llvm::any_of(graph.getArgumentTypes(), llvm::IsaPred<CacheType, StateType>);
}

static size_t countProducts(GraphOp graph, SymbolTable &symbols) {
  return llvm::count_if(graph.getDispatches(), [&](DispatchOp dispatch) {
    auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
    return isa<ContractAttr>(kernel.getComputes());
  });
}

SmallVector<GraphOp> graphsOfTexts(ModuleOp module) {
  SymbolTable symbols(module);
  auto encode = symbols.lookup<GraphOp>(encodeEntry);
  auto decode = symbols.lookup<GraphOp>(decodeEntry);
  if (encode && decode && takesCaches(decode)) {
    Type source = encode.getArgumentTypes().empty() ? Type() : encode.getArgumentTypes().front();
    auto ids = dyn_cast_or_null<BufferType>(source);
    return ids && ids.getElementType().isInteger(32) ? SmallVector<GraphOp>{encode, decode}
                                                     : SmallVector<GraphOp>();
  }
  // A model that continues prompts.
  if (!encode && decode && takesCaches(decode)) {
    return {decode};
  }
  GraphOp best;
  for (auto graph : module.getOps<GraphOp>()) {
    if (takesTexts(graph) &&
        (!best || countProducts(graph, symbols) > countProducts(best, symbols))) {
      best = graph;
    }
  }
  return best ? SmallVector<GraphOp>{best} : SmallVector<GraphOp>();
}

namespace {
/// Collects the products of a program.
class Finder {
public:
  explicit Finder(ModuleOp module) : module(module), symbols(module) {}

  ProgramProducts find() {
    SmallVector<GraphOp> run = graphsOfTexts(module);
    // Visits graphs that run on texts first: other entries read most of the same matrices.
    for (GraphOp graph : run) {
      addGraph(graph, /*isRun=*/true);
    }
    for (auto graph : module.getOps<GraphOp>()) {
      if (!llvm::is_contained(run, graph)) {
        addGraph(graph, /*isRun=*/false);
      }
    }
    return std::move(products);
  }

private:
  void addGraph(GraphOp graph, bool isRun) {
    for (DispatchOp dispatch : graph.getDispatches()) {
      auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
      SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
      for (auto [index, input] : llvm::enumerate(inputs)) {
        auto parameter = input.isStored() ? dispatch.getInputs()[index].getDefiningOp<ParameterOp>()
                                          : ParameterOp();
        if (parameter) {
          addRead(products.matrices[parameter.getParameterAttr()], graph, dispatch, kernel, input,
                  isRun);
        }
      }
    }
  }

  void addRead(MatrixRows &matrix, GraphOp graph, DispatchOp dispatch, KernelOp kernel,
               const KernelInput &input, bool isRun) {
    std::string reason;
    std::optional<ProductRows> rows;
    matrix.isMatrix |= input.role == KernelInput::Role::Matrix;
    if (input.role != KernelInput::Role::Matrix) {
      reason = "it is looked up";
    } else if (isRun) {
      rows = rowsOf(graph, dispatch, kernel, reason);
    } else if (matrix.sites.empty() && matrix.reason.empty()) {
      reason = "entry '" + graph.getSymName().str() + "' reads it, which is not run on texts";
    }
    if (matrix.reason.empty()) {
      matrix.reason = std::move(reason);
    }
    if (rows) {
      const int64_t site = numberOf(*rows);
      if (!matrix.sites.empty() && products.rows[matrix.sites.front()].groups != rows->groups) {
        matrix.reason = "products divide its rows into different groups";
      }
      if (!llvm::is_contained(matrix.sites, site)) {
        matrix.sites.push_back(site);
      }
    }
  }

  /// Returns the rows that a product reads; nothing, with a reason, if they cannot be a result of
  /// the graph.
  static std::optional<ProductRows> rowsOf(GraphOp graph, DispatchOp dispatch, KernelOp kernel,
                                           std::string &reason) {
    ProductRows rows{graph, dispatch.getInputs().front(), {}, {}};
    if (auto contract = dyn_cast<ContractAttr>(kernel.getComputes())) {
      rows.groups = contract.getGroups();
      rows.k = contract.getK();
    } else if (auto chosen = dyn_cast<ContractChosenAttr>(kernel.getComputes())) {
      rows.chosen = dispatch.getInputs()[2];
      rows.order = dispatch.getInputs()[3];
      rows.groups = chosen.getGroups();
      rows.k = chosen.getK();
    } else {
      reason = "rows of " + kernel.getComputes().getNoun().str() + " are not observed";
      return std::nullopt;
    }
    if (!canBeSeen(rows)) {
      reason = "its rows are not those of texts in their order";
      return std::nullopt;
    }
    return rows;
  }

  /// Returns whether rows can be a result. Rows in time order are moved to token order. Choices are
  /// observed together with the rows that chose them, which must already have that order.
  static bool canBeSeen(const ProductRows &rows) {
    const std::optional<RowSpace> space = cast<BufferType>(rows.buffer.getType()).getRowSpace();
    if (!space) {
      return false;
    }
    if (space->isOfSteps()) {
      return !rows.chosen;
    }
    const RowSpace of = space->base();
    return !of.isOrdered() && (!isDecoder(rows.graph) || of == RowSpace::tokens());
  }

  static bool isDecoder(GraphOp graph) { return graph.getSymName() == StringRef(decodeEntry); }

  int64_t numberOf(const ProductRows &rows) {
    const auto found = llvm::find(products.rows, rows);
    const int64_t number = found - products.rows.begin();
    if (found == products.rows.end()) {
      products.rows.push_back(rows);
    }
    return number;
  }

  ModuleOp module;
  SymbolTable symbols;
  ProgramProducts products;
};
} // namespace

ProgramProducts findProducts(ModuleOp module) { return Finder(module).find(); }

} // namespace heddle
