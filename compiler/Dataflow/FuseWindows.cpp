// SPDX-License-Identifier: Apache-2.0
///
/// Fuses a window with the product of its elements: the kernel gathers or convolves a block of rows
/// in the cache and multiplies it there, so that patches and depthwise sums are never in memory.
/// Before that, a ReLU is folded into the window that reads it: a step of a convolutional network,
/// LN(W depthwise(ReLU(x))), is then one pass over its rows.
///
/// ```mlir
/// %r = dataflow.dispatch @activate(%x)        : ... // rows, max(x, 0)
/// %s = dataflow.dispatch @convolve(%r, %d)    : ... // width = 512, kernel = 7
/// %y = dataflow.dispatch @contract(%s, %w)    : ... // n = 512, k = 512
/// ```
/// becomes
/// ```mlir
/// %y = dataflow.dispatch @contract_slide(%x, %w, %d) : ...
/// ```
/// The fused dispatch is placed where the window was, because a later dispatch may change a state
/// that it reads. Tests: tests/compiler/Dataflow/fuse-windows.mlir
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_FUSEWINDOWSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the window of a kernel as a `slide`; null if the kernel has none.
SlideAttr slideOf(KernelFamily family) {
  if (auto slide = dyn_cast<SlideAttr>(family)) {
    return slide;
  }
  auto convolve = dyn_cast<ConvolveAttr>(family);
  if (!convolve || (!convolve.getCausal() && convolve.getKernel() % 2 == 0)) {
    return {};
  }
  MLIRContext *context = family.getContext();
  auto window = transformer::WindowAttr::get(context, convolve.getKernel(), 1, 1, 1,
                                             convolve.getDilation(), 1, 1, convolve.getCausal());
  return SlideAttr::get(context, SlideKind::Depthwise, convolve.getWidth(), window, 1, false,
                        convolve.getResumes());
}

struct FuseWindows : impl::FuseWindowsPassBase<FuseWindows> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    ActivationMatcher activations(module.getContext());
    runs = countRuns(module);
    for (auto graph : module.getOps<GraphOp>()) {
      SmallVector<DispatchOp> windows;
      for (auto dispatch : graph.getBody().getOps<DispatchOp>()) {
        if (slideOf(kernelOf(dispatch, symbols).getComputes())) {
          windows.push_back(dispatch);
        }
      }
      for (DispatchOp dispatch : windows) {
        KernelOp kernel = kernelOf(dispatch, symbols);
        std::string reason = reasonAgainst(dispatch, kernel, symbols);
        if (!reason.empty()) {
          reportDeclined(dispatch.getLoc(), passNames::fuseWindows, "not fused: " + reason);
          continue;
        }
        fuse(dispatch, symbols, activations);
      }
    }
  }

