// SPDX-License-Identifier: Apache-2.0
///
/// Stages of shared memory, used in turn: one warpgroup fills them, others read them. Two mbarriers
/// belong to each stage: "full" completes when it has been filled, "empty" when it has been read.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_STAGERING_H
#define HEDDLE_COMPILER_TARGET_CUDA_STAGERING_H

#include "compiler/Target/Cuda/WarpgroupCode.h"

namespace heddle {

/// A stage: its number, and the parity of the number of times that it was used before, an i32.
struct Stage {
  mlir::Value number, parity;
};

/// Emits code for the mbarriers of `stages` stages, from byte `begin` of shared memory on.
class StageRing {
public:
  StageRing(WarpgroupCode &warpgroups, int64_t stages, int64_t begin)
      : warpgroups(warpgroups), code(warpgroups.block.code), stages(stages), begin(begin) {}

  /// Returns the bytes of the mbarriers.
  static int64_t bytes(int64_t stages) { return 2 * stages * kMbarrierBytes; }

  /// Thread 0 creates the mbarriers; other threads may use them after a barrier. `fills` and
  /// `reads` are the arrivals that make a stage full and empty, as i32.
  void create(mlir::Value fills, mlir::Value reads);
  /// Thread 0 destroys them, after a barrier that comes after their last use.
  void destroy();

  Stage first();
  Stage after(const Stage &stage);
  /// Returns the number of the stage before another one.
  mlir::Value numberBefore(mlir::Value number);

  mlir::Value full(mlir::Value number);
  mlir::Value empty(mlir::Value number);
  /// Wait until a stage is filled, and until it may be filled.
  void awaitFull(const Stage &stage) { warpgroups.awaitPhase(full(stage.number), stage.parity); }
  void awaitEmpty(const Stage &stage);

private:
  mlir::Value otherParity(mlir::Value parity);

  WarpgroupCode &warpgroups;
  VectorCode &code;
  int64_t stages, begin;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_STAGERING_H
