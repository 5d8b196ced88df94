// SPDX-License-Identifier: Apache-2.0
///
/// The importers of the parts of a tokenizer.json, one source file each, and what they share: parts
/// may be absent, may be sequences of other parts, and become members of a FlatBuffers union.
#ifndef HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Config/Config.h"
#include "formats/Tokenizer/AddedTokenImport.h"
#include "formats/Tokenizer/VocabularyTable.h"
#include "heddle/Status.h"

#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A member of a FlatBuffers union, with its kind.
template <typename Kind> struct Member {
  Kind kind = Kind::NONE;
  flatbuffers::Offset<void> offset;
};

/// An optional part of the file; nothing if it is absent or null.
Result<std::optional<Config>> optionalPart(const nlohmann::json &tokenizer, std::string_view key,
                                           std::string_view where);

/// One elementary part of a sequence.
struct PartOfSequence {
  const nlohmann::json *value;
  // The beginning of its messages.
  std::string where;
};

/// The elementary parts of "normalizer", "pre_tokenizer" or "decoder" in order, with nested
/// sequences flattened; empty if it is absent. `list` is the key of a sequence's parts.
Result<std::vector<PartOfSequence>> flattenParts(const nlohmann::json &tokenizer,
                                                 std::string_view key, const char *list,
                                                 std::string_view where);

/// A text to search: "pattern" of a Replace.
struct Pattern {
  std::string text;
  /// Matches runs of at least this many; 0: single occurrences.
  uint32_t least = 0;
};

/// Reads {"String": text} or a simple {"Regex": text}: plain characters, or one of them with `+` or
/// `{n,}`. Others are refused, naming the expression.
Result<Pattern> readPattern(const Config &part);

/// Reads a non-empty string.
Result<std::string> nonEmptyString(const Config &part, std::string_view key);

/// Whether spaces go before texts, from a Metaspace pre-tokenizer or decoder.
Result<manifest::PrependScheme> readPrependScheme(const Config &part);

/// "replacement" of a Metaspace: one character.
Result<std::string> readReplacement(const Config &part);

/// Decodes base64, padded with `=`; nothing if `text` is malformed.
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

/// Reads "post_processor", the template around the ids of one text: TemplateProcessing,
/// BertProcessing, RobertaProcessing, a Sequence with one of them, or none.
Result<std::vector<manifest::TemplatePiece>>
readTemplate(const nlohmann::json &tokenizer, const VocabularyTable &vocabulary,
             const std::vector<ImportedToken> &addedTokens, std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H
