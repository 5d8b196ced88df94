// SPDX-License-Identifier: Apache-2.0
///
/// Delta debugging. Every step changes a copy; a copy that is invalid, or that does not fail, is
/// discarded. Steps that remove most come first, and all are repeated until none succeeds.
#include "tests/EndToEnd/RandomPrograms/Reducer.h"

#include "frontend/Import/ProgramCheck.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// Removes everything unused: operations, arguments that are caches or states, parameters.
static void removeUnused(ModuleOp module) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    entry.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op)) {
        op->erase();
      }
    });
    for (unsigned i = entry.getNumArguments(); i-- > 0;) {
      if (isa<CacheType, StateType>(entry.getArgumentTypes()[i]) &&
          entry.getArgument(i).use_empty()) {
        (void)entry.eraseArgument(i);
      }
    }
  }
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (auto parameter : llvm::make_early_inc_range(module.getOps<ParameterOp>())) {
      if (SymbolTable::symbolKnownUseEmpty(parameter, module)) {
        parameter.erase();
        goesOn = true;
      }
    }
  }
}

/// Limits ids to those that every table has.
static void limitIds(TestProgram &program) {
  int32_t least = std::numeric_limits<int32_t>::max();
  (*program.module).walk([&](GatherOp gather) {
    if (isa<BlockArgument>(gather.getIds())) {
      auto table = (*program.module).lookupSymbol<ParameterOp>(gather.getTable());
      least = std::min(least, static_cast<int32_t>(table.getTensorType().getDimSize(0)));
    }
  });
  for (Sequence &sequence : program.sequences) {
    for (std::vector<int32_t> *ids : {&sequence.ids, &sequence.types, &sequence.target}) {
      for (int32_t &id : *ids) {
        id = std::min(id, least - 1);
      }
    }
  }
}

/// Returns the replacement of a result whose operation is removed; null if there is none of its
/// type.
using Replacement = llvm::function_ref<Value(OpResult, TestProgram &)>;

namespace {
class Reducer {
public:
  Reducer(const TestProgram &program, const Fails &fails, std::chrono::seconds time)
      : best(program.clone()), fails(fails), end(std::chrono::steady_clock::now() + time) {}

  TestProgram run() {
    for (bool goesOn = true; goesOn && hasTime();) {
      goesOn = dropSequences();
      goesOn = dropEntries() || goesOn;
      goesOn = dropResults() || goesOn;
      goesOn = dropOperations() || goesOn;
      goesOn = shrinkSizes() || goesOn;
      goesOn = shortenSequences() || goesOn;
      goesOn = simplifyTensors() || goesOn;
    }
    return std::move(best);
  }

private:
  bool hasTime() const { return std::chrono::steady_clock::now() < end; }
  /// Replaces the best program so far by a copy that is valid and fails.
  bool attempt(TestProgram candidate);
  bool dropSequences();
  bool shortenSequences();
  bool dropEntries();
  bool dropResults();
  bool dropOperations();
  bool dropOperation(size_t number);
  bool replaceOperation(size_t number, Replacement by);
  bool shrinkSizes();
  bool shrinkSize(int64_t from, int64_t to);
  bool simplifyTensors();

  TestProgram best;
  const Fails &fails;
  std::chrono::steady_clock::time_point end;
};

/// Sizes, and their replacements.
using SizeMap = std::map<int64_t, int64_t>;
} // namespace

bool Reducer::attempt(TestProgram candidate) {
  if (!hasTime()) {
    return false;
  }
  {
    ScopedDiagnosticHandler quiet((*candidate.module).getContext(),
                                  [](Diagnostic &) { return success(); });
    removeUnused(*candidate.module);
    if (failed(verify(*candidate.module)) || failed(verifyEntries(*candidate.module))) {
      return false;
    }
  }
  if (!fails(candidate)) {
    return false;
  }
  best = std::move(candidate);
  return true;
}

// --- Sequences -------------------------------------------------------------------------------

