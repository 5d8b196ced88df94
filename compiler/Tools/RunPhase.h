// SPDX-License-Identifier: Apache-2.0
///
/// One phase of heddlec. What passes find wrong is said at its place in the model, or, where a pass
/// is what an option asks for, as a message about that option.
#ifndef HEDDLE_COMPILER_TOOLS_RUNPHASE_H
#define HEDDLE_COMPILER_TOOLS_RUNPHASE_H

#include "compiler/Pipeline.h"
#include "frontend/Builder/DiagnosticText.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Runs the passes of a phase. InvalidArgument if one fails: the option that asked for it and what
/// it said, or what the others said and where, with the lines of `source` if the program has one.
Status runPhase(mlir::ModuleOp module, Phase phase, const CompileOptions &options,
                SourceText source = {});

} // namespace heddle

#endif // HEDDLE_COMPILER_TOOLS_RUNPHASE_H
