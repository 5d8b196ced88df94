// SPDX-License-Identifier: Apache-2.0
///
/// Inlines calls bottom-up and without recursion, whatever their depth. Beginnings are compared
/// operation by operation, including locations, because checkpoint names must survive.
#include "frontend/Import/SharedFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace mlir;

namespace heddle {

// --- inlining calls ---------------------------------------------------------------------------

namespace {

/// The functions of a program and their callers.
class CallGraph {
public:
  explicit CallGraph(ModuleOp module) : module(module), symbols(module) {}

  /// Finds the calls. Emits errors.
  LogicalResult collect();
  /// Inlines the calls, callees first. Emits errors.
  LogicalResult inlineAll();

private:
  struct Function {
    /// Remaining calls of this function.
    SmallVector<func::CallOp> callers;
    /// Remaining calls in its body.
    size_t calls = 0;
  };

  LogicalResult inlineCall(func::CallOp call, func::FuncOp callee);

  ModuleOp module;
  SymbolTable symbols;
  llvm::MapVector<func::FuncOp, Function> functions;
  int64_t inlined = 0;
};

} // namespace

LogicalResult CallGraph::collect() {
  for (auto function : module.getOps<func::FuncOp>()) {
    functions.insert({function, {}});
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    const WalkResult result = function.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || !callee.getBody().hasOneBlock()) {
        call.emitOpError() << "calls '@" << call.getCallee() << "', "
                           << (!callee || callee.isExternal() ? "which has no body"
                                                              : "which has several blocks")
                           << ", expected a function of one block";
        return WalkResult::interrupt();
      }
      functions[callee].callers.push_back(call);
      ++functions[function].calls;
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      return failure();
    }
  }
  return success();
}

LogicalResult CallGraph::inlineCall(func::CallOp call, func::FuncOp callee) {
  Block &body = callee.getBody().front();
  inlined += static_cast<int64_t>(body.getOperations().size());
  if (inlined > mostInlinedOperations) {
    return call.emitOpError() << "makes the program too large, expected calls that bring in at "
                              << "most " << mostInlinedOperations << " operations";
  }
  IRMapping mapping;
  mapping.map(body.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator()) {
    builder.clone(op, mapping);
  }
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands())) {
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  }
  call.erase();
  return success();
}

LogicalResult CallGraph::inlineAll() {
  std::deque<func::FuncOp> ready;
  for (auto &[function, state] : functions) {
    if (state.calls == 0) {
      ready.push_back(function);
    }
  }
  for (; !ready.empty(); ready.pop_front()) {
    for (func::CallOp call : functions[ready.front()].callers) {
      auto caller = call->getParentOfType<func::FuncOp>();
      if (failed(inlineCall(call, ready.front()))) {
        return failure();
      }
      if (--functions[caller].calls == 0) {
        ready.push_back(caller);
      }
    }
  }
  for (auto &[function, state] : functions) {
    if (state.calls > 0) {
      return function.emitOpError("calls itself, or a function that does, expected calls that end");
    }
  }
  for (auto &[function, state] : functions) {
    if (function.isPrivate() && !state.callers.empty()) {
      function.erase();
    }
  }
  return success();
}

LogicalResult inlineCalls(ModuleOp module) {
  CallGraph graph(module);
  return success(succeeded(graph.collect()) && succeeded(graph.inlineAll()));
}

// --- outlining a common beginning -------------------------------------------------------------

/// The fewest operations worth a function.
static constexpr size_t leastShared = 4;

/// Every entry is compared with every other, so programs with more entries are unchanged.
static constexpr size_t mostEntries = 32;

namespace {

/// Follows two entries from the start for as long as they are equal.
class Beginning {
public:
  Beginning(func::FuncOp left, func::FuncOp right) {
    auto other = right.getBody().front().without_terminator().begin();
    const auto end = right.getBody().front().without_terminator().end();
    for (Operation &op : left.getBody().front().without_terminator()) {
      if (other == end || !extend(op, *other)) {
        break;
      }
      ++other;
      ++count;
    }
  }

  /// The number of equal operations.
  size_t size() const { return count; }
  /// The value in the right entry that matches one in the left.
  Value right(Value left) const { return values.lookup(left); }

private:
  bool extend(Operation &left, Operation &right) {
    if (left.getName() != right.getName() || left.getLoc() != right.getLoc() ||
        left.getAttrDictionary() != right.getAttrDictionary() ||
        left.getResultTypes() != right.getResultTypes() ||
        left.getNumOperands() != right.getNumOperands() || left.getNumRegions() != 0) {
      return false;
    }
    for (auto [mine, other] : llvm::zip(left.getOperands(), right.getOperands())) {
      if (!matches(mine, other)) {
        return false;
      }
    }
    for (auto [mine, other] : llvm::zip(left.getResults(), right.getResults())) {
      values[mine] = other;
      taken.insert(other);
    }
    return true;
  }

  /// Whether two operands match. Arguments are matched on first use.
  bool matches(Value left, Value right) {
    if (const Value known = values.lookup(left)) {
      return known == right;
    }
    if (!isa<BlockArgument>(left) || !isa<BlockArgument>(right) ||
        left.getType() != right.getType() || !taken.insert(right).second) {
      return false;
    }
    values[left] = right;
    return true;
  }

