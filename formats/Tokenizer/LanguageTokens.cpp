// SPDX-License-Identifier: Apache-2.0
///
/// Classes of tokenizers with languages: M2M-100's, NLLB's, and mBART's with 25 and 50 languages.
#include "formats/Tokenizer/LanguageTokens.h"

#include "base/NearestName.h"
#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace heddle {

namespace fs = std::filesystem;

struct LanguageScheme::Kind {
  /// The class name without "Fast".
  std::string_view name;
  /// The text around the name of the language in a token.
  std::string_view frame;
  bool endsSource;
  bool startsTarget;
  /// The default source if the configuration names none.
  std::string_view source;
};

static constexpr std::string_view fileName = "tokenizer_config.json";

/// Reads the text of a token, which is a string or an object that contains it.
static Result<std::string> readToken(const Config &config, std::string_view key,
                                     std::string_view absent) {
  if (config.isObject(key)) {
    HEDDLE_ASSIGN(const Config object, config.object(key));
    return object.string("content");
  }
  return config.stringOr(key, absent);
}

Result<std::optional<LanguageScheme>> LanguageScheme::read(const std::string &folder) {
  static constexpr Kind kinds[] = {{"M2M100Tokenizer", "__", false, false, "en"},
                                   {"MBart50Tokenizer", "", false, false, "en_XX"},
                                   {"MBartTokenizer", "", true, true, "en_XX"},
                                   {"NllbTokenizer", "", false, false, "eng_Latn"}};
  const std::string path = (fs::path(folder) / fileName).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return std::optional<LanguageScheme>();
  }
  HEDDLE_ASSIGN(const Config config, Config::open(path));
  const Result<std::string> read = config.stringOr("tokenizer_class", "");
  std::string name = read.ok() ? *read : "";
  name = name.ends_with("Fast") ? name.substr(0, name.size() - 4) : name;
  const auto *const kind = std::find_if(std::begin(kinds), std::end(kinds),
                                        [&](const Kind &each) { return each.name == name; });
  if (kind == std::end(kinds)) {
    return std::optional<LanguageScheme>();
  }
  LanguageScheme scheme(*kind, name, config, folder);
  HEDDLE_ASSIGN(scheme.endToken, readToken(config, "eos_token", "</s>"));
  // NLLB's first tokenizers wrote the language after the text.
  HEDDLE_ASSIGN(const bool isLegacy, config.booleanOr("legacy_behaviour", false));
  scheme.endsSource = kind->endsSource || (kind->name == "NllbTokenizer" && isLegacy);
  return std::optional(std::move(scheme));
}

bool LanguageScheme::hasVocabulary() const { return !kind->frame.empty(); }

std::string LanguageScheme::tokenOf(const std::string &language) const {
  return fmt::format("{}{}{}", kind->frame, language, kind->frame);
}

/// Returns whether a name is that of a language: "deu_Latn", "de_DE" and "de_XX"; "de" and "ceb" in
/// a frame.
static bool isLanguage(std::string_view name, bool isFramed) {
  const size_t line = name.find('_');
  const std::string_view language = name.substr(0, line);
  const std::string_view region =
      line == std::string_view::npos ? std::string_view() : name.substr(line + 1);
  const auto isLower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto isUpper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const bool isRegion =
      (region.size() == 2 || region.size() == 4) && isUpper(region.front()) &&
      std::all_of(region.begin() + 1, region.end(), region.size() == 2 ? +isUpper : +isLower);
  return language.size() >= 2 && language.size() <= 3 &&
         std::all_of(language.begin(), language.end(), isLower) &&
         (isRegion || (isFramed && line == std::string_view::npos));
}

std::optional<std::string> LanguageScheme::nameOf(std::string_view token) const {
  const std::string_view frame = kind->frame;
  if (token.size() <= 2 * frame.size() || !token.starts_with(frame) || !token.ends_with(frame)) {
    return std::nullopt;
  }
  const std::string_view name = token.substr(frame.size(), token.size() - 2 * frame.size());
  return isLanguage(name, !frame.empty()) ? std::optional<std::string>(name) : std::nullopt;
}

