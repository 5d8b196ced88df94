// SPDX-License-Identifier: Apache-2.0
///
/// Prints a program as text for people and for heddlec, which can read it again: operations that
/// entries share are printed once, locations are short aliases defined at the end, and the module
/// names its phase.
#ifndef HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H
#define HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H

#include "compiler/CompileOptions.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <string_view>

namespace heddle {

/// Returns the program after `phase`, which is at most asm.
Result<std::string> programText(mlir::ModuleOp module, Phase phase);

/// Returns the phase that a program in text declares (`transformer.phase`); the first if it
/// declares none. InvalidArgument if there is no such phase.
Result<Phase> phaseOfText(mlir::ModuleOp module);

/// Moves the definitions of locations in MLIR's text to its end, and replaces every location by its
/// alias, including those of block arguments.
std::string withLocationsAtEnd(std::string_view text);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H
