// SPDX-License-Identifier: Apache-2.0
///
/// Reads vocabularies.
#include "formats/CTranslate2/CTranslate2Vocabulary.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

std::optional<int64_t> CTranslate2Vocabulary::find(std::string_view token) const {
  const auto found = std::find(tokens.begin(), tokens.end(), token);
  return found == tokens.end() ? std::nullopt : std::optional<int64_t>(found - tokens.begin());
}

static Result<std::vector<std::string>> readJsonTokens(const std::string &path) {
  HEDDLE_ASSIGN(const nlohmann::json list, readJsonFile(path));
  if (!list.is_array()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: is {}, expected a list of tokens", path,
                                                     describeJson(list)));
  }
  std::vector<std::string> tokens;
  for (const nlohmann::json &token : list) {
    if (!token.is_string()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: token {} is {}, expected a string", path,
                                      tokens.size() + 1, describeJson(token)));
    }
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

Result<std::vector<std::string>> readTokenLines(const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  std::string_view text = file.text();
  if (const std::string problem = describeInvalidUtf8(text); !problem.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", path, problem));
  }
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    tokens.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  // A carriage return may belong to a token. If every line ends in one, it is part of the line end.
  const bool hasReturns = std::all_of(
      tokens.begin(), tokens.end(), [](const std::string &token) { return token.ends_with('\r'); });
  if (hasReturns) {
    for (std::string &token : tokens) {
      token.pop_back();
    }
  }
  return tokens;
}

/// Reads the vocabulary `name`, given without extension; nullopt if there is no such file.
static Result<std::optional<CTranslate2Vocabulary>>
readOne(const std::string &folder, const std::string &name, const std::string &unknownToken) {
  CTranslate2Vocabulary vocabulary;
  std::error_code ignored;
  for (const bool isJson : {true, false}) {
    vocabulary.path = (fs::path(folder) / (name + (isJson ? ".json" : ".txt"))).string();
    if (!fs::exists(vocabulary.path, ignored)) {
      continue;
    }
    HEDDLE_ASSIGN(vocabulary.tokens,
                  isJson ? readJsonTokens(vocabulary.path) : readTokenLines(vocabulary.path));
    if (!vocabulary.find(unknownToken)) {
      vocabulary.tokens.push_back(unknownToken);
    }
    return std::optional(std::move(vocabulary));
  }
  return std::optional<CTranslate2Vocabulary>();
}

Result<CTranslate2Vocabularies> readCTranslate2Vocabularies(const std::string &folder,
                                                            const std::string &unknownToken) {
  HEDDLE_ASSIGN(std::optional<CTranslate2Vocabulary> shared,
                readOne(folder, "shared_vocabulary", unknownToken));
  if (shared) {
    return CTranslate2Vocabularies{*shared, *shared};
  }
  HEDDLE_ASSIGN(std::optional<CTranslate2Vocabulary> target,
                readOne(folder, "target_vocabulary", unknownToken));
  if (!target) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: has neither shared_vocabulary nor "
                                              "target_vocabulary, expected one as .json or .txt",
                                              folder));
  }
  HEDDLE_ASSIGN(std::optional<CTranslate2Vocabulary> source,
                readOne(folder, "source_vocabulary", unknownToken));
  if (source) {
    return CTranslate2Vocabularies{*std::move(source), *std::move(target)};
  }
  HEDDLE_ASSIGN(const std::optional<CTranslate2Vocabulary> first,
                readOne(folder, "source_1_vocabulary", unknownToken));
  if (first) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: source features are not supported, expected a single source_vocabulary",
                    first->path));
  }
  return HEDDLE_ERROR(
      NotFound, fmt::format("{}: has no source_vocabulary, expected it as .json or .txt", folder));
}

} // namespace heddle
