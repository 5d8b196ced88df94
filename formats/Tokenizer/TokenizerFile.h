// SPDX-License-Identifier: Apache-2.0
///
/// Finds and packs the tokenizers of a model's folder, of any supported kind: one, or one for the
/// source and one for the target.
#ifndef HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H
#define HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H

#include "formats/Tokenizer/LanguageTokens.h"
#include "formats/Tokenizer/SentencePieceImport.h"
#include "formats/Tokenizer/TokenizerParts.h"
#include "heddle/Status.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The settings of a tokenizer from a plain list of tokens, whose texts are tokens separated by
/// spaces.
struct WordListSettings {
  /// The token for unknown words; appended to the list if it is missing.
  std::string unknown = "<unk>";
  /// Tokens before and after those of a text.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  /// Tokens that are omitted when ids become text. The list need not contain them.
  std::vector<std::string> special = {"<s>", "</s>", "<blank>", "<pad>"};
};

/// A tokenizer read from its files. Cheap to copy.
class TokenizerFile {
public:
  /// Opens a single file: a SentencePiece model if the name ends in .spm or .model, otherwise a
  /// tokenizer.json.
  static Result<TokenizerFile> open(const std::string &path);
  /// Opens a SentencePiece model with settings from the files next to it.
  static Result<TokenizerFile> openSentencePiece(const std::string &path,
                                                 SentencePieceSettings settings);
  /// Makes a tokenizer from a list of tokens; `path` is its name in messages.
  static TokenizerFile fromWords(std::vector<std::string> tokens, WordListSettings settings,
                                 const std::string &path);

  /// Writes the tokenizer into a manifest. The bytes are reproducible.
  Result<flatbuffers::Offset<manifest::Tokenizer>> pack(flatbuffers::FlatBufferBuilder &builder,
                                                        const LengthLimits &limits = {}) const {
    return write(builder, limits);
  }
  /// Returns the tokenizer as a separate FlatBuffer.
  Result<std::vector<uint8_t>> packAlone(const LengthLimits &limits = {}) const;

  /// Makes a tokenizer from the contents of a tokenizer.json; `path` is its name in messages.
  static TokenizerFile fromJson(nlohmann::json json, const std::string &path);

  /// Returns the file that it was read from.
  const std::string &path() const { return name; }
  /// Returns whether it is known to convert texts to lower case.
  bool lowersCase() const { return lowers; }
  /// Returns all files that were read.
  const std::vector<std::string> &files() const { return all; }

private:
  using Write = std::function<Result<flatbuffers::Offset<manifest::Tokenizer>>(
      flatbuffers::FlatBufferBuilder &, const LengthLimits &)>;
  TokenizerFile(std::string name, Write write)
      : name(std::move(name)), all{this->name}, write(std::move(write)) {}

  std::string name;
  std::vector<std::string> all;
  Write write;
  bool lowers = false;

  friend class TokenizerFolder;
};

/// The tokenizers of a folder.
struct FolderTokenizers {
  /// Nullopt if the folder has no tokenizer.
  std::optional<TokenizerFile> source;
  /// Nullopt if it is the same as the source's.
  std::optional<TokenizerFile> target;
  /// The languages that it has tokens for; nullopt if it has none.
  std::optional<Languages> languages = std::nullopt;
};

/// Finds tokenizer.json; else source.spm and target.spm with vocab.json (and target_vocab.json);
/// else spiece.model or sentencepiece.bpe.model (M2M-100's with vocab.json); else vocab.txt, the
/// word pieces of BERT; else the lists of a CTranslate2 folder (shared_vocabulary, or
/// source_vocabulary and target_vocabulary).
Result<FolderTokenizers> findTokenizers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H
