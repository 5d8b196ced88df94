// SPDX-License-Identifier: Apache-2.0
///
/// Packs the Hugging Face tokenizers library's tokenizer.json into the manifest's form. Every part
/// of the file that affects ids is either supported or rejected by name. The importers of its parts
/// have one source file each; parts may be absent, may be sequences of other parts, and become
/// members of a FlatBuffers union.
#ifndef HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Config/Config.h"
#include "formats/Tokenizer/VocabularyTable.h"
#include "heddle/Status.h"

#include <cstdint>
#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One item of "added_tokens". manifest::AddedToken has the flags under their names in the file.
struct ImportedToken {
  std::string content;
  uint32_t id;
  bool singleWord;
  bool leftStrip;
  bool rightStrip;
  bool normalized;
  bool special;
  bool decodeOnly = false;
};

/// Reads the list "added_tokens"; empty if it is absent or null.
Result<std::vector<ImportedToken>> readAddedTokens(const nlohmann::json &tokenizer,
                                                   const VocabularyTable &vocabulary,
                                                   std::string_view where);

/// A member of a FlatBuffers union, with its kind.
template <typename Kind> struct Member {
  Kind kind = Kind::NONE;
  flatbuffers::Offset<void> offset;
};

/// Returns an optional part of the file; nullopt if it is absent or null.
Result<std::optional<Config>> optionalPart(const nlohmann::json &tokenizer, std::string_view key,
                                           std::string_view where);

/// One elementary part of a sequence.
struct PartOfSequence {
  const nlohmann::json *value;
  // The beginning of its messages.
  std::string where;
};

/// Returns the elementary parts of "normalizer", "pre_tokenizer" or "decoder" in order, with nested
/// sequences flattened; empty if it is absent. `list` is the key of a sequence's parts.
Result<std::vector<PartOfSequence>> flattenParts(const nlohmann::json &tokenizer,
                                                 std::string_view key, const char *list,
                                                 std::string_view where);

/// A text to search for: "pattern" of a Replace.
struct TextPattern {
  std::string text;
  /// The minimum length of a run that matches; 0: single occurrences.
  uint32_t least = 0;
};

/// Reads {"String": text} or a simple {"Regex": text}: plain characters, or one of them with `+` or
/// `{n,}`. Others are rejected, naming the expression.
Result<TextPattern> readPattern(const Config &part);

/// Reads a non-empty string.
Result<std::string> nonEmptyString(const Config &part, std::string_view key);

/// Reads whether spaces are prepended to texts, from a Metaspace pre-tokenizer or decoder.
Result<manifest::PrependScheme> readPrependScheme(const Config &part);

/// Reads a text that must be one character, such as "replacement" of a Metaspace.
Result<std::string> readCharacter(const Config &part, std::string_view key);

/// Decodes base64, padded with `=`; nullopt if `text` is malformed.
std::optional<std::string> decodeBase64(std::string_view text);

// --- The parts; `where` begins every message -----------------------------------------------------

/// Packs "normalizer".
Result<Member<manifest::Normalizer>> packNormalizer(flatbuffers::FlatBufferBuilder &builder,
                                                    const nlohmann::json &tokenizer,
                                                    std::string_view where);

/// Packs "pre_tokenizer".
Result<Member<manifest::PreTokenizer>> packPreTokenizer(flatbuffers::FlatBufferBuilder &builder,
                                                        const nlohmann::json &tokenizer,
                                                        std::string_view where);

/// Packs "decoder".
Result<Member<manifest::Decoder>> packDecoder(flatbuffers::FlatBufferBuilder &builder,
                                              const nlohmann::json &tokenizer,
                                              std::string_view where);

/// The templates around the ids of one text, and of a pair of texts: empty if the file does not
/// define pairs.
struct ImportedTemplate {
  std::vector<manifest::TemplatePiece> single;
  std::vector<manifest::TemplatePiece> pair;
};

/// Reads "post_processor": TemplateProcessing, BertProcessing, RobertaProcessing, a Sequence with
/// one of them, or none.
Result<ImportedTemplate> readTemplate(const nlohmann::json &tokenizer,
                                      const VocabularyTable &vocabulary,
                                      const std::vector<ImportedToken> &addedTokens,
                                      std::string_view where);

/// The model's settings without its lists, which are too large to copy.
struct ImportedModelPart {
  Config settings;
  // The whole model, with "vocab" and "merges".
  const nlohmann::json *json;
  std::string type;
  VocabularyTable vocabulary;
};

/// Reads "model" and its vocabulary; refers to the JSON.
Result<ImportedModelPart> readModel(const nlohmann::json &tokenizer, std::string_view where);

using ModelMember = Member<manifest::TokenizerModel>;

/// Writes the model.
Result<ModelMember> packModel(flatbuffers::FlatBufferBuilder &builder,
                              const ImportedModelPart &model);
/// The cases of packModel() for the kinds of models.
Result<ModelMember> packBpe(flatbuffers::FlatBufferBuilder &builder,
                            const ImportedModelPart &model);
Result<ModelMember> packUnigram(flatbuffers::FlatBufferBuilder &builder,
                                const ImportedModelPart &model);

/// Returns the tokens of a Unigram model, from its list of [token, score].
Result<VocabularyTable> readUnigramTokens(const nlohmann::json &model, std::string_view where);

/// Returns the id of the token that a key names; nullopt if the key is absent, null, or (in older
/// files) empty.
Result<std::optional<uint32_t>> readTokenId(const Config &settings, std::string_view key,
                                            const VocabularyTable &vocabulary);

/// Packs a tokenizer; `where` (the file's path) begins every message.
///
/// The maximum number of ids of one text, including the template's, is `maxLength` if given (the
/// max_seq_length of a sentence encoder); otherwise the smaller of the file's "truncation" and
/// `modelLength` (the positions of a model), if given; otherwise unlimited.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packTokenizer(flatbuffers::FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
              std::string_view where, std::optional<int64_t> maxLength = std::nullopt,
              std::optional<int64_t> modelLength = std::nullopt);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H
