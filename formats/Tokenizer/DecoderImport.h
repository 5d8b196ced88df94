// SPDX-License-Identifier: Apache-2.0
///
/// "decoder" of a tokenizer.json.
#ifndef HEDDLE_FORMATS_TOKENIZER_DECODERIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_DECODERIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/PartImport.h"

namespace heddle {

/// Writes the decoder; `where` begins every message.
Result<Member<manifest::Decoder>> packDecoder(flatbuffers::FlatBufferBuilder &builder,
                                              const nlohmann::json &tokenizer,
                                              std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_DECODERIMPORT_H
