// SPDX-License-Identifier: Apache-2.0
///
/// Checks the files that a compilation is going to write.
#ifndef HEDDLE_COMPILER_DRIVER_OUTPUTCHECK_H
#define HEDDLE_COMPILER_DRIVER_OUTPUTCHECK_H

#include "compiler/Compile.h"

#include "llvm/ADT/ArrayRef.h"

namespace heddle {

/// Refuses outputs that would replace a file that is read or each other, and those that cannot be
/// written, before the work that they are for. `sourceFiles` are those of the model.
Status checkOutputs(const CompileRequest &request, llvm::ArrayRef<std::string> sourceFiles);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_OUTPUTCHECK_H
