// SPDX-License-Identifier: Apache-2.0
///
/// "decoder" of a tokenizer.json.
#ifndef HEDDLE_FRONTEND_TOKENIZER_DECODERIMPORT_H
#define HEDDLE_FRONTEND_TOKENIZER_DECODERIMPORT_H

#include "frontend/Tokenizer/PartImport.h"
#include "runtime/Tokenizer/Tokenizer_generated.h"

namespace heddle {

/// Writes the decoder; `where` begins every message.
Result<Member<manifest::Decoder>> packDecoder(flatbuffers::FlatBufferBuilder &builder,
                                              const nlohmann::json &tokenizer,
                                              std::string_view where);

} // namespace heddle

#endif // HEDDLE_FRONTEND_TOKENIZER_DECODERIMPORT_H
