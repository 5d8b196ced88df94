// SPDX-License-Identifier: Apache-2.0
///
/// Formatting .jsonl lines. Numbers are formatted in place: a line is mostly floats, and a tree of
/// them would cost more than the model's smallest layers.
#include "runtime/Tools/JsonRecord.h"

#include <cmath>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace heddle::tools {

/// Appends a text as JSON has it.
static void appendQuoted(std::string &out, std::string_view text) {
  using nlohmann::json;
  // Texts are UTF-8 by the time they are here; "replace" only keeps this call from throwing.
  out += json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Appends {"text": ..., "tokens": [...] without the closing brace.
static void appendTextAndTokens(std::string &out, std::string_view text,
                                std::span<const int32_t> tokens) {
  out += R"({"text": )";
  appendQuoted(out, text);
  out += R"(, "tokens": [)";
  const char *separator = "";
  for (const int32_t token : tokens) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}{}"), separator, token);
    separator = ", ";
  }
  out += ']';
}

void appendError(std::string &out, std::string_view text, std::string_view message) {
  out += R"({"text": )";
  appendQuoted(out, text);
  out += R"(, "error": )";
  appendQuoted(out, message);
  out += "}\n";
}

void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens) {
  appendTextAndTokens(out, text, tokens);
  out += "}\n";
}

void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens,
                  std::span<const float> embedding) {
  appendTextAndTokens(out, text, tokens);
  out += R"(, "embedding": [)";
  const char *separator = "";
  for (const float value : embedding) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}{}"), separator, value);
    } else {
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}null"), separator);
    }
    separator = ", ";
  }
  out += "]}\n";
}

} // namespace heddle::tools
