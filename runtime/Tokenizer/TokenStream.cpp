// SPDX-License-Identifier: Apache-2.0
///
/// Each step passes tokens, or parts of an unfinished token, to the step after it, and holds back
/// what later tokens could still change.
#include "runtime/Tokenizer/TokenStream.h"

#include "base/Utf8.h"
#include "runtime/Tokenizer/ByteCharacters.h"

#include <array>
#include <charconv>
#include <utility>
#include <variant>

namespace heddle {

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  std::string result;
  std::string_view rest = text;
  for (size_t at = rest.find(from); at != rest.npos; at = rest.find(from)) {
    result += rest.substr(0, at);
    result += to;
    rest.remove_prefix(at + from.size());
  }
  if (rest.size() != text.size()) {
    result += rest;
    text = std::move(result);
  }
}

/// Removes the spaces that splitting at punctuation added within one token. The replacements run in
/// order, since an earlier one can enable a later one.
static void cleanUp(std::string &token) {
  static constexpr auto replacements =
      std::to_array<std::pair<std::string_view, std::string_view>>({
          {" .", "."},
          {" ?", "?"},
          {" !", "!"},
          {" ,", ","},
          {" ' ", "'"},
          {" n't", "n't"},
          {" 'm", "'m"},
          {" do not", " don't"},
          {" 's", "'s"},
          {" 've", "'ve"},
          {" 're", "'re"},
      });
  for (const auto &[from, to] : replacements) {
    replaceAll(token, from, to);
  }
}

std::optional<char> byteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') {
    return std::nullopt;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return error == std::errc() && end == token.data() + 5 ? std::optional(static_cast<char>(value))
                                                         : std::nullopt;
}

void TokenStream::add(std::string_view token, std::string &out) { push(0, {.text = token}, out); }

void TokenStream::finish(std::string &out) { end(0, out); }

void TokenStream::push(size_t step, Part part, std::string &out) {
  if (step == decoder.steps.size()) {
    if (part.begins && hasText && decoder.joinsWithSpaces) {
      out += ' ';
    }
    out += part.text;
    hasText = true;
    return;
  }
  std::visit([&](const auto &known) { apply(known, step, part, out); }, decoder.steps[step]);
}

/// Handles the end of a step's tokens.
void TokenStream::end(size_t step, std::string &out) {
  if (step < decoder.steps.size()) {
    std::visit([&](const auto &known) { flush(known, step, out); }, decoder.steps[step]);
    end(step + 1, out);
  }
}

/// For steps that work on whole tokens: collects the parts of one, and returns whether it is
/// complete.
bool TokenStream::collect(size_t at, Part &part, std::string &whole) {
  if (part.begins && part.ends) {
    whole = part.text;
    return true;
  }
  states[at].held += part.text;
  if (!part.ends) {
    return false;
  }
  whole = std::exchange(states[at].held, "");
  part = {};
  return true;
}

void TokenStream::apply(const TokenDecoder::WordPiece &step, size_t at, Part part,
                        std::string &out) {
  std::string token;
  if (!collect(at, part, token)) {
    return;
  }
  if (std::exchange(states[at].any, true)) {
    token = token.starts_with(step.prefix) ? token.substr(step.prefix.size()) : " " + token;
  }
  if (step.cleanup) {
    cleanUp(token);
  }
  next(at, {.text = token}, out);
}

void TokenStream::apply(const TokenDecoder::Metaspace &step, size_t at, Part part,
                        std::string &out) {
  std::string token;
  if (!collect(at, part, token)) {
    return;
  }
  const bool isFirst = !std::exchange(states[at].any, true);
  replaceAll(token, step.replacement, isFirst && !step.keepFirst ? "" : " ");
  next(at, {.text = token}, out);
}

void TokenStream::apply(const TokenDecoder::Replace &step, size_t at, Part part, std::string &out) {
  std::string token;
  if (collect(at, part, token)) {
    replaceAll(token, step.pattern, step.content);
    next(at, {.text = token}, out);
  }
}

