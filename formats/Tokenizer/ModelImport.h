// SPDX-License-Identifier: Apache-2.0
///
/// Reads and packs "model" of a tokenizer.json: WordPiece, BPE or Unigram, with its
/// vocabulary.
#ifndef HEDDLE_FORMATS_TOKENIZER_MODELIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_MODELIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Config/Config.h"
#include "formats/Tokenizer/PartImport.h"
#include "formats/Tokenizer/VocabularyTable.h"
#include "heddle/Status.h"

#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <string_view>

namespace heddle {

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
/// The parts of packModel() for the kinds of models.
Result<ModelMember> packBpe(flatbuffers::FlatBufferBuilder &builder,
                            const ImportedModelPart &model);
Result<ModelMember> packUnigram(flatbuffers::FlatBufferBuilder &builder,
                                const ImportedModelPart &model);

/// The tokens of a Unigram model, from its list of [token, score].
Result<VocabularyTable> readUnigramTokens(const nlohmann::json &model, std::string_view where);

/// The id of the token that a key names; nothing if the key is absent, null, or (in older files)
/// empty.
Result<std::optional<uint32_t>> readTokenId(const Config &settings, std::string_view key,
                                            const VocabularyTable &vocabulary);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_MODELIMPORT_H
