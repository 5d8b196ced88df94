// SPDX-License-Identifier: Apache-2.0
///
/// The languages of requests: maps their names to tokens and inserts these where the model expects
/// them.
#ifndef HEDDLE_RUNTIME_GENERATE_LANGUAGES_H
#define HEDDLE_RUNTIME_GENERATE_LANGUAGES_H

#include "heddle/Session.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

/// The languages of a model; nullopt if it has none.
using ModelLanguages = std::optional<LanguagesInfo>;

/// Returns the token of a language by name; InvalidArgument suggests similar names. `what` is
/// "source language" or "target language".
Result<int32_t> languageToken(const ModelLanguages &languages, std::string_view what,
                              std::string_view name);

/// Returns whether a token stands for a language.
bool isLanguage(const ModelLanguages &languages, int32_t token);

/// Replaces the language token of a source by that of the named language. Does nothing if `name` is
/// empty; InvalidArgument if the source has no language token.
Status setSourceLanguage(const ModelLanguages &languages, std::string_view name,
                         std::vector<int32_t> &source);

/// Returns the token of a target's language, by name or by the model's default; -1 without either.
Result<int32_t> targetLanguage(const ModelLanguages &languages, std::string_view name);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_LANGUAGES_H
