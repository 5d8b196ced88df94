// SPDX-License-Identifier: Apache-2.0
///
/// The CPU targets, and the parts of their back end.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
#define HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// Returns the CPU targets, the least capable first.
std::vector<TargetDescription> cpuTargets();

/// Implements TargetBackend::translate().
Result<std::unique_ptr<TargetCode>> translateToCpu(mlir::ModuleOp module,
                                                   const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
