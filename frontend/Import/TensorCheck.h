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

/// Checks that every parameter with a source is in the checkpoint, with its shape and type, or one
/// that can be read as f32.
Status checkParameters(mlir::ModuleOp module, const Checkpoint &checkpoint);

/// Gives f32 parameters whose tensors are f16 or bf16 a source of that type, from which they are
/// converted: `@w : f32 from "w"` becomes `@w.f16 : f16 from "w"` and `@w : f32 = convert(@w.f16)`.
void keepStoredTypes(mlir::ModuleOp module, const Checkpoint &checkpoint);

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
