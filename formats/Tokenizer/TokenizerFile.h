// SPDX-License-Identifier: Apache-2.0
///
/// The tokenizers of a model's folder, of whatever kind they are: one, or a source's and a
/// target's.
#ifndef HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H
#define HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H

#include "formats/Tokenizer/SentencePieceImport.h"
#include "formats/Tokenizer/TokenizerParts.h"
#include "formats/Tokenizer/WordListImport.h"
#include "heddle/Status.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A tokenizer read from its files. Cheap to copy.
class TokenizerFile {
public:
  /// A file alone: a SentencePiece model for names in .spm or .model, else a tokenizer.json.
  static Result<TokenizerFile> open(const std::string &path);
  /// A SentencePiece model and what lies beside it.
  static Result<TokenizerFile> openSentencePiece(const std::string &path,
                                                 SentencePieceSettings settings);
  /// A list of tokens; `path` stands for it in messages.
  static TokenizerFile fromWords(std::vector<std::string> tokens, WordListSettings settings,
                                 std::string path);

  /// Writes the tokenizer into a manifest, the same bytes each time.
  Result<flatbuffers::Offset<manifest::Tokenizer>> pack(flatbuffers::FlatBufferBuilder &builder,
                                                        const LengthLimits &limits = {}) const {
    return write(builder, limits);
  }
  /// The tokenizer as a FlatBuffer of its own.
  Result<std::vector<uint8_t>> packAlone(const LengthLimits &limits = {}) const;

  /// A tokenizer as a tokenizer.json has it; `path` stands for the file in messages.
  static TokenizerFile fromJson(nlohmann::json json, std::string path);

  /// The file it was read from.
  const std::string &path() const { return name; }
  /// Whether it is known to put texts in lower case.
  bool lowersCase() const { return lowers; }
  /// All files that were read.
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
  /// None: the folder has no tokenizer.
  std::optional<TokenizerFile> source;
  /// None: the same as the source's.
  std::optional<TokenizerFile> target;
};

/// Looks for tokenizer.json; else source.spm and target.spm with vocab.json (and
/// target_vocab.json); else spiece.model or sentencepiece.bpe.model; else vocab.txt, the word
/// pieces of BERT; else the lists of a CTranslate2 folder (shared_vocabulary, or source_vocabulary
/// and target_vocabulary).
Result<FolderTokenizers> findTokenizers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TOKENIZERFILE_H
