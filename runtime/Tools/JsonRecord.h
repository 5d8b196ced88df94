// SPDX-License-Identifier: Apache-2.0
///
/// One line of .jsonl output: {"text": ..., "tokens": [...], "embedding": [...]}.
#ifndef HEDDLE_RUNTIME_TOOLS_JSONRECORD_H
#define HEDDLE_RUNTIME_TOOLS_JSONRECORD_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Appends the line without an embedding.
void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens);

/// Appends {"text": ..., "error": ...}: the answer to a line that cannot be used.
void appendError(std::string &out, std::string_view text, std::string_view message);

/// Appends the line. Every float is the shortest decimal that reads back as the same float; what is
/// not finite is null.
void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens,
                  std::span<const float> embedding);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_JSONRECORD_H
