// SPDX-License-Identifier: Apache-2.0
///
/// The languages of requests: names become tokens, and these go where the model has them.
#ifndef HEDDLE_RUNTIME_GENERATE_LANGUAGES_H
#define HEDDLE_RUNTIME_GENERATE_LANGUAGES_H

#include "heddle/Session.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

/// What a model says of languages; nothing if it has none.
using ModelLanguages = std::optional<LanguagesInfo>;

/// The token of the language that a request names; InvalidArgument names those that are near.
/// `what` is "source language" or "target language".
Result<int32_t> languageToken(const ModelLanguages &languages, std::string_view what,
                              std::string_view name);

/// Whether a token stands for a language.
bool isLanguage(const ModelLanguages &languages, int32_t token);

/// Puts the token of a language in the place of the one that a source has. Nothing happens without
/// a name; InvalidArgument if the source has none.
Status setSourceLanguage(const ModelLanguages &languages, std::string_view name,
                         std::vector<int32_t> &source);

/// The token of a target's language, by name or by the model's default; -1 without either.
Result<int32_t> targetLanguage(const ModelLanguages &languages, std::string_view name);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_LANGUAGES_H
