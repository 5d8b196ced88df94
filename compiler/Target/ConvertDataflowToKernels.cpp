// SPDX-License-Identifier: Apache-2.0
///
/// Lowers every kernel to loops and vector code, in one module for each target.
///
/// Before:
///   dataflow.kernel @contract_384x384 : (...) -> ... computes #dataflow.contract<n = 384, k = 384>
/// After, beside it:
///   module @"x86-64-v4" {
///     func.func @contract_384x384.x86-64-v4(%context: !llvm.ptr, %rowBegin: i64, %rowEnd: i64,
///                                           %columnBegin: i64, %columnEnd: i64) { ... }
///   }
///
/// Tested by tests/compiler/Target/dataflow-to-kernels.mlir.
#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Passes.h"
#include "compiler/Target/Emitters/AttentionTile.h"
#include "compiler/Target/Emitters/ContractTile.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTDATAFLOWTOKERNELSPASS
#include "compiler/Passes.h.inc"

KernelScratch kernelScratch(dataflow::KernelOp kernel) {
  KernelScratch scratch;
  dataflow::visitFamily(kernel.getComputes(),
                        [&](auto computes) { scratch = scratchOf(computes); });
  // Consecutive, each aligned.
  if (uint64_t bytes = unpackedPanelBytes(kernel)) {
    scratch.fixed = llvm::alignTo(scratch.fixed, HEDDLE_ALIGNMENT) + bytes;
  }
  return scratch;
}

int64_t tileRowsOf(dataflow::KernelOp kernel, const TargetDescription &target) {
  mlir::FunctionType type = kernel.getKernelType();
  if (!kernel.getComputes().getDivision(type).rowsShareWork) {
    return 1;
  }
  if (auto contract = dyn_cast<dataflow::ContractAttr>(kernel.getComputes())) {
    return PanelLayout::of(target, kernel.getOperandBuffer(1).getElementType(), contract.getK(),
                           contract.getArithmetic())
        .tileRows;
  }
  auto attention = dyn_cast<dataflow::AttentionAttr>(kernel.getComputes());
  return attention && runsOnAmx(attention, target) ? kAmxRows : target.tileRows;
}

// An empty function with the kernel interface of runtime/include/heddle/Abi.h.
static KernelBody createFunction(OpBuilder &builder, dataflow::KernelOp kernel, StringRef name) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto type = builder.getFunctionType({pointer, i64, i64, i64, i64}, {});
  auto function = func::FuncOp::create(builder, kernel.getLoc(), name, type);
  Block *entry = function.addEntryBlock();
  KernelArguments arguments{entry->getArgument(0), entry->getArgument(1),
                            entry->getArgument(2), entry->getArgument(3),
                            entry->getArgument(4), dataflow::namedSpaces(kernel.getKernelType())};
  return {kernel, function, arguments};
}

void emitFamily(VectorCode &code, const KernelBody &body) {
  dataflow::visitFamily(body.kernel.getComputes(),
                        [&](auto computes) { emit(code, body, computes); });
}

static void emitFunction(ModuleOp module, dataflow::KernelOp kernel, StringRef name,
                         const TargetDescription &target,
                         llvm::function_ref<void(VectorCode &, const KernelBody &)> emit) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelBody body = createFunction(builder, kernel, kernelFunctionName(name, target.name));
  builder.setInsertionPointToStart(&body.function.getBody().front());
  VectorCode code(builder, kernel.getLoc(), target);
  emit(code, body);
  builder.setInsertionPointToEnd(&body.function.getBody().front());
  func::ReturnOp::create(builder, kernel.getLoc());
}

static void emitKernel(ModuleOp module, dataflow::KernelOp kernel,
                       const TargetDescription &target) {
  emitFunction(
      module, kernel, kernel.getSymName(), target,
      [&](VectorCode &code, const KernelBody &body) { target.backend->emitKernel(code, body); });
  for (const KernelCompanion &companion : target.backend->companionsOf(kernel, target)) {
    emitFunction(module, kernel, companion.name, target, companion.emit);
  }
  if (kernel.hasFinish()) {
    emitFunction(
        module, kernel, finishKernelName(kernel.getSymName()), target,
        [&](VectorCode &code, const KernelBody &body) { target.backend->emitFinish(code, body); });
  }
}

/// Returns whether the stored form of a parameter for target `number` of `count` is the one that
/// the target's code reads.
static bool isEncodedFor(dataflow::ParameterOp parameter, const dataflow::KernelInput &input,
                         SymbolTable &symbols, const TargetDescription &target, unsigned number,
                         unsigned count) {
  if (!parameter.getEncodings() ||
      (parameter.getNumStored() != 1 && parameter.getNumStored() != count)) {
    return false;
  }
  auto matrix = symbols.lookup<transformer::ParameterOp>(parameter.getParameter());
  auto stored = symbols.lookup<transformer::ParameterOp>(parameter.getStored(number).getValue());
  return stored.getExpressionAttr() ==
         target.backend->encodeMatrix(target, matrix, input).expression;
}

