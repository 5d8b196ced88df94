// SPDX-License-Identifier: Apache-2.0
///
/// Folds element-wise maths and norms into the kernel that produces their input, so that a row is
/// finished while it is in registers or in the L1 cache.
///
/// ```mlir
/// %1 = dataflow.dispatch @contract(%a, %w, %b)      : ... // sum + bias
/// %2 = dataflow.dispatch @add(%1, %x)               : ... // rows
/// %3 = dataflow.dispatch @layer_norm(%2, %nw, %nb)  : ... // rows, norm
/// ```
/// becomes
/// ```mlir
/// %3 = dataflow.dispatch @contract_0(%a, %w, %b, %x, %nw, %nb) : ... // (sum + bias) + x, norm
/// ```
/// The remaining dispatch is placed where the later one was, so that all its operands are defined.
/// Maths that reads several results, such as the gates of a recurrent cell, is folded into one
/// producer after the other. Tests: tests/compiler/Dataflow/fold-epilogues.mlir
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_FOLDEPILOGUESPASS
#include "compiler/Passes.h.inc"

namespace {

/// A dispatch, its kernel, and its operands by role.
struct Stage {
  Stage(DispatchOp dispatch, KernelOp kernel) : dispatch(dispatch), kernel(kernel) {
    SmallVector<Value> operands(dispatch.getInputs());
    ArrayRef<Value> rest(operands);
    inputs.assign(rest.take_front(kernel.getNumInputs()));
    rest = rest.drop_front(inputs.size());
    elementwise.assign(rest.take_front(kernel.getNumElementwise()));
    normOperands.assign(rest.drop_front(elementwise.size()));
  }

  DispatchOp dispatch;
  KernelOp kernel;
  SmallVector<Value> inputs;
  SmallVector<Value> elementwise;
  SmallVector<Value> normOperands;
};

// The size limit of an epilogue. Its code is repeated for every vector of a tile, and a program may
// chain any number of operations; models have about twenty.
constexpr unsigned mostWork = 128;
// A function costs as much as a polynomial of this many operations.
constexpr unsigned workOfFunction = 16;

unsigned workOf(KernelOp kernel) {
  unsigned work = 0;
  for (Operation &op : kernel.getEpilogue().front().without_terminator()) {
    work += isa<math::MathDialect>(op.getDialect()) ? workOfFunction : 1;
  }
  return work;
}

/// A producer that may take over the user's work, and the argument of the user's epilogue that it
/// produces.
struct Candidate {
  Stage producer;
  unsigned argument;
};

/// Returns the first dispatch before `user` that changes a cache or state which `producer` reads
/// unchanged; null if there is none.
DispatchOp changeBetween(DispatchOp producer, DispatchOp user) {
  DispatchOp first;
  for (Value input : producer.getInputs()) {
    if (!isa<CacheType, StateType>(input.getType())) {
      continue;
    }
    for (OpOperand &use : input.getUses()) {
      auto other = dyn_cast<DispatchOp>(use.getOwner());
      bool changes = other && other != producer && other.changesOperand(use.getOperandNumber());
      if (changes && other->isBeforeInBlock(user) && (!first || other->isBeforeInBlock(first))) {
        first = other;
      }
    }
  }
  return first;
}

/// Returns why the work of the rows kernel `user` cannot be folded into the producer of `value`, a
/// buffer that it reads; empty if it can.
std::string reasonAgainst(Stage &user, Value value, SymbolTable &symbols) {
  auto producer = value.getDefiningOp<DispatchOp>();
  if (!producer) {
    return value.getDefiningOp<LoopOp>() ? "its input is what a loop gives"
                                         : "a view lies between it and what produces its input";
  }
  if (producer->getBlock() != user.dispatch->getBlock()) {
    return "its input is computed before the loop" + placeInBrackets(producer.getLoc());
  }
  for (Operation *other : value.getUsers()) {
    if (other != user.dispatch) {
      return "its input has a second user" + placeInBrackets(other->getLoc());
    }
  }
  if (!value.hasOneUse()) {
    return "it reads its input twice";
  }
  auto kernel = symbols.lookup<KernelOp>(producer.getKernel());
  KernelFamily family = kernel.getComputes();
  // A producer with further results cannot move behind their users.
  EpilogueSupport support = family.getEpilogueSupport();
  bool takesMaths = support == EpilogueSupport::Maths || support == EpilogueSupport::MathsAndNorm;
  if (!takesMaths || producer->getNumResults() != 1) {
    return ("its input is " + family.getNoun() + ", which has no epilogue").str();
  }
  if (user.kernel.getNorm() && support != EpilogueSupport::MathsAndNorm) {
    return ("its input is " + family.getNoun() + ", which has no norm").str();
  }
  if (kernel.getNorm()) {
    return "its input is normalised rows" + placeInBrackets(producer.getLoc());
  }
  if (DispatchOp change = changeBetween(producer, user.dispatch)) {
    // The fused dispatch is placed before the change, so its operands must be defined there.
    for (Value operand : user.dispatch.getInputs()) {
      Operation *source = operand.getDefiningOp();
      if (source && !isa<ParameterOp>(source) && !source->isBeforeInBlock(change)) {
        return "what its input reads is changed before" + placeInBrackets(change.getLoc());
      }
    }
  }
  if (unsigned work = workOf(kernel) + workOf(user.kernel); work > mostWork) {
    return llvm::formatv("the epilogue would have work of {0} operations, more than {1}", work,
                         mostWork);
  }
  return {};
}

/// Finds the producer to fold into: the last suitable one in the graph, so that all other operands
/// are defined before it. If there is none, `reason` says why.
std::optional<Candidate> findProducer(Stage &user, SymbolTable &symbols, std::string &reason) {
  SmallVector<Value> read = {user.inputs.front()};
  llvm::append_range(read, user.elementwise);
  std::optional<Candidate> found;
  for (auto [argument, value] : llvm::enumerate(read)) {
    // Skips arguments of the graph and vectors, which no kernel produces, and rows of another
    // width, whose kernel cannot hold the other operands.
    if (!value.getDefiningOp() || isa<ParameterOp>(value.getDefiningOp()) ||
        cast<BufferType>(value.getType()).getShape() != user.kernel.getResultBuffer().getShape()) {
      continue;
    }
    std::string against = reasonAgainst(user, value, symbols);
    if (!against.empty()) {
      reason = reason.empty() ? against : reason;
      continue;
    }
    auto producer = value.getDefiningOp<DispatchOp>();
    if (!found || found->producer.dispatch->isBeforeInBlock(producer)) {
      found.emplace(Stage(producer, symbols.lookup<KernelOp>(producer.getKernel())),
                    static_cast<unsigned>(argument));
    }
  }
  return found;
}

/// Inlines the region of a kernel at the builder and returns the value that it yields.
Value inlineEpilogue(OpBuilder &builder, KernelOp kernel, ValueRange arguments) {
  Block &block = kernel.getEpilogue().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    builder.clone(op, mapping);
  }
  return mapping.lookupOrDefault(cast<YieldOp>(block.getTerminator()).getValue());
}

