// SPDX-License-Identifier: Apache-2.0
///
/// Checks that a program and a checkpoint fit together.
#ifndef HEDDLE_FRONTEND_IMPORT_TENSORCHECK_H
#define HEDDLE_FRONTEND_IMPORT_TENSORCHECK_H

#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Checks that every parameter with a source is in the checkpoint, with its shape and a type that
/// can be read as f32.
Status checkParameters(mlir::ModuleOp module, const Checkpoint &checkpoint);

/// Checks that every tensor of the checkpoint is a parameter's source or in `unused`, where a name
/// that ends in a dot covers all names that begin with it. Notes the unused tensors.
Status checkSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                    std::span<const std::string> unused, std::vector<std::string> &notes);

/// Notes the tensors of the checkpoint that no parameter names. That is no error: a program need
/// not use all.
void noteSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                 std::vector<std::string> &notes);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_TENSORCHECK_H