bool Reducer::dropSequences() {
  bool changed = false;
  for (size_t i = best.sequences.size(); i-- > 0 && best.sequences.size() > 1;) {
    TestProgram candidate = best.clone();
    candidate.sequences.erase(candidate.sequences.begin() + static_cast<std::ptrdiff_t>(i));
    changed = attempt(std::move(candidate)) || changed;
  }
  return changed;
}

bool Reducer::shortenSequences() {
  bool changed = false;
  for (size_t i = 0; i < best.sequences.size(); ++i) {
    for (const bool ofTarget : {false, true}) {
      // To one token, to half, by one.
      for (const int way : {0, 1, 2}) {
        TestProgram candidate = best.clone();
        Sequence &sequence = candidate.sequences[i];
        std::vector<int32_t> &ids = ofTarget ? sequence.target : sequence.ids;
        if (ids.size() < 2) {
          break;
        }
        ids.resize(way == 0 ? 1 : way == 1 ? ids.size() / 2 : ids.size() - 1);
        if (!ofTarget && !sequence.types.empty()) {
          sequence.types.resize(ids.size());
        }
        changed = attempt(std::move(candidate)) || changed;
      }
    }
  }
  return changed;
}

// --- Entries and results ---------------------------------------------------------------------

bool Reducer::dropEntries() {
  bool changed = false;
  const auto count = llvm::range_size((*best.module).getOps<func::FuncOp>());
  for (auto i = count; i-- > 0 && !best.decodes();) {
    TestProgram candidate = best.clone();
    auto entries = llvm::to_vector((*candidate.module).getOps<func::FuncOp>());
    if (entries.size() > 1 && static_cast<size_t>(i) < entries.size()) {
      entries[static_cast<size_t>(i)].erase();
      changed = attempt(std::move(candidate)) || changed;
    }
  }
  return changed;
}

bool Reducer::dropResults() {
  bool changed = false;
  for (size_t number = 0;; ++number) {
    auto entries = llvm::to_vector((*best.module).getOps<func::FuncOp>());
    if (number >= entries.size()) {
      return changed;
    }
    for (unsigned i = entries[number].getNumResults(); i-- > 0;) {
      TestProgram candidate = best.clone();
      func::FuncOp entry = llvm::to_vector((*candidate.module).getOps<func::FuncOp>())[number];
      if (entry.getNumResults() > 1) {
        entry.getBody().front().getTerminator()->eraseOperand(i);
        (void)entry.eraseResult(i);
        changed = attempt(std::move(candidate)) || changed;
      }
    }
  }
}

// --- Operations ------------------------------------------------------------------------------

/// Returns all operations of all entries and of their steps, except terminators.
static std::vector<Operation *> operationsOf(const TestProgram &program) {
  std::vector<Operation *> operations;
  for (auto entry : (*program.module).getOps<func::FuncOp>()) {
    entry.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!op->hasTrait<OpTrait::IsTerminator>()) {
        operations.push_back(op);
      }
    });
  }
  return operations;
}

bool Reducer::replaceOperation(size_t number, Replacement by) {
  TestProgram candidate = best.clone();
  Operation *op = operationsOf(candidate)[number];
  for (OpResult result : op->getResults()) {
    if (result.use_empty() && op->getNumResults() > 1) {
      continue;
    }
    Value other = by(result, candidate);
    if (!other) {
      return false;
    }
    result.replaceAllUsesWith(other);
  }
  op->erase();
  return attempt(std::move(candidate));
}

/// Returns rows that are looked up, in place of computed ones; null for other values.
static Value lookUpInstead(OpResult result, TestProgram &program) {
  Operation *const op = result.getOwner();
  auto type = dyn_cast<RankedTensorType>(result.getType());
  auto entry = op->getParentOfType<func::FuncOp>();
  if (isa<GatherOp, WeightOp, CachedOp>(op) || !type || type.getRank() != 2 ||
      type.getNumDynamicDims() != 1 || !type.getElementType().isF32()) {
    return {};
  }
  const int64_t width = type.getDimSize(1), rows = 8;
  const std::string name = "rows" + std::to_string(width);
  OpBuilder builder(op);
  if (!(*program.module).lookupSymbol(name)) {
    OpBuilder atStart = OpBuilder::atBlockBegin((*program.module).getBody());
    auto table = RankedTensorType::get({rows, width}, builder.getF32Type());
    ParameterOp::create(atStart, op->getLoc(), builder.getStringAttr(name), TypeAttr::get(table),
                        builder.getStringAttr(name), ParameterExpressionAttr());
    std::vector<float> &values = program.tensors[name];
    values.resize(static_cast<size_t>(rows * width));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 37 % 64) / 32.0F - 1.0F;
    }
  }
  Value looked = GatherOp::create(builder, op->getLoc(), type, name, entry.getArgument(0));
  limitIds(program);
  return looked;
}

