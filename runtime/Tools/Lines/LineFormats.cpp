// SPDX-License-Identifier: Apache-2.0
///
/// Formats and parses single lines. Embeddings are formatted in place: a JSON tree of so many
/// floats would cost more than the model's smallest layers.
#include "runtime/Tools/Lines/LineFormats.h"

#include "base/Utf8.h"

#include <charconv>
#include <cmath>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace heddle::tools {

Result<std::vector<int32_t>> parseTokenLine(std::string_view line, int64_t most) {
  std::vector<int32_t> tokens;
  size_t words = 0;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      return tokens;
    }
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    int32_t token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size() || token < 0) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("word {} is {}, expected a token id",
                                                       words + 1, quote(word)));
    }
    if (most == 0 || static_cast<int64_t>(tokens.size()) < most) {
      tokens.push_back(token);
    }
    ++words;
    line.remove_prefix(word.size());
  }
}

std::string tokenLine(std::span<const int32_t> tokens) {
  return fmt::format("{}", fmt::join(tokens, " "));
}

/// Appends a text as a JSON string.
static void appendQuoted(std::string &out, std::string_view text) {
  using nlohmann::json;
  // Texts are valid UTF-8 here; "replace" only keeps this call from throwing.
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

std::string jsonText(const nlohmann::ordered_json &object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json jsonScore(double score) {
  return std::isfinite(score) ? nlohmann::ordered_json(rounded(score, 7))
                              : nlohmann::ordered_json(nullptr);
}

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

} // namespace heddle::tools
