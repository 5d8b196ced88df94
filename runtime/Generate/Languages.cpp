// SPDX-License-Identifier: Apache-2.0
///
/// Looks languages up in the model's list, which is in ascending order.
#include "runtime/Generate/Languages.h"

#include "base/NearestName.h"
#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

/// The number of names in a message.
static constexpr size_t namesShown = 5;

Result<int32_t> languageToken(const ModelLanguages &languages, std::string_view what,
                              std::string_view name) {
  if (!languages) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is {}, expected none: the model has no tokens of languages",
                                    what, quote(name)));
  }
  const auto found = std::lower_bound(languages->names.begin(), languages->names.end(), name);
  if (found != languages->names.end() && *found == name) {
    return languages->tokens[static_cast<size_t>(found - languages->names.begin())];
  }
  const size_t count = languages->names.size();
  return HEDDLE_ERROR(
      InvalidArgument,
      fmt::format("{} is {}, expected one of the model's {}{}: {}", what, quote(name), count,
                  count > namesShown ? ", such as these" : "",
                  fmt::join(nearestNames(name, languages->names, namesShown), ", ")));
}

bool isLanguage(const ModelLanguages &languages, int32_t token) {
  return languages && std::find(languages->tokens.begin(), languages->tokens.end(), token) !=
                          languages->tokens.end();
}

Status setSourceLanguage(const ModelLanguages &languages, std::string_view name,
                         std::vector<int32_t> &source) {
  if (name.empty()) {
    return {};
  }
  HEDDLE_ASSIGN(const int32_t token, languageToken(languages, "source language", name));
  const char *const place = languages->endsSource ? "ends with" : "begins with";
  if (source.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "source has no tokens, expected that of a language");
  }
  int32_t &given = languages->endsSource ? source.back() : source.front();
  if (!isLanguage(languages, given)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("source {} token {}, expected the token of a language, which "
                                    "{} takes the place of",
                                    place, given, quote(name)));
  }
  given = token;
  return {};
}

Result<int32_t> targetLanguage(const ModelLanguages &languages, std::string_view name) {
  const std::string_view chosen =
      name.empty() && languages ? std::string_view(languages->target) : name;
  return chosen.empty() ? Result<int32_t>(-1) : languageToken(languages, "target language", chosen);
}

} // namespace heddle
