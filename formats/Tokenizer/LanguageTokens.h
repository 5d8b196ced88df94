// SPDX-License-Identifier: Apache-2.0
///
/// Tokens that say which language a text is in, of models that translate between many: which there
/// are, and where the tokenizer puts them. The class that tokenizer_config.json names decides, as
/// in Hugging Face Transformers, whatever template the folder was saved with.
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
  /// Their tokens by their names, for example "deu_Latn".
  std::map<std::string, int32_t> tokens;
  /// Whether the token of a source's language is its last, not its first.
  bool endsSource = false;
  /// Whether the token of a target's language is what targets start with, not the forced first
  /// token of an answer.
  bool startsTarget = false;
  /// The languages of texts of which nothing is said; no target: empty.
  std::string source;
  std::string target;
};

/// How a class of tokenizers names languages and where it puts their tokens.
class LanguageScheme {
public:
  /// The scheme of a folder's tokenizer_config.json; nothing if its class has no languages.
  static Result<std::optional<LanguageScheme>> read(const std::string &folder);

  /// Whether ids come from vocab.json beside a SentencePiece model.
  bool hasVocabulary() const;
  /// The class, for messages.
  const std::string &tokenizerClass() const { return className; }

  /// The languages among the special tokens of a tokenizer.json, whose template becomes that of the
  /// default source.
  Result<Languages> apply(nlohmann::json &tokenizer, const std::string &where) const;
  /// The languages of a folder that lists their tokens beside a vocabulary of `size` ids, which
  /// they follow in that order; their tokens are added to `added`.
  Result<Languages> apply(size_t size, std::vector<ImportedToken> &added) const;
  /// The token of a language.
  std::string tokenOf(const std::string &language) const;
  /// The token that ends a text.
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