bool Reducer::dropOperation(size_t number) {
  const unsigned operands = operationsOf(best)[number]->getNumOperands();
  for (unsigned i = 0; i < operands; ++i) {
    // Replaces the carried values of a recurrence by their initial values, operand by operand.
    const auto bypass = [&](OpResult result, TestProgram &) {
      Value operand = result.getOwner()->getOperand((i + result.getResultNumber()) % operands);
      return operand.getType() == result.getType() ? operand : Value();
    };
    if (replaceOperation(number, bypass)) {
      return true;
    }
  }
  const auto earlier = [](OpResult result, TestProgram &) -> Value {
    for (Operation &other : *result.getOwner()->getBlock()) {
      if (&other == result.getOwner()) {
        break;
      }
      if (other.getNumResults() == 1 && other.getResult(0).getType() == result.getType()) {
        return other.getResult(0);
      }
    }
    return {};
  };
  return replaceOperation(number, earlier) || replaceOperation(number, lookUpInstead);
}

bool Reducer::dropOperations() {
  bool changed = false;
  for (size_t number = operationsOf(best).size(); number-- > 0;) {
    if (number < operationsOf(best).size()) {
      changed = dropOperation(number) || changed;
    }
  }
  return changed;
}

// --- Sizes -----------------------------------------------------------------------------------

/// Adds the changes of rows that follow from those of heads, and vice versa, and those of repeated
/// heads; fails if that is impossible.
static bool completeSizes(ModuleOp module, SizeMap &sizes) {
  const auto sizeOf = [&](int64_t size) {
    const auto found = sizes.find(size);
    return found == sizes.end() ? size : found->second;
  };
  for (int round = 0; round < 8; ++round) {
    bool isComplete = true;
    module.walk([&](Operation *op) {
      if (auto repeat = dyn_cast<RepeatHeadsOp>(op)) {
        const int64_t few = repeat.getInput().getType().getDimSize(1);
        const int64_t many = repeat.getType().getDimSize(1);
        if (sizeOf(many) % sizeOf(few) == 0) {
          return;
        }
        isComplete = false;
        if (sizes.count(many) == 0) {
          sizes[many] = sizeOf(few) * (many / few);
        } else if (sizes.count(few) == 0) {
          sizes[few] = std::gcd(few, sizeOf(many));
        }
        return;
      }
      if (!isa<SplitHeadsOp, MergeHeadsOp>(op)) {
        return;
      }
      auto a = cast<RankedTensorType>(op->getOperand(0).getType());
      auto b = cast<RankedTensorType>(op->getResult(0).getType());
      auto heads = a.getRank() == 3 ? a : b, rows = a.getRank() == 3 ? b : a;
      const int64_t h = sizeOf(heads.getDimSize(1)), d = sizeOf(heads.getDimSize(2));
      const int64_t w = sizeOf(rows.getDimSize(1));
      if (h * d == w) {
        return;
      }
      isComplete = false;
      if (sizes.count(rows.getDimSize(1)) == 0) {
        sizes[rows.getDimSize(1)] = h * d;
      } else if (w % h == 0 && sizes.count(heads.getDimSize(2)) == 0) {
        sizes[heads.getDimSize(2)] = w / h;
      }
    });
    if (isComplete) {
      return true;
    }
  }
  return false;
}

/// Returns the leading elements of every axis.
static std::vector<float> cutTensor(const std::vector<float> &values, llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> smaller) {
  std::vector<float> cut;
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    bool isKept = true;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<size_t>(shape[axis]);
      isKept = isKept && rest % size < static_cast<size_t>(smaller[axis]);
      rest /= size;
    }
    if (isKept) {
      cut.push_back(values[i]);
    }
  }
  return cut;
}

