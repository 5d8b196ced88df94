// SPDX-License-Identifier: Apache-2.0
///
/// Bytes written as base64, as a tokenizer.json has them.
#ifndef HEDDLE_FORMATS_TOKENIZER_BASE64_H
#define HEDDLE_FORMATS_TOKENIZER_BASE64_H

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// The bytes of a text in base64, padded with `=`; nothing if it is no such text.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_BASE64_H