/// Reads the default languages of texts.
Result<Languages> LanguageScheme::finish(std::map<std::string, int32_t> tokens) const {
  Languages languages;
  languages.tokens = std::move(tokens);
  languages.endsSource = endsSource;
  languages.startsTarget = kind->startsTarget;
  if (languages.tokens.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"tokenizer_class\" is {}, but no special token is that "
                                    "of a language, expected some such as {}",
                                    config.where(), quote(className),
                                    quote(tokenOf(std::string(kind->source)))));
  }
  HEDDLE_ASSIGN(languages.source, config.stringOr("src_lang", kind->source));
  HEDDLE_ASSIGN(languages.target, config.stringOr("tgt_lang", ""));
  std::vector<std::string> names;
  for (const auto &[name, token] : languages.tokens) {
    names.push_back(name);
  }
  for (const auto &[key, name] :
       {std::pair("src_lang", languages.source), std::pair("tgt_lang", languages.target)}) {
    if (!languages.tokens.contains(name) &&
        !(name.empty() && std::string_view(key) == "tgt_lang")) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} is {}, expected one of the {} languages of the "
                                      "tokenizer{}",
                                      config.where(), quote(key), config.describe(key),
                                      names.size(), didYouMean(name, names)));
    }
  }
  return languages;
}

Result<Languages> LanguageScheme::apply(nlohmann::json &tokenizer, const std::string &where) const {
  std::map<std::string, int32_t> tokens;
  std::optional<int64_t> end;
  const auto list = tokenizer.find("added_tokens");
  // Malformed tokens are rejected with the tokenizer.
  for (const nlohmann::json &item : list == tokenizer.end() ? nlohmann::json::array() : *list) {
    HEDDLE_ASSIGN(const Config token,
                  Config::fromJson(item, fmt::format("{}: \"added_tokens\"", where)));
    HEDDLE_ASSIGN(const std::string text, token.string("content"));
    HEDDLE_ASSIGN(const int64_t id, token.integer("id", 0, largestTokenId));
    HEDDLE_ASSIGN(const bool isSpecial, token.boolean("special"));
    if (const std::optional<std::string> name = nameOf(text); name && isSpecial) {
      tokens.emplace(*name, static_cast<int32_t>(id));
    }
    end = text == endToken ? id : end;
  }
  if (!end) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"added_tokens\" lacks {}, the \"eos_token\" of {}", where,
                                    quote(endToken), config.where()));
  }
  HEDDLE_ASSIGN(Languages languages, finish(std::move(tokens)));
  const std::string language = tokenOf(languages.source);
  const auto special = [](const std::string &text) {
    return nlohmann::json{{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
  };
  nlohmann::json specials = nlohmann::json::object();
  const auto addSpecial = [&](const std::string &text, int64_t id) {
    specials[text] = {{"id", text},
                      {"ids", nlohmann::json::array({id})},
                      {"tokens", nlohmann::json::array({text})}};
  };
  addSpecial(endToken, *end);
  addSpecial(language, languages.tokens.at(languages.source));
  const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  nlohmann::json single = nlohmann::json::array({text, special(endToken)});
  single.insert(languages.endsSource ? single.end() : single.begin(), special(language));
  tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                 {"single", std::move(single)},
                                 {"pair", nlohmann::json::array()},
                                 {"special_tokens", std::move(specials)}};
  return languages;
}

/// Reads the special tokens that a folder adds to its vocabulary, in order.
Result<std::vector<std::string>> LanguageScheme::listedTokens() const {
  std::vector<Config> files = {config};
  const std::string map = (fs::path(folder) / "special_tokens_map.json").string();
  std::error_code ignored;
  if (fs::exists(map, ignored)) {
    HEDDLE_ASSIGN(Config other, Config::open(map));
    files.push_back(std::move(other));
  }
  std::vector<std::string> tokens;
  for (const Config &file : files) {
    for (const char *const key : {"additional_special_tokens", "extra_special_tokens"}) {
      if (!tokens.empty() || !file.has(key) || file.isObject(key)) {
        continue;
      }
      HEDDLE_ASSIGN(const std::vector<Config> items, file.each(key));
      for (const Config &item : items) {
        HEDDLE_ASSIGN(std::string token, readToken(item, key, ""));
        tokens.push_back(std::move(token));
      }
    }
  }
  return tokens;
}

Result<Languages> LanguageScheme::apply(size_t size, std::vector<ImportedToken> &added) const {
  HEDDLE_ASSIGN(const std::vector<std::string> listed, listedTokens());
  std::map<std::string, int32_t> tokens;
  for (const std::string &text : listed) {
    const std::optional<std::string> name = nameOf(text);
    if (!name || tokens.contains(*name)) {
      continue;
    }
    ImportedToken token{};
    token.content = text;
    token.id = static_cast<uint32_t>(size + tokens.size());
    token.special = true;
    tokens.emplace(*name, static_cast<int32_t>(token.id));
    added.push_back(std::move(token));
  }
  return finish(std::move(tokens));
}

} // namespace heddle
