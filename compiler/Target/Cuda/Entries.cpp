// SPDX-License-Identifier: Apache-2.0
///
/// The entry of a kernel: every thread of a grid is a caller of the kernel's function
/// (HeddleDeviceLaunch in heddle/Abi.h).
///
/// Before:  func.func @norm_384.sm_80(%context: !llvm.ptr, %rowBegin: i64, ...)
/// After, beside it:
///   llvm.func @norm_384(%launch: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = [64]} {
///     for each piece of the caller's: func.call @norm_384.sm_80(%copy, ...)
///   }
///
/// Tested by tests/compiler/Target/Cuda/add-entries.mlir.
#include "compiler/Target/Cuda/CudaTargets.h"

#include "compiler/Target/Emitters/VectorCode.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <cstddef>

using namespace mlir;

namespace heddle {

static Value field(VectorCode &code, Value base, size_t byteOffset) {
  return code.bytesAt(base, code.integer(static_cast<int64_t>(byteOffset)));
}

/// A special register as i64.
template <typename Register> static Value read(VectorCode &code) {
  Value value = Register::create(code.builder, code.location, code.i32);
  return arith::ExtUIOp::create(code.builder, code.location, code.i64, value);
}

namespace {
/// The number of the caller that a thread is, and how many there are.
struct Callers {
  Value own, count;

  static Callers load(VectorCode &code) {
    Value threads = read<NVVM::BlockDimXOp>(code);
    Value before = code.multiply(read<NVVM::BlockIdXOp>(code), threads);
    return {code.add(before, read<NVVM::ThreadIdXOp>(code)),
            code.multiply(read<NVVM::GridDimXOp>(code), threads)};
  }
};
} // namespace

/// A copy of the launch's context whose scratch memory is the caller's own.
static Value ownContext(VectorCode &code, Value launch, Value caller) {
  constexpr int64_t words = sizeof(HeddleKernelContext) / sizeof(void *);
  static_assert(sizeof(HeddleKernelContext) % sizeof(void *) == 0);
  Value copy =
      LLVM::AllocaOp::create(code.builder, code.location, code.pointer, code.pointer,
                             code.integer(words), /*alignment=*/alignof(HeddleKernelContext));
  Value context = code.loadPointer(field(code, launch, offsetof(HeddleDeviceLaunch, context)));
  for (size_t byte = 0; byte < sizeof(HeddleKernelContext); byte += sizeof(void *)) {
    Value word = code.loadPointer(field(code, context, byte));
    if (byte == offsetof(HeddleKernelContext, scratch)) {
      Value stride =
          code.loadInteger(field(code, launch, offsetof(HeddleDeviceLaunch, scratch_stride)));
      word = code.bytesAt(word, code.multiply(caller, stride));
    }
    // Volatile: kernels read their context as what never changes, from which LLVM might conclude
    // that nobody reads what is written here.
    LLVM::StoreOp::create(code.builder, code.location, word, field(code, copy, byte),
                          /*alignment=*/0, /*isVolatile=*/true);
  }
  return copy;
}

/// Calls a kernel for every piece of the work that is the caller's.
static void callPieces(VectorCode &code, func::FuncOp kernel, Value launch) {
  auto load = [&](size_t offset) { return code.loadInteger(field(code, launch, offset)); };
  const Callers callers = Callers::load(code);
  Value context = ownContext(code, launch, callers.own);
  Value rowBegin = load(offsetof(HeddleDeviceLaunch, row_begin));
  Value rowEnd = load(offsetof(HeddleDeviceLaunch, row_end));
  Value columnBegin = load(offsetof(HeddleDeviceLaunch, column_begin));
  Value step = load(offsetof(HeddleDeviceLaunch, row_step));
  Value columns = code.subtract(load(offsetof(HeddleDeviceLaunch, column_end)), columnBegin);
  Value pieces = code.divideUp(code.subtract(rowEnd, rowBegin), step);
  code.walk(callers.own, code.multiply(pieces, columns), [&](Value number) {
    Value column = code.divide(number, pieces);
    Value piece = code.subtract(number, code.multiply(column, pieces));
    Value begin = code.add(rowBegin, code.multiply(piece, step));
    Value end = code.smaller(code.add(begin, step), rowEnd);
    Value first = code.add(columnBegin, column);
    func::CallOp::create(code.builder, code.location, kernel,
                         ValueRange{context, begin, end, first, code.add(first, 1)});
    return code.add(number, callers.count);
  });
}

static void addEntry(func::FuncOp kernel, const TargetDescription &target) {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  const StringRef name = kernel.getSymName().drop_back(target.name.size() + 1);
  assert(kernelFunctionName(name, target.name) == kernel.getSymName() &&
         "the functions of a target are named after it");
  VectorCode code(builder, kernel.getLoc(), target);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {code.pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), entryName(name), type);
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  const auto threads = static_cast<int32_t>(target.backend->launchShape().threads());
  entry->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), builder.getDenseI32ArrayAttr({threads}));
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  callPieces(code, kernel, block->getArgument(0));
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
}

void addCudaEntries(ModuleOp module, const TargetDescription &target) {
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (kernel.isPublic()) {
      addEntry(kernel, target);
    }
  }
}

} // namespace heddle