/// Joins all tokens into one, which ends with the last.
void TokenStream::apply(const TokenDecoder::Fuse &step, size_t at, Part part, std::string &out) {
  const bool isFirst = !std::exchange(states[at].any, true);
  next(at, {.text = part.text, .begins = isFirst, .ends = false}, out);
}

void TokenStream::flush(const TokenDecoder::Fuse &step, size_t at, std::string &out) {
  next(at, {.text = "", .begins = !states[at].any, .ends = true}, out);
}

void TokenStream::apply(const TokenDecoder::ByteLevel &step, size_t at, Part part,
                        std::string &out) {
  std::string token;
  if (!collect(at, part, token)) {
    return;
  }
  State &state = states[at];
  std::string bytes = std::exchange(state.bytes, "");
  appendBytes(token, bytes);
  const size_t complete = bytes.size() - unfinishedBytes(bytes);
  state.bytes = bytes.substr(complete);
  std::string text;
  appendAsUtf8(std::string_view(bytes).substr(0, complete), text);
  const bool isFirst = !std::exchange(state.any, true);
  next(at, {.text = text, .begins = isFirst, .ends = false}, out);
}

void TokenStream::flush(const TokenDecoder::ByteLevel &step, size_t at, std::string &out) {
  std::string text;
  appendAsUtf8(states[at].bytes, text);
  next(at, {.text = text, .begins = !states[at].any, .ends = true}, out);
}

/// A run of bytes is final when it ends, because one byte that is not UTF-8 invalidates all of it.
void TokenStream::apply(const TokenDecoder::ByteFallback &step, size_t at, Part part,
                        std::string &out) {
  std::string token;
  if (!collect(at, part, token)) {
    return;
  }
  if (const std::optional<char> byte = byteOfToken(token)) {
    states[at].bytes.push_back(*byte);
    return;
  }
  flush(step, at, out);
  next(at, {.text = token}, out);
}

void TokenStream::flush(const TokenDecoder::ByteFallback &step, size_t at, std::string &out) {
  const std::string bytes = std::exchange(states[at].bytes, "");
  if (bytes.empty()) {
    return;
  }
  if (validUtf8Prefix(bytes) == bytes.size()) {
    next(at, {.text = bytes}, out);
    return;
  }
  // One for each byte, even for bytes that would form characters.
  for (size_t i = 0; i < bytes.size(); ++i) {
    next(at, {.text = "\uFFFD"}, out);
  }
}

void TokenStream::apply(const TokenDecoder::Strip &step, size_t at, Part part, std::string &out) {
  State &state = states[at];
  if (part.begins) {
    state.stripped = 0;
    state.any = false;
  }
  state.held += part.text;
  std::string_view rest = state.held;
  while (state.stripped < step.start && rest.starts_with(step.content)) {
    rest.remove_prefix(step.content.size());
    ++state.stripped;
  }
  const bool mayStrip = state.stripped < step.start && step.content.starts_with(rest);
  if (!part.ends && (mayStrip || step.stop > 0)) {
    // The rest could still be stripped, at the beginning or at the end.
    state.held = std::string(rest);
    return;
  }
  // The beginning is over.
  state.stripped = step.start;
  for (size_t i = 0; i < step.stop && rest.ends_with(step.content); ++i) {
    rest.remove_suffix(step.content.size());
  }
  const std::string text(rest);
  state.held.clear();
  const bool isFirst = !std::exchange(state.any, true);
  next(at, {.text = text, .begins = isFirst, .ends = part.ends}, out);
}

void TokenStream::apply(const TokenDecoder::Suffix &step, size_t at, Part part, std::string &out) {
  State &state = states[at];
  if (part.begins && std::exchange(state.any, true)) {
    replaceAll(state.held, step.suffix, " ");
    next(at, {.text = std::exchange(state.held, "")}, out);
  }
  state.held += part.text;
}

void TokenStream::flush(const TokenDecoder::Suffix &step, size_t at, std::string &out) {
  if (states[at].any) {
    replaceAll(states[at].held, step.suffix, "");
    next(at, {.text = std::exchange(states[at].held, "")}, out);
  }
}

} // namespace heddle
