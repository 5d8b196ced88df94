// SPDX-License-Identifier: Apache-2.0
///
/// Targets that differ in instructions which a program may have no use for: x86-64-v4 and
/// x86-64-v4-vnni have the same code unless bytes are multiplied. Where the kernels of two are the
/// same loops for the same processor, they are compiled once.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H

#include "compiler/Target/Target.h"

#include <map>
#include <string>

namespace heddle {

/// The text of an operation, by which programs, kernels and targets are known to be the same.
std::string printed(mlir::Operation *op);

/// A target by name, and the earlier one whose code it has.
using TargetTwins = std::map<std::string, std::string>;

/// The twins in a module after the phase `kernels`.
TargetTwins findTwins(mlir::ModuleOp module);

/// Removes the kernels of those that have another's.
void removeTwins(mlir::ModuleOp module, const TargetTwins &twins);

/// Whether two objects have the same bytes of code and of constants, whatever they call them.
bool haveSameCode(const Code &object, const Code &other);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TARGETTWINS_H
