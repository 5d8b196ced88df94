// SPDX-License-Identifier: Apache-2.0
///
/// Declares every pass of the compiler; generated from the table in Passes.td.
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

/// The names of passes in reports and for --disable-pass: fuseAttention = "fuse-attention", for the
/// pass transformer-fuse-attention.
namespace passNames {
#include "compiler/PassNames.h.inc"
} // namespace passNames

#define GEN_PASS_DECL
#include "compiler/Passes.h.inc"

/// Creates fuse-attention with a reader, to check that rescaled numbers stay in range.
std::unique_ptr<mlir::Pass> createFuseAttentionPass(ParameterReader reader);

/// Creates fuse-branches with a reader, to check that composed weights stay in range.
std::unique_ptr<mlir::Pass> createFuseBranchesPass(ParameterReader reader);

/// Creates share-attention with a hasher, to compare parameters by their values.
std::unique_ptr<mlir::Pass> createShareAttentionPass(ParameterHasher hasher);

/// Registers every pass with the tools' command line parser.
#define GEN_PASS_REGISTRATION
#include "compiler/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_COMPILER_PASSES_H
