// SPDX-License-Identifier: Apache-2.0
///
/// Targets that differ in instructions which a program may not use: x86-64-v4 and x86-64-v4-vnni
/// have the same code unless bytes are multiplied. If the kernels of two targets are the same loops
/// for the same processor, they are compiled once.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H

#include "compiler/Target/Target.h"

#include <map>
#include <string>

namespace heddle {

/// Returns the text of an operation, by which programs, kernels and targets are compared.
std::string printed(mlir::Operation *op);

/// A target by name, and the earlier one whose code it has.
using TargetTwins = std::map<std::string, std::string>;

/// Returns the twins in a module after the phase `kernels`.
TargetTwins findTwins(mlir::ModuleOp module);

/// Removes the kernels of targets that have another's code.
void removeTwins(mlir::ModuleOp module, const TargetTwins &twins);

/// Returns whether two objects have the same bytes of code and of constants, whatever their names.
bool haveSameCode(const Code &object, const Code &other);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H
