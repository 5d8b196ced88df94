// SPDX-License-Identifier: Apache-2.0
///
/// Checks the chat templates of a program before anything is compiled.
#ifndef HEDDLE_COMPILER_DRIVER_CHATCHECK_H
#define HEDDLE_COMPILER_DRIVER_CHATCHECK_H

#include "compiler/Compile.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Checks the chat templates of a program, or removes them from it. An unsupported template is an
/// error: with another template the model would get prompts that it was not trained for.
Status checkChat(mlir::ModuleOp program, const CompileRequest &request);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_CHATCHECK_H
