// SPDX-License-Identifier: Apache-2.0
///
/// Text to ids and back, from the tokenizer in a model's manifest. The ids are those of the Hugging
/// Face tokenizer whose tokenizer.json was packed, character classes included (Characters.h).
#ifndef HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H

#include "heddle/Status.h"
#include "runtime/Tokenizer/AddedTokens.h"
#include "runtime/Tokenizer/BertNormalizer.h"
#include "runtime/Tokenizer/Tokenizer_generated.h"
#include "runtime/Tokenizer/WordPiece.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A tokenizer. Immutable; may be used by several threads at once.
class Tokenizer {
public:
  /// Checks the table and refers to it: it must be verified by FlatBuffers and outlive the object.
  /// DataLoss for a damaged table, Unsupported for kinds this version does not know.
  static Result<Tokenizer> load(const manifest::Tokenizer *table);

  /// The ids of a text in UTF-8, those of the template around them, cut to maxLength().
  /// InvalidArgument for text that is not UTF-8.
  Result<std::vector<int32_t>> encode(std::string_view text) const;

  /// The type (segment) ids of what encode() gave, which had `count` ids.
  std::vector<int32_t> typeIds(size_t count) const;

  /// The text of ids, added tokens as tokenizer.json writes them. OutOfRange for an id that is no
  /// token's.
  Result<std::string> decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  /// The most ids that encode() gives; 0: any number.
  size_t maxLength() const { return lengthLimit; }
  /// The text of an id, if it is one.
  std::optional<std::string_view> token(int32_t id) const;

private:
  /// An added token by its id.
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

  Status loadParts(const manifest::Tokenizer &table);
  Status loadAddedTokens(const manifest::Tokenizer &table);
  Status loadTemplate(const manifest::Tokenizer &table);
  const AddedText *findAdded(int32_t id) const;
  void appendText(std::string_view text, size_t limit, Scratch &scratch,
                  std::vector<int32_t> &ids) const;
  void appendWords(std::string_view text, size_t limit, Scratch &scratch,
                   std::vector<int32_t> &ids) const;

  std::optional<BertNormalizer> normalizer;
  bool splitsWords = false;
  WordPiece model;
  // Sought in the text as given, and in the normalised text.
  AddedTokenFinder givenTokens;
  AddedTokenFinder normalizedTokens;
  // Sorted by id.
  std::vector<AddedText> addedTexts;
  std::vector<TemplateToken> before;
  std::vector<TemplateToken> after;
  int32_t textTypeId = 0;
  size_t lengthLimit = 0;
  bool truncatesLeft = false;
  const manifest::WordPieceDecoder *decoder = nullptr;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TOKENIZER_H
