// SPDX-License-Identifier: Apache-2.0
///
/// Lowers the kernel modules of all targets to the llvm dialect and sets the processor of each
/// function.
///
/// Before:
///   func.func @contract_384x384.x86-64-v4(%context: !llvm.ptr, ...)
/// After:
///   llvm.func @contract_384x384.x86-64-v4(%arg0: !llvm.ptr, ...)
///       attributes {target_cpu = "x86-64-v4", passthrough = ["prefer-vector-width", ...]}
///
/// Tested by tests/compiler/Target/kernels-to-llvm.mlir.
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTKERNELSTOLLVMPASS
#include "compiler/Passes.h.inc"

static LogicalResult lowerControlFlow(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult lowerToLLVM(ModuleOp module, const TargetBackend &backend) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  DialectRegistry own;
  backend.registerDialects(own);
  for (llvm::StringRef dialect : own.getDialectNames()) {
    target.addLegalDialect(dialect);
  }
  return applyFullConversion(module, target, std::move(patterns));
}

namespace {
struct ConvertKernelsToLLVM : impl::ConvertKernelsToLLVMPassBase<ConvertKernelsToLLVM> {
  using Base::Base;

  void runOnOperation() override {
    for (auto module : getOperation().getOps<ModuleOp>()) {
      const TargetDescription *target =
          module.getSymName() ? findTarget(*module.getSymName()) : nullptr;
      if (!target) {
        continue;
      }
      if (failed(lowerControlFlow(module)) || failed(lowerToLLVM(module, *target->backend))) {
        return signalPassFailure();
      }
      for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
        bool isPrivate =
            SymbolTable::getSymbolVisibility(function) == SymbolTable::Visibility::Private;
        function.setTargetCpu(target->processor);
        if (!target->features.empty()) {
          function.setTargetFeaturesAttr(
              LLVM::TargetFeaturesAttr::get(module.getContext(), target->features));
        }
        target->backend->setAttributes(function, *target, isPrivate);
      }
    }
  }
};
} // namespace

} // namespace heddle
