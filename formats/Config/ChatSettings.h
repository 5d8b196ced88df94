// SPDX-License-Identifier: Apache-2.0
///
/// The chat templates of a model's folder, and the special tokens that templates read as variables.
#ifndef HEDDLE_FORMATS_CONFIG_CHATSETTINGS_H
#define HEDDLE_FORMATS_CONFIG_CHATSETTINGS_H

#include "heddle/Status.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The template that is used if none is named.
inline constexpr std::string_view defaultChatTemplate = "default";

/// A text and its name.
struct NamedText {
  std::string name;
  std::string text;
};

struct ChatSettings {
  /// In the order of their names, except that the default one is first.
  std::vector<NamedText> templates;
  /// "bos_token" and the like, in the order of their names.
  std::vector<NamedText> tokens;
};

/// Reads chat_template.jinja and additional_chat_templates/NAME.jinja or, if there are none,
/// "chat_template" of tokenizer_config.json: a text, or a list of texts with names. Nullopt if the
/// folder has no template. Does not parse the templates.
Result<std::optional<ChatSettings>> readChatSettings(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_CHATSETTINGS_H
