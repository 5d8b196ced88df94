// SPDX-License-Identifier: Apache-2.0
///
/// Kernels of an image that no model has: an entry that calls its body once from all threads, which
/// reads the record of its launch (HeddleDeviceLaunch in heddle/Abi.h) itself.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_OWNENTRIES_H
#define HEDDLE_COMPILER_TARGET_CUDA_OWNENTRIES_H

#include "compiler/Target/Cuda/BlockCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstddef>

namespace heddle {

/// The address of a structure in memory that no kernel changes while it runs.
struct FixedRecord {
  VectorCode &code;
  mlir::Value address;

  mlir::Value at(size_t offset) const {
    return code.bytesAt(address, code.integer(static_cast<int64_t>(offset)));
  }
  mlir::Value integer(size_t offset) const { return code.loadInteger(at(offset)); }
  mlir::Value pointer(size_t offset) const { return code.loadPointer(at(offset)); }
};

/// The record of a launch.
struct LaunchRecord : FixedRecord {
  mlir::Value operand(int64_t index) const;
  LaunchRange work() const;
};

/// The index of a thread among those of the grid, and their number.
struct Callers {
  mlir::Value own, count;

  static Callers load(VectorCode &code);
};

/// Emits the body of such a kernel.
using OwnBody = llvm::function_ref<void(const BlockCode &block, const LaunchRecord &launch)>;

/// The attribute in LLVM IR of entries whose threads work together: they may share memory and wait
/// for each other. The emulated device checks their accesses for races.
inline constexpr llvm::StringLiteral kTogether = "heddle-together";

/// The name of an entry, the threads of its blocks, how many of these a multiprocessor must be able
/// to run at the same time (BlockWork::leastBlocks), and whether the threads work together.
struct OwnEntry {
  llvm::StringRef name;
  int64_t threads;
  int64_t leastBlocks;
  bool areTogether;

  /// Creates an entry, whose argument is the address of the record of its launch.
  mlir::LLVM::LLVMFuncOp create(VectorCode &code) const;
};

/// Adds an entry, and its body as a function that is inlined.
void addOwnEntry(mlir::ModuleOp module, const TargetDescription &target, const OwnEntry &entry,
                 OwnBody emit);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_OWNENTRIES_H
