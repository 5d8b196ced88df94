// SPDX-License-Identifier: Apache-2.0
///
/// Tokenizers that may be missing.
#include "runtime/Generate/Text.h"

#include "runtime/Tokenizer/Tokenizer.h"

namespace heddle {

static Status noTokenizer() {
  return HEDDLE_ERROR(NotFound, "the model has no tokenizer, expected one for text: token ids work "
                                "without");
}

Result<std::vector<int32_t>> encodeText(const Tokenizer *tokenizer, std::string_view text,
                                        bool addTemplate, int64_t most) {
  if (tokenizer == nullptr) {
    return noTokenizer();
  }
  return tokenizer->encode(text, addTemplate, static_cast<size_t>(most));
}

Result<std::string> decodeText(const Tokenizer *tokenizer, std::span<const int32_t> tokens) {
  if (tokenizer == nullptr) {
    return noTokenizer();
  }
  return tokenizer->decode(tokens);
}

} // namespace heddle
