// SPDX-License-Identifier: Apache-2.0
///
/// Each step passes its words to the next one, and the last step to the caller.
#include "runtime/Tokenizer/PreTokenizer.h"

#include "formats/Tokenizer/Characters.h"
#include "runtime/Tokenizer/ByteCharacters.h"
#include "runtime/Tokenizer/PartErrors.h"

#include <algorithm>

namespace heddle {

// --- Loading ---------------------------------------------------------------------------------

Result<PreTokenizer::Step> PreTokenizer::loadSplit(const manifest::SplitPreTokenizer &table) {
  if (table.behavior() > manifest::SplitBehavior::MAX) {
    return unknownKind("a behavior of a split", table.behavior(), manifest::SplitBehavior::MAX);
  }
  std::vector<SplitBranch> branches;
  for (const manifest::SplitBranch *const branch : *table.branches()) {
    branches.push_back({branch->expression()->str(), branch->least()});
  }
  Result<SplitPattern> pattern = SplitPattern::load(branches);
  if (!pattern.ok()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: {}", pattern.status().message()));
  }
  return Step(Split{*std::move(pattern), table.behavior(), table.invert()});
}

Result<PreTokenizer::Step> PreTokenizer::loadStep(manifest::PreTokenizer kind, const void *table) {
  using Kind = manifest::PreTokenizer;
  if (kind > Kind::MAX) {
    return unknownKind("a pre-tokenizer", kind, Kind::MAX);
  }
  if (table == nullptr || kind == Kind::NONE) {
    return missingPart("pre-tokenizer");
  }
  switch (kind) {
  case Kind::BertPreTokenizer:
    return Step(Bert{});
  case Kind::ByteLevelPreTokenizer: {
    const auto &bytes = *static_cast<const manifest::ByteLevelPreTokenizer *>(table);
    return Step(ByteLevel{bytes.add_prefix_space(), bytes.split()});
  }
  case Kind::MetaspacePreTokenizer: {
    const auto &spaces = *static_cast<const manifest::MetaspacePreTokenizer *>(table);
    if (spaces.replacement()->size() == 0) {
      return emptyText("replacement of a pre-tokenizer");
    }
    if (spaces.prepend() > manifest::PrependScheme::MAX) {
      return unknownKind("a prepend scheme", spaces.prepend(), manifest::PrependScheme::MAX);
    }
    return Step(Metaspace{spaces.replacement()->string_view(), spaces.prepend(), spaces.split()});
  }
  case Kind::WhiteSpacePreTokenizer:
    return Step(WhiteSpace{});
  case Kind::SplitPreTokenizer:
    return loadSplit(*static_cast<const manifest::SplitPreTokenizer *>(table));
  case Kind::PreTokenizerSequence:
  case Kind::NONE:
    break;
  }
  return nestedSequence("pre-tokenizers");
}

Result<PreTokenizer> PreTokenizer::load(const manifest::Tokenizer &table) {
  PreTokenizer result;
  const manifest::PreTokenizer kind = table.pre_tokenizer_type();
  if (kind == manifest::PreTokenizer::NONE) {
    return result;
  }
  const manifest::PreTokenizerSequence *const sequence =
      table.pre_tokenizer_as_PreTokenizerSequence();
  if (kind != manifest::PreTokenizer::PreTokenizerSequence) {
    HEDDLE_ASSIGN(const Step step, loadStep(kind, table.pre_tokenizer()));
    result.steps.push_back(step);
    return result;
  }
  if (sequence == nullptr) {
    return missingPart("pre-tokenizer");
  }
  if (sequence->steps()->size() > preTokenizerSteps) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: {} pre-tokenizers, expected at most {}",
                                              sequence->steps()->size(), preTokenizerSteps));
  }
  for (const manifest::PreTokenizerStep *const step : *sequence->steps()) {
    HEDDLE_ASSIGN(const Step loaded, loadStep(step->step_type(), step->step()));
    result.steps.push_back(loaded);
  }
  return result;
}

bool PreTokenizer::worksByWords() const {
  return steps.size() == 1 && std::holds_alternative<Bert>(steps[0]);
}

// --- Kinds of characters -----------------------------------------------------------------------

namespace {
/// The class of an ASCII byte for splitting words; Other is the first byte of a non-ASCII
/// character.
enum class ByteKind : uint8_t { Word, Space, Punctuation, Other };

/// The class of a character for GPT-2's splitting; Unknown is the first byte of a longer character.
enum class TextKind : uint8_t { Letter, Number, Space, Symbol, Unknown };
} // namespace

