// SPDX-License-Identifier: Apache-2.0
///
/// Defects that may occur in any kernel of warpgroups, planted in its code between the emitter and
/// the code generator.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDWARPGROUPDEFECTS_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDWARPGROUPDEFECTS_H

#include "tests/EmulatedCompiler/PlantedDefects.h"

namespace heddle {

/// Replaces an i32 operand by its sum with a number.
inline void addTo(mlir::OpOperand &operand, int32_t number) {
  mlir::OpBuilder builder(operand.getOwner());
  const mlir::Location location = operand.getOwner()->getLoc();
  const mlir::Type type = operand.get().getType();
  mlir::Value other =
      mlir::LLVM::ConstantOp::create(builder, location, type, builder.getIntegerAttr(type, number));
  operand.set(mlir::LLVM::AddOp::create(builder, location, type, operand.get(), other));
}

/// Returns the last inline assembly with an instruction.
inline mlir::LLVM::InlineAsmOp lastAssembly(mlir::LLVM::LLVMFuncOp function,
                                            llvm::StringRef instruction) {
  mlir::LLVM::InlineAsmOp last;
  for (mlir::LLVM::InlineAsmOp each : all<mlir::LLVM::InlineAsmOp>(function)) {
    if (each.getAsmString().contains(instruction)) {
      last = each;
    }
  }
  return last;
}

/// Erases the last operation of a kind, or the one before it.
template <typename Op, size_t fromLast = 1> void missing(mlir::LLVM::LLVMFuncOp function) {
  const auto found = all<Op>(function);
  found[found.size() - fromLast]->erase();
}

/// Erases all operations of a kind.
template <typename Op> void allMissing(mlir::LLVM::LLVMFuncOp function) {
  for (Op each : all<Op>(function)) {
    each->erase();
  }
}

/// Lets a wait expect the other phase, and lets it go on in any phase: the last wait, or one before
/// it.
template <size_t fromLast> void wrongPhase(mlir::LLVM::LLVMFuncOp function) {
  const auto waits = all<mlir::NVVM::MBarrierTryWaitOp>(function);
  mlir::NVVM::MBarrierTryWaitOp wait = waits[waits.size() - fromLast];
  mlir::OpBuilder builder(wait);
  mlir::Value one = mlir::LLVM::ConstantOp::create(builder, wait.getLoc(), builder.getI32Type(),
                                                   builder.getI32IntegerAttr(1));
  wait.getStateOrPhaseMutable().assign(
      mlir::LLVM::XOrOp::create(builder, wait.getLoc(), wait.getStateOrPhase(), one));
}

template <size_t fromLast, bool isErased> void noWait(mlir::LLVM::LLVMFuncOp function) {
  const auto waits = all<mlir::NVVM::MBarrierTryWaitOp>(function);
  mlir::NVVM::MBarrierTryWaitOp wait = waits[waits.size() - fromLast];
  mlir::OpBuilder builder(wait);
  wait.getRes().replaceAllUsesWith(mlir::LLVM::ConstantOp::create(builder, wait.getLoc(),
                                                                  builder.getI1Type(),
                                                                  builder.getBoolAttr(true))
                                       .getResult());
  if (isErased) {
    wait->erase();
  }
}

/// Changes the number of arrivals of a stage; mbarriers are initialised in pairs: "full", then
/// "empty".
template <bool isFull, int32_t number> void otherArrivals(mlir::LLVM::LLVMFuncOp function) {
  const auto creations = all<mlir::NVVM::MBarrierInitOp>(function);
  mlir::NVVM::MBarrierInitOp creation = creations[creations.size() - (isFull ? 2 : 1)];
  addTo(creation.getCountMutable(), number);
}

/// Lets a thread of the last warpgroup wait at a barrier before the last fence of registers.
inline void oneThreadElsewhere(mlir::LLVM::LLVMFuncOp function) {
  mlir::NVVM::WgmmaFenceAlignedOp fence = all<mlir::NVVM::WgmmaFenceAlignedOp>(function).back();
  mlir::Block *const before = fence->getBlock();
  mlir::Block *const rest = before->splitBlock(fence);
  mlir::OpBuilder builder(function.getContext());
  mlir::Block *const aside = builder.createBlock(rest);
  mlir::NVVM::Barrier0Op::create(builder, function.getLoc());
  mlir::LLVM::BrOp::create(builder, function.getLoc(), rest);
  builder.setInsertionPointToEnd(before);
  mlir::Value isAside = threadIs(builder, function, mlir::LLVM::ICmpPredicate::eq, 300);
  mlir::LLVM::CondBrOp::create(builder, function.getLoc(), isAside, aside, rest);
}

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDWARPGROUPDEFECTS_H
