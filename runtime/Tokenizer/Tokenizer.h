// SPDX-License-Identifier: Apache-2.0
///
/// Converts text to ids and back with the tokenizer in a model's manifest. The ids equal those of
/// the Hugging Face tokenizer whose tokenizer.json was packed, including character classes
/// (Characters.h), those of the SentencePiece library, or those of a plain list of words.
#ifndef HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/AddedTokens.h"
#include "runtime/Tokenizer/Bpe.h"
#include "runtime/Tokenizer/Normalizer.h"
#include "runtime/Tokenizer/PreTokenizer.h"
#include "runtime/Tokenizer/SentencePieceText.h"
#include "runtime/Tokenizer/TokenDecoder.h"
#include "runtime/Tokenizer/Unigram.h"
#include "runtime/Tokenizer/WordPiece.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// A tokenizer. Immutable; may be used by several threads at once.
class Tokenizer {
public:
  /// Checks the table and refers to it. The table must have passed FlatBuffers' verifier and must
  /// outlive the object. DataLoss for a damaged table, Unsupported for kinds that this version does
  /// not know.
  static Result<Tokenizer> load(const manifest::Tokenizer *table);

  /// Returns the ids of a UTF-8 text, inside the template unless `addTemplate` is false, truncated
  /// to maxLength(), and to `most` unless that is 0. InvalidArgument if the text is not UTF-8 or if
  /// `most` leaves no room for the template.
  Result<std::vector<int32_t>> encode(std::string_view text, bool addTemplate = true,
                                      size_t most = 0) const;

  /// Returns the type (segment) ids for a result of encode() with `count` ids.
  std::vector<int32_t> typeIds(size_t count) const;

  /// Two texts as one sequence, with the type ids that distinguish them.
  struct Pair {
    std::vector<int32_t> ids;
    std::vector<int32_t> typeIds;
  };
  /// Returns whether there is a template for pairs.
  bool hasPairs() const { return !pairTemplate.empty(); }
  /// Returns the ids of a pair inside its template, truncated to maxLength() and to `most` unless
  /// that is 0: the longer text is shortened first. InvalidArgument as in encode(), and without a
  /// template.
  Result<Pair> encodePair(std::string_view first, std::string_view second, size_t most = 0) const;

  /// Returns the text of ids. Added tokens appear as in tokenizer.json; special tokens can be
  /// omitted. OutOfRange for an id without a token.
  Result<std::string> decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  /// Returns the bytes that each of the first `count` ids adds to a text, which may be incomplete
  /// characters; nullopt for special tokens and ids without a token. Spaces at the beginning of a
  /// text are included, even if decode() omits them. Unsupported if a text is not the concatenation
  /// of its tokens' texts.
  Result<std::vector<std::optional<std::string>>> tokenBytes(size_t count) const;

  /// Returns the tokens of ids, as spelt in the vocabulary. OutOfRange for an id without a token.
  Result<std::vector<std::string>> tokens(std::span<const int32_t> ids) const;

  /// Returns the maximum number of ids that encode() returns; 0: unlimited.
  size_t maxLength() const { return lengthLimit; }
  /// Returns the token of an id; nullopt if there is none.
  std::optional<std::string_view> token(int32_t id) const;
  /// Returns the id of a token as spelt in the vocabulary; nullopt if there is none.
  std::optional<int32_t> idOf(std::string_view token) const;

private:
  friend class TextStream;
  /// The text of an added token, by its id.
  struct AddedText {
    int32_t id;
    std::string_view text;
    bool special;
  };
  /// A token of the template.
  struct TemplateToken {
    int32_t id;
    int32_t typeId;
  };
  struct Scratch;
  using Model = std::variant<WordPiece, Bpe, Unigram, SentencePieceText, WordList>;

  Status loadModel(const manifest::Tokenizer &table);
  Status loadAddedTokens(const manifest::Tokenizer &table);
  Status loadTemplate(const manifest::Tokenizer &table);
  Status loadPairTemplate(const manifest::Tokenizer &table);
  Result<size_t> roomFor(size_t own, size_t most) const;
  Status appendContent(std::string_view text, size_t limit, Scratch &scratch,
                       std::vector<int32_t> &ids) const;
  const AddedText *findAdded(int32_t id) const;
  size_t vocabularySize() const;
  Result<std::string_view> knownToken(int32_t id) const;
  Status appendText(std::string_view text, bool first, size_t limit, Scratch &scratch,
                    std::vector<int32_t> &ids) const;
  void appendWords(std::string_view text, bool first, size_t limit, Scratch &scratch,
                   std::vector<int32_t> &ids) const;
  Result<std::string> decodePieces(std::span<const int32_t> ids,
                                   const SentencePieceText &pieces) const;

  Normalizer normalizer;
  PreTokenizer preTokenizer;
  Model model;
  TokenDecoder decoder;
  // Searched for in the original text, and in the normalised text.
  AddedTokenFinder givenTokens;
  AddedTokenFinder normalizedTokens;
  // Sorted by id.
  std::vector<AddedText> addedTexts;
  std::vector<TemplateToken> before;
  std::vector<TemplateToken> after;
  int32_t textTypeId = 0;
  // Empty if there is no template for pairs.
  std::vector<manifest::TemplatePiece> pairTemplate;
  size_t lengthLimit = 0;
  bool truncatesLeft = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H