static std::array<ByteKind, 256> makeByteKinds() {
  std::array<ByteKind, 256> kinds{};
  for (int32_t byte = 0; byte < 256; ++byte) {
    kinds[static_cast<size_t>(byte)] = byte >= 0x80          ? ByteKind::Other
                                       : isWhiteSpace(byte)  ? ByteKind::Space
                                       : isPunctuation(byte) ? ByteKind::Punctuation
                                                             : ByteKind::Word;
  }
  return kinds;
}

static ByteKind kindOf(int32_t codePoint) {
  return isWhiteSpace(codePoint)    ? ByteKind::Space
         : isPunctuation(codePoint) ? ByteKind::Punctuation
                                    : ByteKind::Word;
}

static TextKind textKindOf(int32_t codePoint) {
  return isWhiteSpace(codePoint) ? TextKind::Space
         : isLetter(codePoint)   ? TextKind::Letter
         : isNumber(codePoint)   ? TextKind::Number
                                 : TextKind::Symbol;
}

static std::array<TextKind, 256> makeTextKinds() {
  std::array<TextKind, 256> kinds{};
  for (int32_t byte = 0; byte < 256; ++byte) {
    kinds[static_cast<size_t>(byte)] = byte >= 0x80 ? TextKind::Unknown : textKindOf(byte);
  }
  return kinds;
}

/// Returns the kind of the character at a position, and its size in `bytes`.
static TextKind textKindAt(std::string_view text, size_t at, size_t &bytes) {
  static const std::array<TextKind, 256> kinds = makeTextKinds();
  const TextKind kind = kinds[static_cast<unsigned char>(text[at])];
  bytes = 1;
  if (kind != TextKind::Unknown) {
    return kind;
  }
  const Character character = firstCharacter(text.substr(at));
  bytes = character.bytes;
  return textKindOf(character.codePoint);
}

// --- Steps -------------------------------------------------------------------------------------

size_t firstByteLevelWord(std::string_view text) {
  for (const std::string_view contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text[0] == '\'' && text.starts_with(contraction)) {
      return contraction.size();
    }
  }
  size_t bytes = 0;
  size_t end = 0;
  TextKind kind = textKindAt(text, 0, bytes);
  if (text[0] == ' ' && text.size() > 1) {
    size_t next = 0;
    if (const TextKind after = textKindAt(text, 1, next); after != TextKind::Space) {
      kind = after;
      end = 1;
    }
  }
  size_t last = end;
  while (end < text.size() && textKindAt(text, end, bytes) == kind) {
    last = end;
    end += bytes;
  }
  // The last white space belongs to the next word, unless it is the only one.
  return kind == TextKind::Space && end < text.size() && last > 0 ? last : end;
}

/// Passes a word to the next step, or to the caller.
bool PreTokenizer::pass(std::string_view word, const Place &place, bool first) const {
  if (word.empty()) {
    return true;
  }
  if (place.step + 1 == steps.size()) {
    return place.sink(word);
  }
  return run(word, {place.step + 1, first, place.scratch, place.sink});
}

bool PreTokenizer::run(std::string_view text, const Place &place) const {
  return std::visit([&](const auto &step) { return apply(step, text, place); }, steps[place.step]);
}

bool PreTokenizer::apply(const Bert &step, std::string_view text, const Place &place) const {
  static const std::array<ByteKind, 256> byteKinds = makeByteKinds();
  size_t wordBegin = 0;
  size_t at = 0;
  const auto word = [&](size_t begin, size_t end) {
    return pass(text.substr(begin, end - begin), place, place.first && begin == 0);
  };
  while (at < text.size()) {
    ByteKind kind = byteKinds[static_cast<unsigned char>(text[at])];
    size_t bytes = 1;
    if (kind == ByteKind::Other) {
      const Character character = firstCharacter(text.substr(at));
      kind = kindOf(character.codePoint);
      bytes = character.bytes;
    }
    if (kind == ByteKind::Word) {
      at += bytes;
      continue;
    }
    if (!word(wordBegin, at) || (kind == ByteKind::Punctuation && !word(at, at + bytes))) {
      return false;
    }
    at += bytes;
    wordBegin = at;
  }
  return word(wordBegin, at);
}

