// SPDX-License-Identifier: Apache-2.0
///
/// Model families. A family knows a configuration, a checkpoint's tensor names and the layers of a
/// paper. It is one function, listed in Families.def, in a file of its own or shared with close
/// relatives.
#ifndef HEDDLE_FRONTEND_FAMILIES_FAMILY_H
#define HEDDLE_FRONTEND_FAMILIES_FAMILY_H

#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "formats/Config/SentenceTransformers.h"
#include "frontend/Families/ConfigKeys.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Checkpoint;

namespace transformer {
enum class Activation : uint32_t;
} // namespace transformer

/// The input of a family.
struct ModelSource {
  const Config &config;
  /// Used to find out which optional tensors exist. The importer checks shapes.
  const Checkpoint &checkpoint;
  /// The modules after the encoder; nothing if the folder has no modules.json.
  std::optional<SentenceTransformers> sentence;
  /// generation_config.json; nothing if the folder has none.
  std::optional<Config> generation;
  /// The most rows of a text that rotary positions are to hold for, where their frequencies depend
  /// on that; 0: as many as have those that the model was trained with.
  int64_t textLength = 0;
};

/// A model as primitive mathematics.
struct FamilyModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Names of tensors that a checkpoint may contain and the model does not use: buffers and task
  /// heads. A name that ends in a dot covers all names that begin with it.
  std::vector<std::string> unused;
  /// The keys of config.json that the family does not read.
  ConfigKeys keys;
  /// What a user should know of the model, one line each.
  std::vector<std::string> notes = {};
  /// Whether a text length changes the model.
  bool dependsOnLength = false;
};

/// Checks that `model_type` names a family. If not, Unsupported, with the list of known ones.
Status checkFamily(const Config &config);

/// Writes the model of the family that `model_type` names.
Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source);

// --- settings that several families share
// ----------------------------------------------------------

/// Larger sizes mean a damaged file.
inline constexpr int64_t widthLimit = 1 << 16;
inline constexpr int64_t layerLimit = 1 << 10;
inline constexpr int64_t tableLimit = 1 << 24;

/// The activations that configurations may name, by the dialect's names and by others that Hugging
/// Face Transformers has for them; and the one of such a name.
std::vector<std::string> activationNames();
std::optional<transformer::Activation> parseActivation(std::string_view name);

/// The activation that a key names; `absent`, which is such a name, without the key.
Result<transformer::Activation> readActivation(const Config &config, std::string_view key,
                                               std::string_view absent);

/// Checks that the number of heads divides the width.
Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width);

/// The tokens of the project's own format, one of each kind. The search is the papers'.
Result<Generation> readOwnTokens(const Config &config, int64_t vocabulary);

/// Refuses a configuration that has this key, because it changes what the model computes.
Status refuseOption(const Config &config, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILY_H
