// SPDX-License-Identifier: Apache-2.0
///
/// A program as text that people read and heddlec reads again: what entries share once, locations
/// as short aliases whose definitions stand at the end, and the phase that it is in.
#ifndef HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H
#define HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H

#include "compiler/CompileOptions.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <string_view>

namespace heddle {

/// The program after `phase`, which is none of those after asm.
Result<std::string> programText(mlir::ModuleOp module, Phase phase);

/// The phase that a program in text says it is in (`transformer.phase`); the first if it says none.
/// InvalidArgument if there is no such phase.
Result<Phase> phaseOfText(mlir::ModuleOp module);

/// Moves the definitions of locations in MLIR's text to its end, and writes every location by its
/// alias, those of block arguments too.
std::string withLocationsAtEnd(std::string_view text);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_PROGRAMTEXT_H
