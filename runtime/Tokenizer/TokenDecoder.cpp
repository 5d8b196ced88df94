// SPDX-License-Identifier: Apache-2.0
///
/// Each step changes the list of tokens; the result is joined.
#include "runtime/Tokenizer/TokenDecoder.h"

#include "base/Utf8.h"
#include "runtime/Tokenizer/ByteCharacters.h"
#include "runtime/Tokenizer/PartErrors.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace heddle {

// --- Loading ---------------------------------------------------------------------------------

/// The text that a decoder searches for, which must not be empty.
static Result<std::string_view> pattern(const flatbuffers::String *text) {
  if (text->size() == 0) {
    return emptyText("pattern of a decoder");
  }
  return text->string_view();
}

Result<TokenDecoder::Step> TokenDecoder::loadStep(manifest::Decoder kind, const void *table) {
  using Kind = manifest::Decoder;
  if (kind > Kind::MAX) {
    return unknownKind("a decoder", kind, Kind::MAX);
  }
  if (table == nullptr || kind == Kind::NONE) {
    return missingPart("decoder");
  }
  switch (kind) {
  case Kind::WordPieceDecoder: {
    const auto &words = *static_cast<const manifest::WordPieceDecoder *>(table);
    return Step(WordPiece{words.prefix()->string_view(), words.cleanup()});
  }
  case Kind::ByteLevelDecoder:
    return Step(ByteLevel{});
  case Kind::MetaspaceDecoder: {
    const auto &spaces = *static_cast<const manifest::MetaspaceDecoder *>(table);
    HEDDLE_ASSIGN(const std::string_view replacement, pattern(spaces.replacement()));
    return Step(Metaspace{replacement, spaces.keep_first()});
  }
  case Kind::ReplaceDecoder: {
    const auto &replace = *static_cast<const manifest::ReplaceDecoder *>(table);
    HEDDLE_ASSIGN(const std::string_view from, pattern(replace.pattern()));
    return Step(Replace{from, replace.content()->string_view()});
  }
  case Kind::ByteFallbackDecoder:
    return Step(ByteFallback{});
  case Kind::FuseDecoder:
    return Step(Fuse{});
  case Kind::StripDecoder: {
    const auto &strip = *static_cast<const manifest::StripDecoder *>(table);
    HEDDLE_ASSIGN(const std::string_view content, pattern(strip.content()));
    return Step(Strip{content, strip.start(), strip.stop()});
  }
  case Kind::SuffixDecoder: {
    const auto *const suffixes = static_cast<const manifest::SuffixDecoder *>(table);
    HEDDLE_ASSIGN(const std::string_view suffix, pattern(suffixes->suffix()));
    return Step(Suffix{suffix});
  }
  case Kind::DecoderSequence:
  case Kind::NONE:
    break;
  }
  return nestedSequence("decoders");
}

Result<TokenDecoder> TokenDecoder::load(const manifest::Tokenizer &table) {
  TokenDecoder result;
  const manifest::Decoder kind = table.decoder_type();
  if (kind == manifest::Decoder::NONE) {
    return result;
  }
  result.joinsWithSpaces = false;
  const manifest::DecoderSequence *const sequence = table.decoder_as_DecoderSequence();
  if (kind != manifest::Decoder::DecoderSequence) {
    HEDDLE_ASSIGN(const Step step, loadStep(kind, table.decoder()));
    result.steps.push_back(step);
    return result;
  }
  if (sequence == nullptr) {
    return missingPart("decoder");
  }
  for (const manifest::DecoderStep *const step : *sequence->steps()) {
    HEDDLE_ASSIGN(const Step loaded, loadStep(step->step_type(), step->step()));
    result.steps.push_back(loaded);
  }
  return result;
}

// --- Steps -----------------------------------------------------------------------------------

static void replaceAll(std::string &text, std::string_view from, std::string_view to) {
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

void TokenDecoder::apply(const WordPiece &step, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string &token = tokens[i];
    if (i > 0) {
      token = token.starts_with(step.prefix) ? token.substr(step.prefix.size()) : " " + token;
    }
    if (step.cleanup) {
      cleanUp(token);
    }
  }
}

void TokenDecoder::apply(const ByteLevel &step, Tokens &tokens) {
  std::string bytes;
  for (const std::string &token : tokens) {
    appendBytes(token, bytes);
  }
  tokens.assign(1, "");
  appendAsUtf8(bytes, tokens[0]);
}

void TokenDecoder::apply(const Metaspace &step, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    replaceAll(tokens[i], step.replacement, i == 0 && !step.keepFirst ? "" : " ");
  }
}

void TokenDecoder::apply(const Replace &step, Tokens &tokens) {
  for (std::string &token : tokens) {
    replaceAll(token, step.pattern, step.content);
  }
}

/// The byte of a token <0x00> to <0xFF>.
static std::optional<char> byteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') {
    return std::nullopt;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return error == std::errc() && end == token.data() + 5 ? std::optional(static_cast<char>(value))
                                                         : std::nullopt;
}

void TokenDecoder::apply(const ByteFallback &step, Tokens &tokens) {
  Tokens result;
  std::string bytes;
  const auto flush = [&] {
    if (!bytes.empty() && validUtf8Prefix(bytes) == bytes.size()) {
      result.push_back(bytes);
    } else {
      // One for each byte, even for bytes that would form characters.
      result.insert(result.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (std::string &token : tokens) {
    if (const std::optional<char> byte = byteOfToken(token)) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    result.push_back(std::move(token));
  }
  flush();
  tokens = std::move(result);
}

void TokenDecoder::apply(const Fuse &step, Tokens &tokens) {
  std::string all;
  for (const std::string &token : tokens) {
    all += token;
  }
  tokens.assign(1, std::move(all));
}

void TokenDecoder::apply(const Strip &step, Tokens &tokens) {
  for (std::string &token : tokens) {
    std::string_view rest = token;
    for (size_t i = 0; i < step.start && rest.starts_with(step.content); ++i) {
      rest.remove_prefix(step.content.size());
    }
    for (size_t i = 0; i < step.stop && rest.ends_with(step.content); ++i) {
      rest.remove_suffix(step.content.size());
    }
    token = std::string(rest);
  }
}

void TokenDecoder::apply(const Suffix &step, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    replaceAll(tokens[i], step.suffix, i + 1 == tokens.size() ? "" : " ");
  }
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const {
  for (const Step &step : steps) {
    std::visit([&](const auto &known) { apply(known, tokens); }, step);
  }
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    text += i > 0 && joinsWithSpaces ? " " : "";
    text += tokens[i];
  }
  return text;
}

} // namespace heddle
