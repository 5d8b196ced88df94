// SPDX-License-Identifier: Apache-2.0
///
/// "normalizer" of a tokenizer.json.
#ifndef HEDDLE_FORMATS_TOKENIZER_NORMALIZERIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_NORMALIZERIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/PartImport.h"

namespace heddle {

/// Writes the normalizer; `where` begins every message.
Result<Member<manifest::Normalizer>> packNormalizer(flatbuffers::FlatBufferBuilder &builder,
                                                    const nlohmann::json &tokenizer,
                                                    std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_NORMALIZERIMPORT_H
