// SPDX-License-Identifier: Apache-2.0
///
/// Packs the Hugging Face tokenizers library's tokenizer.json into the manifest's form. Every part
/// of the file that affects ids is either understood or refused by name.
#ifndef HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"

#include <cstdint>
#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace heddle {

/// Packs a tokenizer; `where` (the file's path) begins every message.
///
/// The most ids of one text, those of the template counted: `maxLength` if given (the
/// max_seq_length of a sentence encoder); else the smaller of what the file's "truncation" says and
/// `modelLength` (the positions a model has); else any number.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packTokenizer(flatbuffers::FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
              std::string_view where, std::optional<int64_t> maxLength = std::nullopt,
              std::optional<int64_t> modelLength = std::nullopt);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TOKENIZERIMPORT_H
