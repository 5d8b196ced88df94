// SPDX-License-Identifier: Apache-2.0
///
/// Emits the entry of a kernel: either every thread of a grid calls the kernel's function
/// separately (HeddleDeviceLaunch in heddle/Abi.h), or the threads of a block call it together. The
/// kernels beside selections (BlockSelect.cpp) and those that measure the GPU (RoofKernels.cpp)
/// follow.
///
/// Before:  func.func @norm_384.sm_80(%context: !llvm.ptr, %rowBegin: i64, ...)
/// After, the module also contains:
///   llvm.func @norm_384(%launch: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = [64]} {
///     for each piece of the caller: func.call @norm_384.sm_80(%copy, ...)
///   }
///
/// A function that finds the pieces of its block (BlockWork::findsPieces) is called once.
///
/// Tested by tests/compiler/Target/Cuda/add-entries.mlir.
#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Cuda/BlockSelect.h"
#include "compiler/Target/Cuda/CudaTargets.h"
#include "compiler/Target/Cuda/OwnEntries.h"
#include "compiler/Target/Cuda/RoofKernels.h"

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

/// Creates a copy of the launch's context that has the caller's own scratch memory.
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
    // Volatile, because kernels load their context as invariant memory, and LLVM might otherwise
    // conclude that this store is dead.
    LLVM::StoreOp::create(code.builder, code.location, word, field(code, copy, byte),
                          /*alignment=*/0, /*isVolatile=*/true);
  }
  return copy;
}

static void callKernel(VectorCode &code, func::FuncOp kernel, Value context,
                       const LaunchRange &range) {
  func::CallOp::create(
      code.builder, code.location, kernel,
      ValueRange{context, range.rowBegin, range.rowEnd, range.columnBegin, range.columnEnd});
}

/// Calls a kernel for every `step`-th piece from number `own` on.
static void callPieces(VectorCode &code, func::FuncOp kernel, Value context,
                       const LaunchPieces &pieces, Value own, Value step) {
  code.walk(own, pieces.count, [&](Value number) {
    callKernel(code, kernel, context, pieces.at(code, number));
    return code.add(number, step);
  });
}

/// Calls a kernel for the pieces of a caller that is a single thread.
static void callAlone(VectorCode &code, func::FuncOp kernel, Value launch) {
  const Callers callers = Callers::load(code);
  Value context = ownContext(code, launch, callers.own);
  Value step = code.loadInteger(field(code, launch, offsetof(HeddleDeviceLaunch, row_step)));
  const LaunchPieces pieces(code, LaunchRecord{{code, launch}}.work(), step, code.integer(1));
  callPieces(code, kernel, context, pieces, callers.own, callers.count);
}

/// Calls a kernel for the pieces of a block, or once if it finds them, from all threads of the
/// block. Such kernels have no scratch memory, so they use the context of the launch itself.
static void callTogether(VectorCode &code, func::FuncOp kernel, Value launch,
                         const BlockWork &block) {
  const LaunchRange work = LaunchRecord{{code, launch}}.work();
  Value context = code.loadPointer(field(code, launch, offsetof(HeddleDeviceLaunch, context)));
  if (block.findsPieces) {
    callKernel(code, kernel, context, work);
    return;
  }
  Value own = LaunchPieces::first(code), step = LaunchPieces::step(code);
  callPieces(code, kernel, context, LaunchPieces::of(code, work, block), own, step);
}

static void addEntry(func::FuncOp kernel, const TargetDescription &target) {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  const StringRef name = kernel.getSymName().drop_back(target.name.size() + 1);
  assert(kernelFunctionName(name, target.name) == kernel.getSymName() &&
         "the functions of a target are named after it");
  VectorCode code(builder, kernel.getLoc(), target);
  const std::optional<BlockWork> work = BlockWork::of(kernel);
  const int64_t threads = work ? work->threads : int64_t{target.backend->launchShape().threads()};
  const std::string symbol = entryName(name);
  const OwnEntry own = {symbol, threads, work ? work->leastBlocks : kAnyBlocks,
                        /*areTogether=*/work.has_value()};
  LLVM::LLVMFuncOp entry = own.create(code);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  if (work) {
    callTogether(code, kernel, block->getArgument(0), *work);
  } else {
    callAlone(code, kernel, block->getArgument(0));
  }
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
}

void addCudaEntries(ModuleOp module, const TargetDescription &target) {
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (kernel.isPublic()) {
      addEntry(kernel, target);
    }
  }
  addSelectionKernels(module, target);
  addRoofKernels(module, target);
}

} // namespace heddle
