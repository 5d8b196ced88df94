// SPDX-License-Identifier: Apache-2.0
///
/// Translates the word pieces of a "bert" file. llama.cpp marks pieces the other way round: those
/// that begin a word are preceded by U+2581, and those within a word have lost their "##". Special
/// tokens (type "control"; in older files, all in brackets) are unchanged.
#include "formats/Gguf/GgufModel.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/WordPieces.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {

static constexpr std::string_view tokensKey = "tokenizer.ggml.tokens";
static constexpr std::string_view typesKey = "tokenizer.ggml.token_type";
static constexpr std::string_view lowerKey = "tokenizer.ggml.normalizer.lowercase";
static constexpr std::string_view accentsKey = "tokenizer.ggml.normalizer.strip_accents";
/// U+2581, which precedes pieces that begin a word.
static constexpr std::string_view wordMark = "\xE2\x96\x81";
/// The token type "control".
static constexpr int64_t controlType = 3;

static bool isBracketed(std::string_view token) {
  return token.size() > 2 && token.starts_with('[') && token.ends_with(']');
}

/// Returns a token as in vocab.txt; `type` is -1 if the file has no types.
static std::string pieceOf(std::string_view token, int64_t type) {
  if (token.starts_with(wordMark)) {
    return std::string(token.substr(wordMark.size()));
  }
  if (type == controlType || isBracketed(token)) {
    return std::string(token);
  }
  return fmt::format("##{}", token);
}

/// Reads the types of all tokens; all -1 if the file has none.
static Result<std::vector<int64_t>> readTypes(const GgufFile &file, size_t tokens) {
  if (!file.metadata().contains(typesKey)) {
    return std::vector<int64_t>(tokens, -1);
  }
  HEDDLE_ASSIGN(std::vector<int64_t> types, file.integers(typesKey));
  if (types.size() != tokens) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} has {} types, expected {}, one for each of {}",
                                    file.path(), quote(typesKey), types.size(), tokens,
                                    quote(tokensKey)));
  }
  return types;
}

/// Returns the token that a key names, otherwise the usual one; nullopt if the list has neither and
/// it is optional.
static Result<std::optional<std::string>> readSpecial(const Config &keys, std::string_view key,
                                                      std::string_view usual, bool isOptional,
                                                      const std::vector<std::string> &pieces) {
  if (keys.has(key)) {
    HEDDLE_ASSIGN(const int64_t id, keys.integer(key, 0, static_cast<int64_t>(pieces.size()) - 1));
    return std::optional(pieces[static_cast<size_t>(id)]);
  }
  if (std::find(pieces.begin(), pieces.end(), usual) != pieces.end()) {
    return std::optional(std::string(usual));
  }
  if (isOptional) {
    return std::optional<std::string>();
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}: has neither {} nor the token {}, expected one of them",
                                  keys.where(), quote(key), quote(usual)));
}

/// Returns whether a piece of a word has an ASCII capital letter.
static bool hasCapitals(const std::vector<std::string> &pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const std::string &piece) {
    return !isBracketed(piece) && std::any_of(piece.begin(), piece.end(), [](char character) {
      return character >= 'A' && character <= 'Z';
    });
  });
}

static Status readNormalizer(const Config &keys, WordPieces &words,
                             std::vector<std::string> &notes) {
  if (keys.has(lowerKey)) {
    HEDDLE_ASSIGN(words.lowerCase, keys.boolean(lowerKey));
  } else {
    // Older files lack the key. A list with capitals would not match lower-case texts.
    words.lowerCase = !hasCapitals(words.pieces);
    notes.push_back(fmt::format("\"{}\" is missing: texts {}, as the words of the file have {}",
                                lowerKey,
                                words.lowerCase ? "are put in lower case" : "keep their case",
                                words.lowerCase ? "no capitals" : "capitals"));
  }
  if (keys.has(accentsKey)) {
    HEDDLE_ASSIGN(words.stripAccents, keys.boolean(accentsKey));
  }
  return {};
}

Result<TokenizerFile> readGgufTokenizer(const GgufFile &file, const Config &keys,
                                        std::vector<std::string> &notes) {
  HEDDLE_ASSIGN(const std::string model, keys.string("tokenizer.ggml.model"));
  if (model != "bert") {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"tokenizer.ggml.model\" is {}, expected \"bert\" (word "
                                    "pieces), or the model's folder in Hugging Face's format",
                                    file.path(), quote(model)));
  }
  HEDDLE_ASSIGN(const auto tokens, file.strings(tokensKey));
  HEDDLE_ASSIGN(const std::vector<int64_t> types, readTypes(file, tokens.size()));
  WordPieces words;
  for (size_t i = 0; i < tokens.size(); ++i) {
    words.pieces.push_back(pieceOf(tokens[i], types[i]));
  }
  const auto special = [&](std::string_view name, std::string_view usual, bool isOptional) {
    return readSpecial(keys, fmt::format("tokenizer.ggml.{}_token_id", name), usual, isOptional,
                       words.pieces);
  };
  HEDDLE_ASSIGN(const auto padding, special("padding", "[PAD]", true));
  HEDDLE_ASSIGN(const auto mask, special("mask", "[MASK]", true));
  HEDDLE_ASSIGN(const auto unknown, special("unknown", "[UNK]", false));
  HEDDLE_ASSIGN(const auto begin, special("cls", "[CLS]", false));
  // The format's spelling.
  HEDDLE_ASSIGN(const auto end, special("seperator", "[SEP]", false));
  for (const auto &token : {padding, mask}) {
    if (token) {
      words.special.push_back(*token);
    }
  }
  words.unknown = *unknown;
  words.begin = *begin;
  words.end = *end;
  HEDDLE_TRY(readNormalizer(keys, words, notes));
  return TokenizerFile::fromJson(wordPieceTokenizer(words), file.path());
}

} // namespace heddle
