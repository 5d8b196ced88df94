// SPDX-License-Identifier: Apache-2.0
///
/// "normalizer" of a tokenizer.json.
#ifndef HEDDLE_FRONTEND_TOKENIZER_NORMALIZERIMPORT_H
#define HEDDLE_FRONTEND_TOKENIZER_NORMALIZERIMPORT_H

#include "frontend/Tokenizer/PartImport.h"
#include "runtime/Tokenizer/Tokenizer_generated.h"

namespace heddle {

/// Writes the normalizer; `where` begins every message.
Result<Member<manifest::Normalizer>> packNormalizer(flatbuffers::FlatBufferBuilder &builder,
                                                    const nlohmann::json &tokenizer,
                                                    std::string_view where);

} // namespace heddle

#endif // HEDDLE_FRONTEND_TOKENIZER_NORMALIZERIMPORT_H
