// SPDX-License-Identifier: Apache-2.0
///
/// The chat templates of a program, before anything is compiled.
#ifndef HEDDLE_COMPILER_DRIVER_CHATCHECK_H
#define HEDDLE_COMPILER_DRIVER_CHATCHECK_H

#include "compiler/Compile.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Checks the chat templates of a program, or takes them out of it. Where one is not understood, no
/// other may take its place: its model would answer to prompts that it was not trained for.
Status checkChat(mlir::ModuleOp program, const CompileRequest &request);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_CHATCHECK_H
