// SPDX-License-Identifier: Apache-2.0
///
/// The keys of config.json that a family does not read, and their allowed values. An unknown key
/// might request a computation that is not compiled, so none is ignored silently.
#ifndef HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
#define HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H

#include "heddle/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Config;

/// ConfigKeys::formatPage of our own format.
inline constexpr std::string_view keysOfOwnFormat = "the keys of docs/model-format.md";

/// A key that changes the computation unless it has one of certain values. A shared one applies
/// only to families that do not read the key.
struct FixedKey {
  std::string_view key;
  /// The values that match the family's computation, as compact JSON. Null and a missing key always
  /// match.
  std::vector<std::string_view> values;
};

/// Class names of Hugging Face Transformers, which tell what head a model has. They begin with a
/// word for the family, as in "BertForSequenceClassification".
struct Architectures {
  std::string_view family;
  /// The suffixes of models that are compiled completely.
  std::vector<std::string_view> whole;
  /// The suffixes of models whose head is omitted with a note: pretraining heads, which users of
  /// the encoder do not need. Any other architecture of the family is rejected.
  std::vector<std::string_view> withoutHead;
};

/// The keys of config.json that a family does not read, with the values they may have.
struct ConfigKeys {
  /// For our own format, the page that lists its keys. Every unread key is then an error that
  /// suggests the nearest known key. Empty for other formats.
  std::string_view formatPage;
  Architectures architectures;
  /// Keys that do not affect inference.
  std::vector<std::string_view> neutral;
  std::vector<FixedKey> fixed;
};

/// Remarks on a configuration that is compiled anyway, one line each.
struct ConfigRemarks {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Rejects keys whose value requests something that the family does not compute, and heads that are
/// not compiled. Warns about keys that are neither read nor listed. Call it after the family has
/// read the configuration. `isSentenceEncoder`: the folder defines the modules after the model, so
/// its head does not matter.
Result<ConfigRemarks> checkConfigKeys(const Config &config, const ConfigKeys &keys,
                                      bool isSentenceEncoder);

/// Returns a string that must be one of `choices`; the message lists them, then other allowed
/// values, and suggests the nearest if one is similar.
Result<std::string> nearestOf(const Config &config, std::string_view key,
                              const std::vector<std::string> &choices,
                              std::string_view alternative = "");

/// Rejects every key that has not been read, as misspelt. For the project's own format, whose keys
/// are all known.
Status refuseUnreadKeys(const Config &config, std::string_view formatPage);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
