// SPDX-License-Identifier: Apache-2.0
///
/// "pre_tokenizer" of a tokenizer.json.
#ifndef HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/PartImport.h"

namespace heddle {

/// Writes the pre-tokenizer; `where` begins every message.
Result<Member<manifest::PreTokenizer>> packPreTokenizer(flatbuffers::FlatBufferBuilder &builder,
                                                        const nlohmann::json &tokenizer,
                                                        std::string_view where);

/// Whether spaces go before texts, as a Metaspace pre-tokenizer or decoder says it.
Result<manifest::PrependScheme> readPrependScheme(const Config &part);

/// "replacement" of a Metaspace: one character.
Result<std::string> readReplacement(const Config &part);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERIMPORT_H
