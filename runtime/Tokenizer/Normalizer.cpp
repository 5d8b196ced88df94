// SPDX-License-Identifier: Apache-2.0
///
/// The small normalizers. Larger ones have their own files.
#include "runtime/Tokenizer/Normalizer.h"

#include "formats/Tokenizer/Characters.h"
#include "runtime/Tokenizer/PartErrors.h"

namespace heddle {

static Result<UnicodeForm> loadForm(manifest::UnicodeForm form) {
  switch (form) {
  case manifest::UnicodeForm::Nfc:
    return UnicodeForm(false, true);
  case manifest::UnicodeForm::Nfd:
    return UnicodeForm(false, false);
  case manifest::UnicodeForm::Nfkc:
    return UnicodeForm(true, true);
  case manifest::UnicodeForm::Nfkd:
    return UnicodeForm(true, false);
  }
  return unknownKind("a normal form", form, manifest::UnicodeForm::MAX);
}

Result<Normalizer::Step> Normalizer::loadStep(manifest::Normalizer kind, const void *table) {
  using Kind = manifest::Normalizer;
  if (kind > Kind::MAX) {
    return unknownKind("a normalizer", kind, Kind::MAX);
  }
  if (table == nullptr || kind == Kind::NONE) {
    return missingPart("normalizer");
  }
  switch (kind) {
  case Kind::BertNormalizer: {
    const auto &bert = *static_cast<const manifest::BertNormalizer *>(table);
    return Step(BertNormalizer({.cleanText = bert.clean_text(),
                                .handleChineseChars = bert.handle_chinese_chars(),
                                .stripAccents = bert.strip_accents(),
                                .lowercase = bert.lowercase()}));
  }
  case Kind::UnicodeNormalizer: {
    const auto form = static_cast<const manifest::UnicodeNormalizer *>(table)->form();
    HEDDLE_ASSIGN(const UnicodeForm step, loadForm(form));
    return Step(step);
  }
  case Kind::LowercaseNormalizer:
    return Step(Lowercase{});
  case Kind::StripAccentsNormalizer:
    return Step(StripAccents{});
  case Kind::NmtNormalizer:
    return Step(Nmt{});
  case Kind::StripNormalizer: {
    const auto &strip = *static_cast<const manifest::StripNormalizer *>(table);
    return Step(Strip{strip.left(), strip.right()});
  }
  case Kind::ReplaceNormalizer: {
    const auto &replace = *static_cast<const manifest::ReplaceNormalizer *>(table);
    if (replace.pattern()->size() == 0) {
      return emptyText("pattern of a normalizer");
    }
    return Step(Replace{replace.pattern()->string_view(), replace.content()->string_view(),
                        replace.least()});
  }
  case Kind::PrependNormalizer:
    return Step(
        Prepend{static_cast<const manifest::PrependNormalizer *>(table)->content()->string_view()});
  case Kind::CharsMapNormalizer: {
    const auto &bytes = *static_cast<const manifest::CharsMapNormalizer *>(table)->charsmap();
    const Result<CharsMap> map =
        CharsMap::load({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    if (!map.ok()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: {}", map.status().message()));
    }
    return Step(*map);
  }
  case Kind::NormalizerSequence:
  case Kind::NONE:
    break;
  }
  return nestedSequence("normalizers");
}

Result<Normalizer> Normalizer::load(const manifest::Tokenizer &table) {
  Normalizer result;
  const manifest::Normalizer kind = table.normalizer_type();
  if (kind == manifest::Normalizer::NONE) {
    return result;
  }
  const manifest::NormalizerSequence *const sequence = table.normalizer_as_NormalizerSequence();
  if (sequence == nullptr && kind != manifest::Normalizer::NormalizerSequence) {
    HEDDLE_ASSIGN(Step step, loadStep(kind, table.normalizer()));
    result.steps.push_back(std::move(step));
    return result;
  }
  if (sequence == nullptr) {
    return missingPart("normalizer");
  }
  for (const manifest::NormalizerStep *const step : *sequence->steps()) {
    HEDDLE_ASSIGN(Step loaded, loadStep(step->step_type(), step->step()));
    result.steps.push_back(std::move(loaded));
  }
  return result;
}

bool Normalizer::worksByWords() const {
  return steps.empty() || (steps.size() == 1 && std::holds_alternative<BertNormalizer>(steps[0]));
}

void Normalizer::apply(const Lowercase &step, std::string_view text, std::string &out) {
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    appendLowercase(character.codePoint, out);
    text.remove_prefix(character.bytes);
  }
}

void Normalizer::apply(const StripAccents &step, std::string_view text, std::string &out) {
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    if (!isCombiningMark(character.codePoint)) {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
}

static bool isRemovedByNmt(int32_t codePoint) {
  return (codePoint >= 0x1 && codePoint <= 0x8) || codePoint == 0xB ||
         (codePoint >= 0xE && codePoint <= 0x1F) || codePoint == 0x7F || codePoint == 0x8F ||
         codePoint == 0x9F;
}

static bool isSpaceToNmt(int32_t codePoint) {
  return codePoint == 0x9 || codePoint == 0xA || codePoint == 0xC || codePoint == 0xD ||
         codePoint == 0x1680 || (codePoint >= 0x200B && codePoint <= 0x200F) ||
         codePoint == 0x2028 || codePoint == 0x2029 || codePoint == 0x2581 || codePoint == 0xFEFF ||
         codePoint == 0xFFFD;
}

void Normalizer::apply(const Nmt &step, std::string_view text, std::string &out) {
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    if (isSpaceToNmt(character.codePoint)) {
      out.push_back(' ');
    } else if (!isRemovedByNmt(character.codePoint)) {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
}

void Normalizer::apply(const Strip &step, std::string_view text, std::string &out) {
  while (step.left && !text.empty() && isWhiteSpace(firstCharacter(text).codePoint)) {
    text.remove_prefix(firstCharacter(text).bytes);
  }
  while (step.right && !text.empty() && isWhiteSpace(lastCharacter(text).codePoint)) {
    text.remove_suffix(std::min(lastCharacter(text).bytes, text.size()));
  }
  out += text;
}

void Normalizer::apply(const Replace &step, std::string_view text, std::string &out) {
  while (true) {
    const size_t at = text.find(step.pattern);
    if (at == std::string_view::npos) {
      out += text;
      return;
    }
    out += text.substr(0, at);
    text.remove_prefix(at);
    size_t count = 1;
    while (step.least > 0 && text.substr(count * step.pattern.size()).starts_with(step.pattern)) {
      ++count;
    }
    const std::string_view run = text.substr(0, count * step.pattern.size());
    out += count >= step.least ? step.content : run;
    text.remove_prefix(run.size());
  }
}

void Normalizer::apply(const Prepend &step, std::string_view text, std::string &out) {
  if (!text.empty()) {
    out += step.content;
    out += text;
  }
}

void Normalizer::append(std::string_view text, std::string &out) const {
  std::string current;
  std::string next;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    next.clear();
    std::visit([&](const auto &step) { apply(step, i == 0 ? text : current, last ? out : next); },
               steps[i]);
    std::swap(current, next);
  }
  if (steps.empty()) {
    out += text;
  }
}

} // namespace heddle
