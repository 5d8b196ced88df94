// SPDX-License-Identifier: Apache-2.0
///
/// The targets that are CPUs, and what their back end is made of.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
#define HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// The least capable first.
std::vector<TargetDescription> cpuTargets();

/// As TargetBackend::translate() says.
Result<std::unique_ptr<TargetCode>> translateToCpu(mlir::ModuleOp module,
                                                   const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
