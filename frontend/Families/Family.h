// SPDX-License-Identifier: Apache-2.0
///
/// Model families: what knows a configuration, a checkpoint's tensor names and the layers of a
/// paper. One function each, listed in Families.def, in a file of its own or of its close kin.
#ifndef HEDDLE_FRONTEND_FAMILIES_FAMILY_H
#define HEDDLE_FRONTEND_FAMILIES_FAMILY_H

#include "formats/Config/Config.h"
#include "formats/Config/SentenceTransformers.h"
#include "frontend/Families/ConfigKeys.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

class Checkpoint;

/// What a family writes a model from.
struct ModelSource {
  const Config &config;
  /// Asked for which optional tensors there are; shapes are checked by the importer.
  const Checkpoint &checkpoint;
  /// What follows the encoder; nothing for a folder without modules.json.
  std::optional<SentenceTransformers> sentence;
  /// generation_config.json; nothing for a folder without.
  std::optional<Config> generation;
};

/// A model as primitive mathematics.
struct FamilyModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Names of tensors that a checkpoint may have and the model has no use for: buffers and the
  /// heads of tasks. One that ends in a dot stands for all that begin with it.
  std::vector<std::string> unused;
  /// What config.json may say besides what the family reads.
  ConfigKeys keys;
};

/// Whether `model_type` names a family; if not, Unsupported, with the list of those known.
Status checkFamily(const Config &config);

/// Writes the model of the family that `model_type` names.
Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILY_H