/// Rejects a product or look-up whose weights do not have the layout that a target's code reads: it
/// would read out of bounds. Programs in text may come without the pass that encodes them.
static LogicalResult checkEncodings(ModuleOp module, ArrayRef<TargetDescription> targets) {
  SymbolTable symbols(module);
  for (auto graph : module.getOps<dataflow::GraphOp>()) {
    for (auto dispatch : graph.getDispatches()) {
      auto kernel = symbols.lookup<dataflow::KernelOp>(dispatch.getKernel());
      auto inputs = kernel.getComputes().getInputs(kernel.getKernelType());
      for (auto [input, value] : llvm::zip_first(inputs, dispatch.getInputs())) {
        if (!input.takesEncoding()) {
          continue;
        }
        auto parameter = value.getDefiningOp<dataflow::ParameterOp>();
        for (auto [number, target] : llvm::enumerate(targets)) {
          if (!parameter || !isEncodedFor(parameter, input, symbols, target, number,
                                          static_cast<unsigned>(targets.size()))) {
            return dispatch.emitOpError("reads weights that are not stored as target '")
                   << target.name << "' reads them, expected panels of " << target.panelColumns
                   << " columns, as the pass dataflow-encode-weights stores them for the same "
                      "targets";
          }
        }
      }
    }
  }
  return success();
}

/// Rejects a table in which the elements of a vector may have several scales.
static LogicalResult checkTable(dataflow::KernelOp kernel, unsigned operand) {
  dataflow::BufferType table = kernel.getOperandBuffer(operand);
  auto quantized = dyn_cast<transformer::QuantizedType>(table.getElementType());
  if (!quantized || quantized.isForLookUps(table.getWidth())) {
    return success();
  }
  return kernel.emitOpError("looks up rows of ")
         << table << " as operand #" << operand
         << ", expected one scale for each row, or for every multiple of " << transformer::mostLanes
         << " elements";
}

/// The element types of states. Every run updates a whole state, and would round it again.
static constexpr ElementType kStateElements[] = {ElementType::F32};

/// Rejects a kernel with element types that the code of a target does not support.
static LogicalResult checkElements(dataflow::KernelOp kernel, const TargetDescription &target) {
  auto inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    dataflow::CacheType cache = kernel.getOperandCache(index);
    bool isKept = cache || input.isState;
    if (!isKept && !input.isStored()) {
      continue;
    }
    if (!isKept && input.role != dataflow::KernelInput::Role::Matrix &&
        failed(checkTable(kernel, index))) {
      return failure();
    }
    ElementType element = cache           ? cache.getElement()
                          : input.isState ? kernel.getOperandState(index).getElement()
                                          : kernel.getOperandBuffer(index).getElement();
    ArrayRef<ElementType> known = cache           ? target.cacheElements
                                  : input.isState ? ArrayRef(kStateElements)
                                                  : target.weightElements;
    // Integer elements are codes, which need scales.
    const bool hasScales = !cache || !infoOf(element).isInteger() ||
                           isa<transformer::QuantizedType>(cache.getElementType());
    if (llvm::is_contained(known, element) && hasScales) {
      continue;
    }
    InFlightDiagnostic error = kernel.emitOpError("has ")
                               << (cache           ? "a cache"
                                   : input.isState ? "a state"
                                                   : "weights")
                               << " of " << infoOf(element).name << " as operand #" << index
                               << ", expected ";
    llvm::interleave(
        known, error,
        [&](ElementType each) {
          error << infoOf(each).name << (infoOf(each).isInteger() ? " with scales" : "");
        },
        " or ");
    return error << ", which target '" << target.name << "' computes with";
  }
  return success();
}

namespace {
struct ConvertDataflowToKernels : impl::ConvertDataflowToKernelsPassBase<ConvertDataflowToKernels> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerTargetDialects(registry);
  }

  void runOnOperation() override {
    FailureOr<std::vector<TargetDescription>> chosen =
        findTargets(targets, getOperation().getLoc());
    if (failed(chosen) || failed(checkEncodings(getOperation(), *chosen))) {
      return signalPassFailure();
    }
    for (const TargetDescription &target : *chosen) {
      OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
      auto module = createTargetModule(builder, getOperation().getLoc(), target);
      for (auto kernel : getOperation().getOps<dataflow::KernelOp>()) {
        if (failed(checkElements(kernel, target)) || failed(checkFloatProducts(kernel))) {
          return signalPassFailure();
        }
        emitKernel(module, kernel, target);
      }
    }
  }
};
} // namespace

} // namespace heddle
