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

/// Appends {"text": ..., "tokens": [...] without the closing brace.
static void appendTextAndTokens(std::string &out, std::string_view text,
                                std::span<const int32_t> tokens) {
  using nlohmann::json;
  out += R"({"text": )";
  // Texts are UTF-8 by the time they are here; "replace" only keeps this call from throwing.
  out += json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  out += R"(, "tokens": [)";
  const char *separator = "";
  for (const int32_t token : tokens) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}{}"), separator, token);
    separator = ", ";
  }
  out += ']';
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