  llvm::DenseMap<Value, Value> values;
  llvm::DenseSet<Value> taken;
  size_t count = 0;
};

/// Entries with a common beginning. The function takes its operations from the first one.
struct Group {
  SmallVector<func::FuncOp> entries;
  size_t length = 0;
};

} // namespace

/// Finds the two entries with the longest common beginning, and all others that share it.
static Group longestGroup(ArrayRef<func::FuncOp> entries) {
  Group group;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t j = i + 1; j < entries.size(); ++j) {
      const size_t length = Beginning(entries[i], entries[j]).size();
      if (length > group.length) {
        group = {{entries[i], entries[j]}, length};
      } else if (length == group.length && length > 0 && group.entries.front() == entries[i]) {
        group.entries.push_back(entries[j]);
      }
    }
  }
  return group;
}

/// Returns whether a value of the beginning is used after it.
static bool isUsedAfter(Value value, const llvm::DenseSet<Operation *> &beginning) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !beginning.contains(user); });
}

/// Returns the first operations of an entry.
static auto beginningOf(func::FuncOp entry, size_t count) {
  Block &body = entry.getBody().front();
  return llvm::make_range(body.begin(), std::next(body.begin(), count));
}

static llvm::DenseSet<Operation *> firstOperations(func::FuncOp entry, size_t count) {
  llvm::DenseSet<Operation *> first;
  for (Operation &op : beginningOf(entry, count)) {
    first.insert(&op);
  }
  return first;
}

/// Returns the function's name, derived from the names of its callers.
static std::string sharedName(ModuleOp module, ArrayRef<func::FuncOp> entries) {
  std::string name = "shared_by";
  for (func::FuncOp entry : entries) {
    name += (entry == entries.front() ? "_" : "_and_") + entry.getName().str();
  }
  while (module.lookupSymbol(name)) {
    name += "_";
  }
  return name;
}

/// Moves an entry's first operations into a private function. Its arguments are the values they
/// need, its results the values needed later.
static func::FuncOp createShared(func::FuncOp entry, size_t count, StringRef name,
                                 ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
  OpBuilder builder(entry);
  const auto type = builder.getFunctionType(TypeRange(inputs), TypeRange(outputs));
  auto shared = func::FuncOp::create(builder, entry.getLoc(), name, type);
  shared.setPrivate();
  Block *block = builder.createBlock(&shared.getBody());
  IRMapping mapping;
  for (Value input : inputs) {
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  }
  for (Operation &op : beginningOf(entry, count)) {
    builder.clone(op, mapping);
  }
  func::ReturnOp::create(builder, entry.getLoc(),
                         llvm::map_to_vector(outputs, [&](Value v) { return mapping.lookup(v); }));
  return shared;
}

/// Replaces the first operations of an entry by a call.
static void callShared(func::FuncOp entry, size_t count, func::FuncOp shared,
                       ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
  SmallVector<Operation *> replaced;
  for (Operation &op : beginningOf(entry, count)) {
    replaced.push_back(&op);
  }
  OpBuilder builder(replaced.front());
  auto call = func::CallOp::create(builder, entry.getLoc(), shared, inputs);
  for (auto [output, result] : llvm::zip(outputs, call.getResults())) {
    Value(output).replaceAllUsesWith(result);
  }
  for (Operation *op : llvm::reverse(replaced)) {
    op->erase();
  }
}

static void shareBeginning(ModuleOp module, const Group &group) {
  func::FuncOp first = group.entries.front();
  SmallVector<Beginning> beginnings;
  SmallVector<llvm::DenseSet<Operation *>> operations;
  for (func::FuncOp entry : group.entries) {
    beginnings.emplace_back(first, entry);
    operations.push_back(firstOperations(entry, group.length));
  }
  SmallVector<Value> inputs, outputs;
  llvm::copy_if(first.getBody().getArguments(), std::back_inserter(inputs), [&](Value argument) {
    return llvm::any_of(argument.getUsers(),
                        [&](Operation *user) { return operations.front().contains(user); });
  });
  for (Operation &op : beginningOf(first, group.length)) {
    llvm::copy_if(op.getResults(), std::back_inserter(outputs), [&](Value result) {
      return llvm::any_of(llvm::enumerate(group.entries), [&](auto item) {
        return isUsedAfter(beginnings[item.index()].right(result), operations[item.index()]);
      });
    });
  }
  func::FuncOp shared =
      createShared(first, group.length, sharedName(module, group.entries), inputs, outputs);
  // The first entry comes last, because the others refer to its values.
  for (size_t i = group.entries.size(); i-- > 0;) {
    const auto own = [&](Value value) { return beginnings[i].right(value); };
    callShared(group.entries[i], group.length, shared, llvm::map_to_vector(inputs, own),
               llvm::map_to_vector(outputs, own));
  }
}

void shareBeginnings(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isPrivate() && entry.getBody().hasOneBlock()) {
      entries.push_back(entry);
    }
  }
  while (entries.size() <= mostEntries) {
    const Group group = longestGroup(entries);
    if (group.length < leastShared) {
      return;
    }
    shareBeginning(module, group);
    llvm::erase_if(entries,
                   [&](func::FuncOp entry) { return llvm::is_contained(group.entries, entry); });
  }
}

} // namespace heddle