/// Changes sizes everywhere: in types, in tensors, and in the offsets of columns.
static bool changeSizes(TestProgram &program, const SizeMap &sizes) {
  const auto sizeOf = [&](int64_t size) {
    const auto found = sizes.find(size);
    return found == sizes.end() ? size : found->second;
  };
  std::map<std::string, llvm::SmallVector<int64_t>> shapes;
  for (auto parameter : (*program.module).getOps<ParameterOp>()) {
    if (parameter.getSource()) {
      shapes[parameter.getSource()->str()] =
          llvm::SmallVector<int64_t>(parameter.getTensorType().getShape());
    }
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    return type.clone(llvm::map_to_vector(type.getShape(), sizeOf));
  });
  replacer.addReplacement([&](CacheType type) -> std::optional<Type> {
    return CacheType::get(type.getContext(), sizeOf(type.getWidth()), type.getElementType());
  });
  replacer.addReplacement([&](StateType type) -> std::optional<Type> {
    return StateType::get(type.getContext(), sizeOf(type.getWidth()), type.getKeyed());
  });
  replacer.recursivelyReplaceElementsIn(*program.module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false, /*replaceTypes=*/true);
  (*program.module).walk([&](ColumnsOp op) {
    const int64_t room = op.getInput().getType().getDimSize(1) - op.getType().getDimSize(1);
    op.setFirst(
        std::clamp<int64_t>(static_cast<int64_t>(op.getFirst()), 0, std::max<int64_t>(room, 0)));
  });
  for (const auto &[name, shape] : shapes) {
    const auto smaller = llvm::map_to_vector(shape, sizeOf);
    for (auto [before, after] : llvm::zip_equal(shape, smaller)) {
      if (after > before) {
        return false;
      }
    }
    program.tensors[name] = cutTensor(program.tensors[name], shape, smaller);
  }
  limitIds(program);
  return true;
}

bool Reducer::shrinkSize(int64_t from, int64_t to) {
  SizeMap sizes = {{from, to}};
  TestProgram candidate = best.clone();
  return completeSizes(*candidate.module, sizes) && changeSizes(candidate, sizes) &&
         attempt(std::move(candidate));
}

bool Reducer::shrinkSizes() {
  std::set<int64_t, std::greater<>> sizes;
  (*best.module).walk([&](Operation *op) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      sizes.insert(parameter.getTensorType().getShape().begin(),
                   parameter.getTensorType().getShape().end());
    }
    for (Type type : op->getResultTypes()) {
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        sizes.insert(tensor.getShape().begin(), tensor.getShape().end());
      }
    }
  });
  bool changed = false;
  for (const int64_t size : sizes) {
    if (size < 1) {
      continue; // As many as there are when the program runs.
    }
    for (const int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, size / 2, size - 1}) {
      if (to > 0 && to < size && shrinkSize(size, to)) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

// --- Weights ---------------------------------------------------------------------------------

bool Reducer::simplifyTensors() {
  bool changed = false;
  std::vector<std::string> names;
  for (auto parameter : (*best.module).getOps<ParameterOp>()) {
    if (parameter.getSource()) {
      names.push_back(parameter.getSource()->str());
    }
  }
  const auto toZero = [](float) { return 0.0F; };
  const auto toOne = [](float) { return 1.0F; };
  const auto toPower = [](float x) {
    return x == 0 ? x : std::copysign(std::exp2(std::round(std::log2(std::abs(x)))), x);
  };
  for (const std::string &name : names) {
    for (float (*simplify)(float) : {+toZero, +toOne, +toPower}) {
      TestProgram candidate = best.clone();
      std::vector<float> &values = candidate.tensors[name];
      const std::vector<float> before = values;
      std::transform(values.begin(), values.end(), values.begin(), simplify);
      if (values == before) {
        break;
      }
      if (attempt(std::move(candidate))) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

TestProgram reduceProgram(const TestProgram &program, const Fails &fails,
                          std::chrono::seconds time) {
  return Reducer(program, fails, time).run();
}

} // namespace heddle
