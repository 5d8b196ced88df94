// SPDX-License-Identifier: Apache-2.0
///
/// Defects that may occur in any block kernel, planted in its code between the emitter and the code
/// generator.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDDEFECTS_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDDEFECTS_H

#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/Support/Regex.h"

#include <gtest/gtest.h>

namespace heddle {

/// Returns all operations of a kind, in order.
template <typename Op> llvm::SmallVector<Op> all(mlir::LLVM::LLVMFuncOp function) {
  llvm::SmallVector<Op> found;
  function.walk([&](Op op) { found.push_back(op); });
  return found;
}

inline void nothing(mlir::LLVM::LLVMFuncOp) {}

/// Expects that the GPU stopped a launch. A report names the kernel, the block and perhaps the
/// thread, and then the error, a regular expression.
inline void expectReported(const KernelOutcome &outcome, llvm::StringRef kernel,
                           llvm::StringRef error) {
  const std::string place = ("^" + kernel + ": block [01](, thread [0-9]+)?: ").str();
  EXPECT_TRUE(outcome.values.empty());
  EXPECT_TRUE(llvm::Regex(place).match(outcome.report)) << outcome.report;
  EXPECT_TRUE(llvm::Regex(error).match(outcome.report)) << outcome.report;
}

/// Emits a comparison of the thread index with a number.
inline mlir::Value threadIs(mlir::OpBuilder &builder, mlir::LLVM::LLVMFuncOp function,
                            mlir::LLVM::ICmpPredicate predicate, int32_t number) {
  mlir::Value thread = all<mlir::NVVM::ThreadIdXOp>(function).front();
  mlir::Value other = mlir::LLVM::ConstantOp::create(builder, function.getLoc(), thread.getType(),
                                                     builder.getI32IntegerAttr(number));
  return mlir::LLVM::ICmpOp::create(builder, function.getLoc(), predicate, thread, other);
}

/// Makes threads from index 64 on return early.
inline void halfLeavesEarly(mlir::LLVM::LLVMFuncOp function) {
  auto thread = all<mlir::NVVM::ThreadIdXOp>(function).front();
  mlir::Block *const entry = thread->getBlock();
  mlir::Block *const rest = entry->splitBlock(thread->getNextNode());
  mlir::OpBuilder builder(function.getContext());
  mlir::Block *const end = builder.createBlock(&function.getBody());
  mlir::LLVM::ReturnOp::create(builder, function.getLoc(), mlir::ValueRange());
  builder.setInsertionPointToEnd(entry);
  mlir::Value isFirst = threadIs(builder, function, mlir::LLVM::ICmpPredicate::ult, 64);
  mlir::LLVM::CondBrOp::create(builder, function.getLoc(), isFirst, rest, end);
}

/// Makes lane 8 of warp 1 wait at a barrier before the last operation of a kind.
template <typename Op> void oneLaneElsewhere(mlir::LLVM::LLVMFuncOp function) {
  Op load = all<Op>(function).back();
  mlir::Block *const before = load->getBlock();
  mlir::Block *const rest = before->splitBlock(load);
  mlir::OpBuilder builder(function.getContext());
  mlir::Block *const aside = builder.createBlock(rest);
  mlir::NVVM::Barrier0Op::create(builder, function.getLoc());
  mlir::LLVM::BrOp::create(builder, function.getLoc(), rest);
  builder.setInsertionPointToEnd(before);
  mlir::Value isAside = threadIs(builder, function, mlir::LLVM::ICmpPredicate::eq, 40);
  mlir::LLVM::CondBrOp::create(builder, function.getLoc(), isAside, aside, rest);
}

/// Returns an address plus an offset in bytes.
inline mlir::Value moved(mlir::Operation *use, mlir::Value address, int32_t bytes) {
  mlir::OpBuilder builder(use);
  return mlir::LLVM::GEPOp::create(builder, use->getLoc(), address.getType(), builder.getI8Type(),
                                   address, llvm::ArrayRef<mlir::LLVM::GEPArg>{bytes});
}

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_PLANTEDDEFECTS_H
