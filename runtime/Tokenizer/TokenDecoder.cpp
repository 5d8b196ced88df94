// SPDX-License-Identifier: Apache-2.0
///
/// Loads and checks decoders. TokenStream runs their steps.
#include "runtime/Tokenizer/TokenDecoder.h"

#include "runtime/Tokenizer/PartErrors.h"
#include "runtime/Tokenizer/TokenStream.h"

namespace heddle {

// --- Loading ---------------------------------------------------------------------------------

/// Returns the text that a decoder searches for, which must not be empty.
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

std::string TokenDecoder::decode(const std::vector<std::string> &tokens) const {
  TokenStream stream(*this);
  std::string text;
  for (const std::string &token : tokens) {
    stream.add(token, text);
  }
  stream.finish(text);
  return text;
}

} // namespace heddle
