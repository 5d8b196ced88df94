// SPDX-License-Identifier: Apache-2.0
///
/// Every pass of the compiler, generated from the table in Passes.td.
#ifndef HEDDLE_COMPILER_PASSES_H
#define HEDDLE_COMPILER_PASSES_H

#include "compiler/Parameters/ParameterHash.h"

#include "mlir/Pass/Pass.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace heddle {

/// What reports and --disable-pass call the passes: fuseAttention = "fuse-attention", for the pass
/// transformer-fuse-attention.
namespace passNames {
#include "compiler/PassNames.h.inc"
} // namespace passNames

#define GEN_PASS_DECL
#include "compiler/Passes.h.inc"

/// fuse-attention that looks whether numbers that it moves keep their range.
std::unique_ptr<mlir::Pass> createFuseAttentionPass(ParameterReader reader);

/// fuse-branches that looks whether composed weights keep their range.
std::unique_ptr<mlir::Pass> createFuseBranchesPass(ParameterReader reader);

/// share-attention that compares parameters by their values.
std::unique_ptr<mlir::Pass> createShareAttentionPass(ParameterHasher hasher);

/// Registers every pass with the tools' command line parser.
#define GEN_PASS_REGISTRATION
#include "compiler/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_COMPILER_PASSES_H
