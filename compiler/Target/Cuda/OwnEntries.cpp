// SPDX-License-Identifier: Apache-2.0
///
/// Emits an entry and its body, whose name ends in "$body": functions of a model's kernels end in
/// the name of a target.
#include "compiler/Target/Cuda/OwnEntries.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {

Value LaunchRecord::operand(int64_t index) const {
  const FixedRecord context = {code, pointer(offsetof(HeddleDeviceLaunch, context))};
  const FixedRecord operands = {code, context.pointer(offsetof(HeddleKernelContext, operands))};
  return operands.pointer(static_cast<size_t>(index) * sizeof(void *));
}

LaunchRange LaunchRecord::work() const {
  return {integer(offsetof(HeddleDeviceLaunch, row_begin)),
          integer(offsetof(HeddleDeviceLaunch, row_end)),
          integer(offsetof(HeddleDeviceLaunch, column_begin)),
          integer(offsetof(HeddleDeviceLaunch, column_end))};
}

Callers Callers::load(VectorCode &code) {
  Value threads = readRegister<NVVM::BlockDimXOp>(code);
  Value before = code.multiply(readRegister<NVVM::BlockIdXOp>(code), threads);
  return {code.add(before, readRegister<NVVM::ThreadIdXOp>(code)),
          code.multiply(readRegister<NVVM::GridDimXOp>(code), threads)};
}

LLVM::LLVMFuncOp OwnEntry::create(VectorCode &code) const {
  OpBuilder &builder = code.builder;
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {code.pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, code.location, name, type);
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  entry->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                 builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  if (leastBlocks != kAnyBlocks) {
    entry->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                   builder.getI32IntegerAttr(static_cast<int32_t>(leastBlocks)));
  }
  if (areTogether) {
    entry.setPassthroughAttr(builder.getStrArrayAttr({kTogether}));
  }
  return entry;
}

void addOwnEntry(ModuleOp module, const TargetDescription &target, const OwnEntry &own,
                 OwnBody emit) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  const Location location = module.getLoc();
  VectorCode code(builder, location, target);
  auto body = func::FuncOp::create(builder, location, (own.name + "$body").str(),
                                   builder.getFunctionType({code.pointer}, {}));
  body.setPrivate();
  LLVM::LLVMFuncOp entry = own.create(code);
  Block *const block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  func::CallOp::create(builder, location, body, block->getArgument(0));
  LLVM::ReturnOp::create(builder, location, ValueRange());
  builder.setInsertionPointToStart(body.addEntryBlock());
  emit(BlockCode(code, body), {{code, body.getArgument(0)}});
  func::ReturnOp::create(builder, location);
}

} // namespace heddle