private:
  static KernelOp kernelOf(DispatchOp dispatch, SymbolTable &symbols) {
    return symbols.lookup<KernelOp>(dispatch.getKernel());
  }

  /// Returns why a window cannot be multiplied where it is computed; empty if it can.
  static std::string reasonAgainst(DispatchOp dispatch, KernelOp kernel, SymbolTable &symbols) {
    if (kernel.getNumElementwise() > 0 || kernel.getNorm() || !kernel.hasTrivialEpilogue()) {
      return "what the window sees has maths of its own";
    }
    Value seen = dispatch->getResult(0);
    if (!seen.hasOneUse()) {
      return seen.use_empty() ? "nothing reads what the window sees"
                              : "what the window sees has several users";
    }
    auto user = dyn_cast<DispatchOp>(*seen.getUsers().begin());
    if (user && user->getBlock() != dispatch->getBlock()) {
      return "what reads the window is in a loop" + placeInBrackets(user.getLoc());
    }
    auto product =
        user ? dyn_cast<ContractAttr>(kernelOf(user, symbols).getComputes()) : ContractAttr();
    if (!product || user.getInputs().front() != seen) {
      return "what reads the window is no product" +
             (user ? placeInBrackets(user.getLoc()) : std::string());
    }
    SlideAttr slide = slideOf(kernel.getComputes());
    if (slide.getKind() == SlideKind::Max) {
      return "a maximum is not computed in front of a product";
    }
    if (slide.getKind() == SlideKind::Patches && slide.getGroups() != product.getGroups()) {
      return "the product has other groups than the patches" + placeInBrackets(user.getLoc());
    }
    for (Value operand : user.getInputs().drop_front()) {
      Operation *source = operand.getDefiningOp();
      if (source && !isa<ParameterOp>(source) && !source->isBeforeInBlock(dispatch)) {
        return "the product needs something that is computed later" +
               placeInBrackets(source->getLoc());
      }
    }
    return {};
  }

  /// Returns the input of a ReLU that is a separate kernel before a window; null if there is none.
  static Value rectifiedBy(Value input, SymbolTable &symbols, ActivationMatcher &activations) {
    auto rows = input.getDefiningOp<DispatchOp>();
    KernelOp kernel = rows ? kernelOf(rows, symbols) : KernelOp();
    if (!kernel || !isa<RowsAttr>(kernel.getComputes()) || kernel.getNumElementwise() > 0 ||
        kernel.getNorm()) {
      return {};
    }
    Block &block = kernel.getEpilogue().front();
    Value value = cast<YieldOp>(block.getTerminator()).getValue();
    Operation *last = value.getDefiningOp();
    auto match = last ? activations.match(last) : std::nullopt;
    bool isRectifier = match && match->activation == transformer::Activation::Relu &&
                       llvm::is_contained(last->getOperands(), Value(block.getArgument(0)));
    return isRectifier ? rows.getInputs().front() : Value();
  }

  void fuse(DispatchOp window, SymbolTable &symbols, ActivationMatcher &activations) {
    auto user = cast<DispatchOp>(*window->getResult(0).getUsers().begin());
    KernelOp product = kernelOf(user, symbols);
    auto contract = cast<ContractAttr>(product.getComputes());
    SlideAttr slide = slideOf(kernelOf(window, symbols).getComputes());
    Value input = window.getInputs().front();
    DispatchOp rectifier;
    if (Value before = rectifiedBy(input, symbols, activations)) {
      rectifier = input.getDefiningOp<DispatchOp>();
      input = before;
      slide = SlideAttr::get(slide.getContext(), slide.getKind(), slide.getWidth(),
                             slide.getWindow(), slide.getGroups(), true, slide.getResumes());
    }
    KernelParts parts;
    parts.stem = "contract_slide";
    parts.computes =
        ContractSlideAttr::get(slide.getContext(), contract.getN(), slide, contract.getGroups());
    parts.inputs = {input, user.getInputs()[1]};
    llvm::append_range(parts.inputs, window.getInputs().drop_front());
    ValueRange others = user.getInputs().drop_front(2);
    parts.elementwise.assign(others.begin(), others.begin() + product.getNumElementwise());
    parts.norm = product.getNormAttr();
    parts.normOperands.assign(others.begin() + product.getNumElementwise(), others.end());
    parts.results = {user->getResult(0).getType()};
    for (Value operand : user.getInputs().drop_front()) {
      auto parameter = operand.getDefiningOp<ParameterOp>();
      if (parameter && window->isBeforeInBlock(parameter)) {
        parameter->moveBefore(window);
      }
    }
    OpBuilder builder(window);
    Location location = builder.getFusedLoc({window.getLoc(), user.getLoc()});
    DispatchOp fused = createDispatch(builder, symbols, location, parts,
                                      [&](OpBuilder &region, Location, ValueRange arguments) {
                                        IRMapping mapping;
                                        Block &block = product.getEpilogue().front();
                                        mapping.map(block.getArguments(), arguments);
                                        for (Operation &op : block.without_terminator()) {
                                          region.clone(op, mapping);
                                        }
                                        auto yield = cast<YieldOp>(block.getTerminator());
                                        return mapping.lookupOrDefault(yield.getValue());
                                      });
    ++runs[fused.getKernelAttr().getAttr()];
    report(window, user, rectifier, slide);
    user->getResult(0).replaceAllUsesWith(fused.getResult(0));
    erase(user, symbols);
    erase(window, symbols);
    if (rectifier && rectifier->use_empty()) {
      erase(rectifier, symbols);
    }
  }

  static void report(DispatchOp window, DispatchOp user, DispatchOp rectifier, SlideAttr slide) {
    auto rows = cast<BufferType>(window->getResult(0).getType());
    Savings savings;
    // One write and one read of the window's elements.
    savings.activationBytesPerToken =
        rows.getRowSpace()->perToken(2 * sizeof(float) * slide.getResultWidth());
    reportTaken(
        window.getLoc(), passNames::fuseWindows,
        std::string(rectifier ? "a rectifier, " : "") +
            (slide.getKind() == SlideKind::Patches ? "patches" : "a depthwise convolution") +
            " and a product in one pass" + placeInBrackets(user.getLoc()),
        savings);
  }

  void erase(DispatchOp replaced, SymbolTable &symbols) {
    KernelOp kernel = kernelOf(replaced, symbols);
    replaced.erase();
    if (--runs[kernel.getSymNameAttr()] == 0) {
      symbols.erase(kernel);
    }
  }

  llvm::DenseMap<StringAttr, int64_t> runs;
};

} // namespace
} // namespace heddle
