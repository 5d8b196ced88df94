// SPDX-License-Identifier: Apache-2.0
///
/// Language tokens of models that translate between many languages: the existing languages, and the
/// positions of their tokens. As in Hugging Face Transformers, these depend on the class that
/// tokenizer_config.json names, whatever template the folder was saved with.
#ifndef HEDDLE_FORMATS_TOKENIZER_LANGUAGETOKENS_H
#define HEDDLE_FORMATS_TOKENIZER_LANGUAGETOKENS_H

#include "formats/Config/Config.h"
#include "formats/Tokenizer/TokenizerImport.h"
#include "heddle/Status.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The languages of a model.
struct Languages {
  /// The tokens by the names of the languages, for example "deu_Latn".
  std::map<std::string, int32_t> tokens;
  /// Whether the language token of a source is its last token, not its first.
  bool endsSource = false;
  /// Whether the language token of a target is its start token, not the forced first token of an
  /// answer.
  bool startsTarget = false;
  /// The default languages of sources and targets; an empty target means none.
  std::string source;
  std::string target;
};

/// How a class of tokenizers names languages and where it puts their tokens.
class LanguageScheme {
public:
  /// Returns the scheme of a folder's tokenizer_config.json; nullopt if its class has no languages.
  static Result<std::optional<LanguageScheme>> read(const std::string &folder);

  /// Returns whether ids come from vocab.json next to a SentencePiece model.
  bool hasVocabulary() const;
  /// Returns the class, for messages.
  const std::string &tokenizerClass() const { return className; }

  /// Returns the languages among the special tokens of a tokenizer.json, and sets its template to
  /// that of the default source.
  Result<Languages> apply(nlohmann::json &tokenizer, const std::string &where) const;
  /// Returns the languages of a folder that lists their tokens in addition to a vocabulary of
  /// `size` ids, whose ids they follow in that order; adds their tokens to `added`.
  Result<Languages> apply(size_t size, std::vector<ImportedToken> &added) const;
  /// Returns the token of a language.
  std::string tokenOf(const std::string &language) const;
  /// Returns the token that ends a text.
  const std::string &end() const { return endToken; }

private:
  struct Kind;
  LanguageScheme(const Kind &kind, std::string className, Config config, std::string folder)
      : kind(&kind), className(std::move(className)), config(std::move(config)),
        folder(std::move(folder)) {}
  std::optional<std::string> nameOf(std::string_view token) const;
  Result<Languages> finish(std::map<std::string, int32_t> tokens) const;
  Result<std::vector<std::string>> listedTokens() const;

  const Kind *kind;
  std::string className;
  Config config;
  std::string folder;
  std::string endToken;
  bool endsSource = false;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_LANGUAGETOKENS_H
