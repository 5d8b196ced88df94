// SPDX-License-Identifier: Apache-2.0
///
/// The keys of config.json that a family does not read, and what they may say. A key that nobody
/// accounts for may ask for other mathematics than what is compiled, so none is passed over in
/// silence.
#ifndef HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
#define HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H

#include "heddle/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Config;

/// A key that changes the mathematics unless it has one of some values.
struct FixedKey {
  std::string_view key;
  /// JSON values, compact, that stand for what the family computes. Null and a missing key always
  /// do.
  std::vector<std::string_view> values;
};

/// The class names of Hugging Face Transformers that say what stands on top of a model. They begin
/// with one word for the family, as in "BertForSequenceClassification".
struct Architectures {
  std::string_view family;
  /// What follows that word in models that are compiled whole.
  std::vector<std::string_view> whole;
  /// What follows it in models whose head is left out with a note: the heads of pretraining, which
  /// those who use the encoder leave out too. Any other architecture of the family is refused.
  std::vector<std::string_view> withoutHead;
};

/// What a family says about the keys of config.json besides reading some.
struct ConfigKeys {
  /// The page that lists the keys of a format of our own, where every key that is not read is
  /// refused with the nearest known one. Empty for other formats.
  std::string_view formatPage;
  Architectures architectures;
  /// Keys that do not change what an inference computes.
  std::vector<std::string_view> neutral;
  std::vector<FixedKey> fixed;
};

/// What a user should know of a configuration that is compiled all the same, a line each.
struct ConfigRemarks {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Refuses keys whose value asks for what the family does not compute, and heads that are not
/// compiled; warns of keys that are neither read nor listed. Call it after the family has read the
/// configuration. `isSentenceEncoder`: the folder itself says what follows the model, so its head
/// does not matter.
Result<ConfigRemarks> checkConfigKeys(const Config &config, const ConfigKeys &keys,
                                      bool isSentenceEncoder);

/// Refuses, as a misspelt one, every key that has not been read. For configurations of the
/// project's own format, whose keys are all known.
Status refuseUnreadKeys(const Config &config, std::string_view formatPage);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_CONFIGKEYS_H
