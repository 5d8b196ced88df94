// SPDX-License-Identifier: Apache-2.0
///
/// Model families. A family reads a configuration and a checkpoint's tensor names, and builds the
/// layers of a paper. It is one function, listed in Families.def, in a file of its own or shared
/// with close relatives.
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
  /// The largest number of rows of a text for which rotary positions must be valid, if their
  /// frequencies depend on it; 0: the length that the model was trained with.
  int64_t textLength = 0;
};

/// A model as primitive operations.
struct FamilyModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Names of tensors that a checkpoint may contain and the model does not use: buffers and task
  /// heads. A name that ends in a dot covers all names that begin with it.
  std::vector<std::string> unused;
  /// The keys of config.json that the family does not read.
  ConfigKeys keys;
  /// Notes for the user, one line each.
  std::vector<std::string> notes = {};
  /// Whether a text length changes the model.
  bool dependsOnLength = false;
};

/// Checks that `model_type` names a family. Otherwise returns Unsupported, with the list of known
/// ones.
Status checkFamily(const Config &config);

/// Builds the model with the family that `model_type` names.
Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source);

// --- settings that several families share
// ----------------------------------------------------------

/// Larger sizes indicate a damaged file.
inline constexpr int64_t widthLimit = 1 << 16;
inline constexpr int64_t layerLimit = 1 << 10;
inline constexpr int64_t tableLimit = 1 << 24;

/// Returns the names of activations in configurations: the dialect's and those of Hugging Face
/// Transformers; and the activation with such a name.
std::vector<std::string> activationNames();
std::optional<transformer::Activation> parseActivation(std::string_view name);

/// Returns the activation that a key names; `absent` is the default name.
Result<transformer::Activation> readActivation(const Config &config, std::string_view key,
                                               std::string_view absent);

/// Checks that the number of heads divides the width.
Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width);

/// Reads the tokens of the project's own format, one of each kind. The search is that of the
/// papers.
Result<Generation> readOwnTokens(const Config &config, int64_t vocabulary);

/// Rejects a configuration with this key, because it changes the computation.
Status refuseOption(const Config &config, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILY_H
