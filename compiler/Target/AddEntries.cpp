// SPDX-License-Identifier: Apache-2.0
///
/// Adds device entry points to the kernels of device targets. Their back ends define what is
/// launched.
///
/// Before:
///   module @sm_80 { func.func @norm_384.sm_80(...) }
/// After:
///   module @sm_80 { func.func @norm_384.sm_80(...)  llvm.func @norm_384(%launch)  ... }
///
/// Tested by tests/compiler/Target/Cuda/add-entries.mlir.
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_ADDENTRIESPASS
#include "compiler/Passes.h.inc"

namespace {
struct AddEntries : impl::AddEntriesPassBase<AddEntries> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerTargetDialects(registry);
  }

  void runOnOperation() override {
    for (auto module : getOperation().getOps<ModuleOp>()) {
      if (const TargetDescription *target =
              module.getSymName() ? findTarget(*module.getSymName()) : nullptr) {
        target->backend->addEntries(module, *target);
      }
    }
  }
};
} // namespace

} // namespace heddle
