// SPDX-License-Identifier: Apache-2.0
///
/// The keys of config.json that a family does not read, and the values they may have. An unknown
/// key might ask for mathematics that is not compiled, so none is ignored in silence.
#ifndef HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
#define HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H

#include "heddle/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Config;

/// A key that changes the mathematics unless it has one of certain values. One that all families
/// have is for those that do not read it.
struct FixedKey {
  std::string_view key;
  /// The values that agree with what the family computes, as compact JSON. Null and a missing key
  /// always agree.
  std::vector<std::string_view> values;
};

/// Class names of Hugging Face Transformers, which tell what head a model has. They begin with a
/// word for the family, as in "BertForSequenceClassification".
struct Architectures {
  std::string_view family;
  /// The rest of the name, for models that are compiled completely.
  std::vector<std::string_view> whole;
  /// The rest of the name, for models whose head is left out with a note: pretraining heads, which
  /// users of the encoder do not need. Any other architecture of the family is refused.
  std::vector<std::string_view> withoutHead;
};

/// The keys of config.json that a family does not read, with the values they may have.
struct ConfigKeys {
  /// For our own format, the page that lists its keys. Every unread key is then refused, with the
  /// nearest known key in the message. Empty for other formats.
  std::string_view formatPage;
  Architectures architectures;
  /// Keys that do not change what an inference computes.
  std::vector<std::string_view> neutral;
  std::vector<FixedKey> fixed;
};

/// Remarks on a configuration that is compiled all the same, one line each.
struct ConfigRemarks {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Refuses keys whose value asks for something the family does not compute, and heads that are not
/// compiled. Warns of keys that are neither read nor listed. Call it after the family has read the
/// configuration. `isSentenceEncoder`: the folder says what follows the model, so its head does not
/// matter.
Result<ConfigRemarks> checkConfigKeys(const Config &config, const ConfigKeys &keys,
                                      bool isSentenceEncoder);

/// A string that is one of `choices`; the message lists them, then what else is allowed, and names
/// the nearest if one is near.
Result<std::string> nearestOf(const Config &config, std::string_view key,
                              const std::vector<std::string> &choices,
                              std::string_view alternative = "");

/// Refuses every key that has not been read, as misspelt. For the project's own format, whose keys
/// are all known.
Status refuseUnreadKeys(const Config &config, std::string_view formatPage);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