bool PreTokenizer::apply(const ByteLevel &step, std::string_view text, const Place &place) const {
  std::string &spaced = place.scratch.texts[place.step];
  std::string &mapped = place.scratch.words[place.step];
  if (step.addPrefixSpace && text[0] != ' ') {
    spaced = " ";
    spaced += text;
    text = spaced;
  }
  bool first = place.first;
  while (!text.empty()) {
    const size_t bytes = step.split ? firstByteLevelWord(text) : text.size();
    mapped.clear();
    appendByteCharacters(text.substr(0, bytes), mapped);
    if (!pass(mapped, place, first)) {
      return false;
    }
    first = false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool PreTokenizer::apply(const Metaspace &step, std::string_view text, const Place &place) const {
  using Scheme = manifest::PrependScheme;
  std::string &spaced = place.scratch.texts[place.step];
  spaced.clear();
  const bool prepends =
      step.prepend == Scheme::Always || (step.prepend == Scheme::First && place.first);
  if (prepends && text[0] != ' ' && !text.starts_with(step.replacement)) {
    spaced += step.replacement;
  }
  for (const char byte : text) {
    if (byte == ' ') {
      spaced += step.replacement;
    } else {
      spaced.push_back(byte);
    }
  }
  const std::string_view whole = spaced;
  for (size_t begin = 0; begin < whole.size();) {
    // A word extends from one replacement to the next.
    const size_t next = step.split ? whole.find(step.replacement, begin + 1) : whole.npos;
    const size_t end = std::min(next, whole.size());
    if (!pass(whole.substr(begin, end - begin), place, place.first && begin == 0)) {
      return false;
    }
    begin = end;
  }
  return true;
}

bool PreTokenizer::apply(const WhiteSpace &step, std::string_view text, const Place &place) const {
  size_t wordBegin = 0;
  size_t at = 0;
  while (at < text.size()) {
    const Character character = firstCharacter(text.substr(at));
    if (isWhiteSpace(character.codePoint)) {
      if (!pass(text.substr(wordBegin, at - wordBegin), place, place.first && wordBegin == 0)) {
        return false;
      }
      wordBegin = at + character.bytes;
    }
    at += character.bytes;
  }
  return pass(text.substr(wordBegin), place, place.first && wordBegin == 0);
}

/// Returns whether a piece joins the one before it, given which of them are matches.
static bool joins(manifest::SplitBehavior behavior, bool wasMatch, bool isMatch) {
  switch (behavior) {
  case manifest::SplitBehavior::MergedWithPrevious:
    return isMatch && !wasMatch;
  case manifest::SplitBehavior::MergedWithNext:
    return wasMatch && !isMatch;
  case manifest::SplitBehavior::Contiguous:
    return isMatch == wasMatch;
  case manifest::SplitBehavior::Removed:
  case manifest::SplitBehavior::Isolated:
    break;
  }
  return false;
}

bool PreTokenizer::apply(const Split &step, std::string_view text, const Place &place) const {
  // The word that the next piece may join, and whether its last piece is a match.
  size_t wordBegin = 0;
  size_t wordEnd = 0;
  bool wasMatch = false;
  const auto passWord = [&] {
    const bool dropped = step.behavior == manifest::SplitBehavior::Removed && wasMatch;
    return dropped ||
           pass(text.substr(wordBegin, wordEnd - wordBegin), place, place.first && wordBegin == 0);
  };
  const auto add = [&](size_t end, bool isMatch) {
    if (end == wordEnd) {
      return true;
    }
    if (wordEnd > wordBegin && !joins(step.behavior, wasMatch, isMatch)) {
      if (!passWord()) {
        return false;
      }
      wordBegin = wordEnd;
    }
    wordEnd = end;
    wasMatch = isMatch;
    return true;
  };
  while (wordEnd < text.size()) {
    const std::optional<SplitPattern::Match> match = step.pattern.find(text, wordEnd);
    const size_t gapEnd = match ? match->begin : text.size();
    if (!add(gapEnd, step.invert) || (match && !add(match->end, !step.invert))) {
      return false;
    }
  }
  return passWord();
}

void PreTokenizer::split(std::string_view text, bool first, Scratch &scratch,
                         const Sink &sink) const {
  if (text.empty()) {
    return;
  }
  if (steps.empty()) {
    sink(text);
    return;
  }
  run(text, {0, first, scratch, sink});
}

} // namespace heddle
