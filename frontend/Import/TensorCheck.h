// SPDX-License-Identifier: Apache-2.0
///
/// Whether a program and a checkpoint fit together.
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

/// Checks that every tensor of the checkpoint is some parameter's source or in `unused` (one that
/// ends in a dot stands for all that begin with it). What was unused is noted.
Status checkSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                    std::span<const std::string> unused, std::vector<std::string> &notes);

/// Notes the tensors of the checkpoint that no parameter names: whoever wrote the program need not
/// have taken all.
void noteSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                 std::vector<std::string> &notes);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_TENSORCHECK_H