/// Creates the fused dispatch, in place of the user, or before the change of a cache or state that
/// the producer reads unchanged.
DispatchOp fold(Stage &user, Candidate &candidate, SymbolTable &symbols) {
  Stage &producer = candidate.producer;
  SmallVector<Value> others = {user.inputs.front()};
  llvm::append_range(others, user.elementwise);
  others.erase(others.begin() + candidate.argument);

  KernelParts parts;
  parts.stem = producer.kernel.getComputes().getFamilyName();
  parts.computes = producer.kernel.getComputes();
  parts.inputs = producer.inputs;
  parts.elementwise = producer.elementwise;
  llvm::append_range(parts.elementwise, others);
  parts.norm = user.kernel.getNormAttr();
  parts.normOperands = user.normOperands;
  parts.results = {user.kernel.getResultBuffer()};

  DispatchOp change = changeBetween(producer.dispatch, user.dispatch);
  for (Value operand : user.dispatch.getInputs()) {
    auto parameter = operand.getDefiningOp<ParameterOp>();
    if (change && parameter && change->isBeforeInBlock(parameter)) {
      parameter->moveBefore(change);
    }
  }
  OpBuilder builder(change ? change : user.dispatch);
  Location location = builder.getFusedLoc({producer.dispatch.getLoc(), user.dispatch.getLoc()});
  return createDispatch(
      builder, symbols, location, parts, [&](OpBuilder &region, Location, ValueRange arguments) {
        size_t taken = 1 + producer.elementwise.size();
        Value value = inlineEpilogue(region, producer.kernel, arguments.take_front(taken));
        SmallVector<Value> rest(arguments.drop_front(taken));
        rest.insert(rest.begin() + candidate.argument, value);
        return inlineEpilogue(region, user.kernel, rest);
      });
}

void reportFold(Stage &user, Candidate &candidate) {
  BufferType rows = user.kernel.getResultBuffer();
  Savings savings;
  if (std::optional<RowSpace> space = rows.getRowSpace()) {
    // One write and one read of the rows between the two kernels.
    savings.activationBytesPerToken = space->perToken(2 * sizeof(float) * rows.getWidth());
  }
  StringRef what = user.kernel.getNorm() ? "norm" : "element-wise maths";
  reportTaken(user.dispatch.getLoc(), passNames::foldEpilogues,
              what + " folded into " + candidate.producer.kernel.getSymName() +
                  placeInBrackets(candidate.producer.dispatch.getLoc()),
              savings);
}

struct FoldEpilogues : impl::FoldEpiloguesPassBase<FoldEpilogues> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::DenseMap<StringAttr, int64_t> runs = countRuns(module);
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        bool isFirst = true;
        while (dispatch) {
          dispatch = foldOnce(dispatch, isFirst, symbols, runs);
          isFirst = false;
        }
      }
    }
  }

private:
  /// Folds a dispatch of rows into one producer, if possible; returns the fused dispatch, or null.
  /// Reports a failure only if `isFirst`.
  DispatchOp foldOnce(DispatchOp dispatch, bool isFirst, SymbolTable &symbols,
                      llvm::DenseMap<StringAttr, int64_t> &runs) {
    auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
    if (!isa<RowsAttr>(kernel.getComputes())) {
      return {};
    }
    Stage user(dispatch, kernel);
    std::string reason;
    std::optional<Candidate> candidate = findProducer(user, symbols, reason);
    if (!candidate) {
      if (isFirst) {
        reportDeclined(dispatch.getLoc(), passNames::foldEpilogues,
                       "not folded: " + (reason.empty() ? "no kernel produces its input" : reason));
      }
      return {};
    }
    DispatchOp folded = fold(user, *candidate, symbols);
    reportFold(user, *candidate);
    dispatch.getResult(0).replaceAllUsesWith(folded.getResult(0));
    dispatch.erase();
    candidate->producer.dispatch.erase();
    // Erases them immediately: in a long chain each kernel contains all the maths of the one
    // before.
    for (KernelOp replaced : {kernel, candidate->producer.kernel}) {
      if (--runs[replaced.getSymNameAttr()] == 0) {
        symbols.erase(replaced);
      }
    }
    runs[folded.getKernelAttr().getAttr()] = 1;
    return folded;
  }
};

} // namespace
} // namespace heddle
