// SPDX-License-Identifier: Apache-2.0
///
/// Reads templates from the places where transformers saves them: separate files or, in older
/// folders, tokenizer_config.json.
#include "formats/Config/ChatSettings.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "formats/Config/Config.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

static bool isFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

static Result<std::string> readText(const fs::path &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path.string()));
  return std::string(file.text());
}

/// Reads the templates in files.
static Result<std::vector<NamedText>> readTemplateFiles(const fs::path &folder) {
  std::vector<NamedText> templates;
  if (const fs::path path = folder / "chat_template.jinja"; isFile(path)) {
    HEDDLE_ASSIGN(std::string text, readText(path));
    templates.push_back({std::string(defaultChatTemplate), std::move(text)});
  }
  std::error_code error;
  std::set<fs::path> paths;
  for (fs::directory_iterator entry(folder / "additional_chat_templates", error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".jinja" && isFile(entry->path())) {
      paths.insert(entry->path());
    }
  }
  for (const fs::path &path : paths) {
    HEDDLE_ASSIGN(std::string text, readText(path));
    templates.push_back({path.stem().string(), std::move(text)});
  }
  return templates;
}

/// Reads the templates of tokenizer_config.json.
static Result<std::vector<NamedText>> readTemplateKey(const Config &config) {
  constexpr std::string_view key = "chat_template";
  std::vector<NamedText> templates;
  if (!config.has(key)) {
    return templates;
  }
  HEDDLE_ASSIGN(const std::vector<Config> given, config.each(key));
  if (!config.json(key).starts_with('[')) {
    HEDDLE_ASSIGN(std::string text, config.string(key));
    templates.push_back({std::string(defaultChatTemplate), std::move(text)});
    return templates;
  }
  for (const Config &each : given) {
    HEDDLE_ASSIGN(const Config item, each.object(key));
    HEDDLE_ASSIGN(std::string name, item.string("name"));
    HEDDLE_ASSIGN(std::string text, item.string("template"));
    const bool isRepeated = std::any_of(templates.begin(), templates.end(),
                                        [&](const NamedText &other) { return other.name == name; });
    if (isRepeated) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: two templates are called {}",
                                                       item.where(), quote(name)));
    }
    templates.push_back({std::move(name), std::move(text)});
  }
  return templates;
}

/// Adds the keys that end in "_token" and were not added yet: texts, or objects that contain one.
static Status addTokens(const Config &config, std::vector<NamedText> &tokens) {
  for (const std::string &key : config.keys()) {
    const bool isKnown = std::any_of(tokens.begin(), tokens.end(),
                                     [&](const NamedText &token) { return token.name == key; });
    if (!key.ends_with("_token") || isKnown || !config.has(key)) {
      continue;
    }
    const std::string value = config.json(key);
    if (value.starts_with('"')) {
      HEDDLE_ASSIGN(std::string text, config.string(key));
      tokens.push_back({key, std::move(text)});
    } else if (config.isObject(key)) {
      HEDDLE_ASSIGN(const Config token, config.object(key));
      HEDDLE_ASSIGN(std::string text, token.string("content"));
      tokens.push_back({key, std::move(text)});
    }
    // Other keys, such as "add_bos_token", are settings.
  }
  return {};
}

Result<std::optional<ChatSettings>> readChatSettings(const std::string &folder) {
  ChatSettings settings;
  HEDDLE_ASSIGN(settings.templates, readTemplateFiles(folder));
  for (const char *name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const fs::path path = fs::path(folder) / name;
    if (!isFile(path)) {
      continue;
    }
    HEDDLE_ASSIGN(const Config config, Config::open(path.string()));
    if (settings.templates.empty() && config.has("chat_template")) {
      HEDDLE_ASSIGN(settings.templates, readTemplateKey(config));
    }
    HEDDLE_TRY(addTokens(config, settings.tokens));
  }
  if (settings.templates.empty()) {
    return std::optional<ChatSettings>();
  }
  const auto byName = [](const NamedText &left, const NamedText &right) {
    const bool isDefault = left.name == defaultChatTemplate;
    const bool isOtherDefault = right.name == defaultChatTemplate;
    return isDefault != isOtherDefault ? isDefault : left.name < right.name;
  };
  std::sort(settings.templates.begin(), settings.templates.end(), byName);
  std::sort(settings.tokens.begin(), settings.tokens.end(), byName);
  return std::optional(std::move(settings));
}

} // namespace heddle
