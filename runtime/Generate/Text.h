// SPDX-License-Identifier: Apache-2.0
///
/// Text for a model that generates: its tokenizers, which it may lack.
#ifndef HEDDLE_RUNTIME_GENERATE_TEXT_H
#define HEDDLE_RUNTIME_GENERATE_TEXT_H

#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Tokenizer;

/// The ids of a text, cut to `most` where that is not 0; NotFound without a tokenizer. Ids of the
/// template go around them if asked.
Result<std::vector<int32_t>> encodeText(const Tokenizer *tokenizer, std::string_view text,
                                        bool addTemplate, int64_t most = 0);

/// The text of ids, special ones left out; NotFound without a tokenizer.
Result<std::string> decodeText(const Tokenizer *tokenizer, std::span<const int32_t> tokens);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_TEXT_H
