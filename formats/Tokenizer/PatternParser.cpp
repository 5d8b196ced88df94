// SPDX-License-Identifier: Apache-2.0
///
/// Recursive descent. Ruby's syntax takes precedence where syntaxes differ: `{n,m}+` repeats what
/// `{n,m}` matches, classes may contain classes, and `$` is the end of a line.
#include "formats/Tokenizer/PatternParser.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace heddle {

using Kind = PatternNode::Kind;

namespace {

/// Reads one pattern.
class PatternParser {
public:
  explicit PatternParser(std::string_view pattern) : pattern(pattern) {}

  Result<PatternNode> parse();

private:
  /// A character of a class, or a set in it.
  struct ClassItem {
    std::optional<int32_t> character;
    CharacterSet set;
  };
  /// A repetition count.
  struct Count {
    uint32_t least;
    uint32_t most;
  };

  Result<PatternNode> parseChoice(int depth);
  Result<PatternNode> parseSequence(int depth);
  Result<PatternNode> parseQuantifiers(PatternNode part);
  Result<PatternNode> parseAtom(int depth);
  Result<PatternNode> parseGroup(int depth);
  Result<PatternNode> parseLookAhead(size_t begin, int depth);
  Result<PatternNode> parseEscape();
  Result<CharacterSet> parseClass(int depth);
  Result<ClassItem> parseClassItem(int depth);
  Result<std::optional<CharacterSet>> parseSetEscape(bool inClass);
  Result<CharacterSet> parseProperty(bool negated);
  Result<int32_t> parseCharacterEscape();
  Result<int32_t> parseHexadecimal(size_t least, size_t most);
  std::optional<Count> parseInterval();
  std::optional<Count> parseCount();

  Result<CharacterSet> foldClass(CharacterSet set, size_t begin) const;
  Status checkSpelling(const PatternNode &sequence) const;
  PatternNode setNode(CharacterSet set, size_t begin) const {
    return {.kind = Kind::Set, .at = begin, .set = std::move(set)};
  }
  Status error(size_t place, std::string_view problem) const {
    return patternError(pattern, place, problem);
  }

  bool done() const { return at == pattern.size(); }
  bool isNext(std::string_view text) const { return pattern.substr(at).starts_with(text); }
  bool take(std::string_view text) {
    const bool found = isNext(text);
    at += found ? text.size() : 0;
    return found;
  }
  int32_t takeCharacter() {
    const Character character = firstCharacter(pattern.substr(at));
    at += character.bytes;
    return character.codePoint;
  }

  static constexpr int depthLimit = 50;

  std::string_view pattern;
  size_t at = 0;
  bool ignoresCase = false;
  // The literal characters under case folding, by their places.
  std::vector<std::pair<size_t, int32_t>> literals;
};

} // namespace

Status patternError(std::string_view pattern, size_t at, std::string_view problem) {
  return HEDDLE_ERROR(Unsupported, fmt::format("the regular expression {} has {} at byte {}",
                                               quote(pattern), problem, at + 1));
}

static const CaseFolding &caseFolding() {
  static const CaseFolding folding;
  return folding;
}

/// Returns the union of categories.
static CharacterSet categories(std::initializer_list<std::string_view> names) {
  CharacterSet result;
  for (const std::string_view name : names) {
    result.add(CharacterSet::category(name).value_or(CharacterSet()));
  }
  return result;
}

static CharacterSet whiteSpace() {
  CharacterSet set = categories({"Z"});
  set.add(CharacterSet('\t', '\r'));
  set.add(CharacterSet(0x85, 0x85));
  return set;
}

static CharacterSet wordCharacters(bool inClass) {
  CharacterSet set = categories({"L", "M", "Nd", "Nl", "Pc"});
  // Circled and squared letters count as alphabetic.
  for (const auto &[first, last] :
       {std::pair{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}}) {
    set.add(CharacterSet(first, last));
  }
  if (!inClass) {
    // Oniguruma treats the numbers of Latin-1 as word characters, but not inside classes.
    set.add(CharacterSet::of({0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE}));
  }
  return set;
}

static CharacterSet hexadecimalDigits() {
  CharacterSet set('0', '9');
  set.add(CharacterSet('A', 'F'));
  set.add(CharacterSet('a', 'f'));
  return set;
}

Result<PatternNode> PatternParser::parse() {
  // Published patterns have some hundred bytes.
  constexpr size_t patternLimit = 8192;
  if (pattern.size() > patternLimit) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("the regular expression has {} bytes, expected at most {}",
                                    pattern.size(), patternLimit));
  }
  HEDDLE_ASSIGN(PatternNode node, parseChoice(0));
  if (!done()) {
    return error(at, "a \")\" without \"(\"");
  }
  return node;
}

Result<PatternNode> PatternParser::parseChoice(int depth) {
  PatternNode choice{.kind = Kind::Choice, .at = at};
  do {
    HEDDLE_ASSIGN(PatternNode part, parseSequence(depth));
    choice.parts.push_back(std::move(part));
  } while (take("|"));
  return choice.parts.size() == 1 ? PatternNode(std::move(choice.parts[0])) : std::move(choice);
}

Result<PatternNode> PatternParser::parseSequence(int depth) {
  PatternNode sequence{.kind = Kind::Sequence, .at = at};
  while (!done() && !isNext("|") && !isNext(")")) {
    if (take("(?i)")) {
      // In Ruby, the option puts the alternatives after it into a separate group.
      const bool outer = std::exchange(ignoresCase, true);
      HEDDLE_ASSIGN(PatternNode rest, parseChoice(depth));
      ignoresCase = outer;
      sequence.parts.push_back(std::move(rest));
      continue;
    }
    HEDDLE_ASSIGN(PatternNode part, parseAtom(depth));
    HEDDLE_ASSIGN(part, parseQuantifiers(std::move(part)));
    sequence.parts.push_back(std::move(part));
  }
  HEDDLE_TRY(checkSpelling(sequence));
  return sequence;
}

/// Under case folding, several letters may equal one: "ss" would match a sharp s too.
Status PatternParser::checkSpelling(const PatternNode &sequence) const {
  std::vector<int32_t> characters;
  for (const PatternNode &part : sequence.parts) {
    const auto literal = std::find_if(literals.begin(), literals.end(),
                                      [&](const auto &known) { return known.first == part.at; });
    if (part.kind != Kind::Set || literal == literals.end()) {
      characters.clear();
      continue;
    }
    characters.push_back(literal->second);
    if (caseFolding().spellsOne(characters)) {
      return error(part.at, "letters under (?i) that equal one character in another case");
    }
  }
  return {};
}

/// Parses {n}, {n,}, {,m} or {n,m}; nullopt, consuming nothing, if the brace is an ordinary
/// character.
std::optional<PatternParser::Count> PatternParser::parseInterval() {
  constexpr uint32_t tooMany = 100'000;
  size_t next = at + 1;
  const auto number = [&](uint32_t &value) {
    const size_t begin = next;
    while (next < pattern.size() && pattern[next] >= '0' && pattern[next] <= '9') {
      value = std::min(tooMany, value * 10 + static_cast<uint32_t>(pattern[next++] - '0'));
    }
    return next > begin;
  };
  Count count{0, 0};
  const bool hasLeast = number(count.least);
  count.most = count.least;
  bool hasMost = hasLeast;
  if (next < pattern.size() && pattern[next] == ',') {
    ++next;
    count.most = 0;
    hasMost = number(count.most);
    count.most = hasMost ? count.most : PatternNode::any;
  }
  if ((!hasLeast && !hasMost) || next >= pattern.size() || pattern[next] != '}') {
    return std::nullopt;
  }
  at = next + 1;
  return count;
}

/// Parses the quantifier at this place, if there is one.
std::optional<PatternParser::Count> PatternParser::parseCount() {
  if (isNext("{")) {
    return parseInterval();
  }
  return take("*")   ? std::optional(Count{0, PatternNode::any})
         : take("+") ? std::optional(Count{1, PatternNode::any})
         : take("?") ? std::optional(Count{0, 1})
                     : std::nullopt;
}

Result<PatternNode> PatternParser::parseQuantifiers(PatternNode part) {
  // RE2 has the same limit.
  constexpr uint32_t countLimit = 1000;
  // A + after {n,m} repeats it; after other quantifiers it makes them possessive.
  bool repeats = false;
  bool afterInterval = false;
  while (!done()) {
    const size_t begin = at;
    const bool isInterval = isNext("{");
    const bool isPlus = isNext("+");
    const std::optional<Count> count = parseCount();
    if (!count) {
      break;
    }
    if (repeats && !(afterInterval && isPlus)) {
      return error(begin, "a quantifier of a quantifier");
    }
    if (!repeats && part.kind != Kind::Set && part.kind != Kind::Sequence) {
      return error(begin, "a quantifier of an anchor or a look-ahead");
    }
    if (count->least > countLimit ||
        (count->most != PatternNode::any && count->most > countLimit) ||
        count->least > count->most) {
      return error(begin,
                   fmt::format("a count that does not ascend from 0 to at most {}", countLimit));
    }
    PatternNode repeat{
        .kind = Kind::Repeat, .at = part.at, .least = count->least, .most = count->most};
    if (isInterval && isNext("?") && count->least == count->most) {
      return error(at, "a \"?\" after {n}");
    }
    repeat.lazy = take("?");
    repeat.possessive = !isInterval && !repeat.lazy && take("+");
    repeat.parts.push_back(std::move(part));
    part = std::move(repeat);
    repeats = true;
    afterInterval = isInterval;
  }
  return part;
}

Result<PatternNode> PatternParser::parseAtom(int depth) {
  const size_t begin = at;
  if (take("(")) {
    return parseGroup(depth);
  }
  if (take("[")) {
    HEDDLE_ASSIGN(CharacterSet set, parseClass(depth));
    return setNode(std::move(set), begin);
  }
  if (take(".")) {
    return setNode(CharacterSet('\n', '\n').complement(), begin);
  }
  if (take("$")) {
    return PatternNode{.kind = Kind::LineEnd, .at = begin};
  }
  if (isNext("\\")) {
    return parseEscape();
  }
  if (isNext("^")) {
    return error(begin, "the anchor ^, which is not supported,");
  }
  if (isNext("*") || isNext("+") || isNext("?")) {
    return error(begin, "a quantifier of nothing");
  }
  const int32_t codePoint = takeCharacter();
  if (!ignoresCase) {
    return setNode(CharacterSet(codePoint, codePoint), begin);
  }
  literals.emplace_back(begin, codePoint);
  HEDDLE_ASSIGN(CharacterSet set, foldClass(CharacterSet(codePoint, codePoint), begin));
  return setNode(std::move(set), begin);
}

/// Returns all characters that equal one of the set under case folding.
Result<CharacterSet> PatternParser::foldClass(CharacterSet set, size_t begin) const {
  constexpr int64_t foldedLimit = 4096;
  if (!ignoresCase) {
    return set;
  }
  if (set.size() > foldedLimit) {
    return error(begin, fmt::format("a class of {} characters under (?i), expected at most {},",
                                    set.size(), foldedLimit));
  }
  bool isSeveral = false;
  set.each([&](int32_t codePoint) { isSeveral = isSeveral || caseFolding().isSeveral(codePoint); });
  if (isSeveral) {
    return error(begin, "a character under (?i) that equals several in another case");
  }
  return caseFolding().closure(set);
}

/// Parses a group, after "(".
Result<PatternNode> PatternParser::parseGroup(int depth) {
  const size_t begin = at - 1;
  if (depth == depthLimit) {
    return error(begin, fmt::format("groups inside groups, more than {} deep,", depthLimit));
  }
  if (take("?!")) {
    return parseLookAhead(begin, depth);
  }
  const bool outer = ignoresCase;
  if (take("?i:")) {
    ignoresCase = true;
  } else if (take("?-i:")) {
    ignoresCase = false;
  } else if (!take("?:") && isNext("?")) {
    for (const auto &[text, name] : {std::pair{"?=", "a look-ahead (?=...)"},
                                     {"?<=", "a look-behind (?<=...)"},
                                     {"?<!", "a look-behind (?<!...)"},
                                     {"?>", "an atomic group (?>...)"}}) {
      if (isNext(text)) {
        return error(begin, fmt::format("{}, which is not supported,", name));
      }
    }
    return error(begin, "a group of an unknown kind");
  }
  HEDDLE_ASSIGN(PatternNode node, parseChoice(depth + 1));
  ignoresCase = outer;
  if (!take(")")) {
    return error(begin, "a \"(\" without \")\"");
  }
  node.at = begin;
  // A group is repeated as a whole, so its quantifier does not follow another quantifier.
  PatternNode group{.kind = Kind::Sequence, .at = begin};
  group.parts.push_back(std::move(node));
  return group;
}

/// Parses a look-ahead, after "(?!": one character that must not follow.
Result<PatternNode> PatternParser::parseLookAhead(size_t begin, int depth) {
  HEDDLE_ASSIGN(PatternNode inner, parseChoice(depth + 1));
  while (inner.parts.size() == 1 && (inner.kind == Kind::Sequence || inner.kind == Kind::Choice)) {
    inner = PatternNode(std::move(inner.parts[0]));
  }
  if (!take(")")) {
    return error(begin, "a \"(\" without \")\"");
  }
  if (inner.kind != Kind::Set) {
    return error(begin, "a look-ahead (?!...) of more than one character, which is not supported,");
  }
  return PatternNode{.kind = Kind::NotBefore, .at = begin, .set = std::move(inner.set)};
}

/// Parses a "\" outside classes.
Result<PatternNode> PatternParser::parseEscape() {
  const size_t begin = at;
  if (take("\\z")) {
    return PatternNode{.kind = Kind::TextEnd, .at = begin};
  }
  HEDDLE_ASSIGN(std::optional<CharacterSet> set, parseSetEscape(false));
  if (set) {
    if (ignoresCase) {
      HEDDLE_ASSIGN(const CharacterSet folded, foldClass(*set, begin));
      if (folded != *set) {
        return error(begin, "a property under (?i) that depends on case");
      }
    }
    return setNode(*std::move(set), begin);
  }
  HEDDLE_ASSIGN(const int32_t codePoint, parseCharacterEscape());
  if (ignoresCase) {
    literals.emplace_back(begin, codePoint);
  }
  HEDDLE_ASSIGN(CharacterSet folded, foldClass(CharacterSet(codePoint, codePoint), begin));
  return setNode(std::move(folded), begin);
}

/// Parses \s, \p{L} and similar; nullopt, consuming nothing, for other escapes.
Result<std::optional<CharacterSet>> PatternParser::parseSetEscape(bool inClass) {
  const char letter = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
  std::optional<CharacterSet> set;
  switch (letter) {
  case 's':
  case 'S':
    set = whiteSpace();
    break;
  case 'd':
  case 'D':
    set = categories({"Nd"});
    break;
  case 'w':
  case 'W':
    set = wordCharacters(inClass);
    break;
  case 'h':
  case 'H':
    set = hexadecimalDigits();
    break;
  case 'p':
  case 'P': {
    at += 2;
    HEDDLE_ASSIGN(set, parseProperty(letter == 'P'));
    return set;
  }
  default:
    return set;
  }
  at += 2;
  return letter < 'a' ? std::optional(set->complement()) : std::move(set);
}

/// Parses a property, after \p or \P: {L}, {^L}.
Result<CharacterSet> PatternParser::parseProperty(bool negated) {
  const size_t begin = at - 2;
  const size_t end = pattern.find('}', at);
  if (!isNext("{") || end == pattern.npos) {
    return error(begin, "\\p without {NAME}");
  }
  std::string_view name = pattern.substr(at + 1, end - at - 1);
  at = end + 1;
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  std::optional<CharacterSet> set = CharacterSet::category(name);
  if (!set) {
    return error(begin, fmt::format("the property {}, expected a general category,", quote(name)));
  }
  return negated ? set->complement() : *std::move(set);
}

Result<int32_t> PatternParser::parseHexadecimal(size_t least, size_t most) {
  const size_t begin = at;
  int32_t value = 0;
  while (!done() && at - begin < most && hexadecimalDigits().contains(pattern[at])) {
    const char digit = pattern[at++];
    value = value * 16 + (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
  }
  if (at - begin < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    return error(begin, "a number that is no code point");
  }
  return value;
}

/// Parses an escape that stands for one character.
Result<int32_t> PatternParser::parseCharacterEscape() {
  const size_t begin = at;
  take("\\");
  if (done()) {
    return error(begin, "a \"\\\" at its end");
  }
  for (const auto &[letter, codePoint] : {std::pair{"n", '\n'},
                                          {"r", '\r'},
                                          {"t", '\t'},
                                          {"f", '\f'},
                                          {"v", '\v'},
                                          {"a", '\a'},
                                          {"e", '\x1B'}}) {
    if (take(letter)) {
      return int32_t(codePoint);
    }
  }
  if (take("x{")) {
    HEDDLE_ASSIGN(const int32_t value, parseHexadecimal(1, 6));
    if (!take("}")) {
      return error(begin, "a \"{\" without \"}\"");
    }
    return value;
  }
  if (take("u")) {
    return parseHexadecimal(4, 4);
  }
  if (take("x")) {
    HEDDLE_ASSIGN(const int32_t value, parseHexadecimal(1, 2));
    if (value >= 0x80) {
      return error(begin, "a byte that is no character");
    }
    return value;
  }
  const int32_t codePoint = takeCharacter();
  const bool isSpecial = (codePoint >= '0' && codePoint <= '9') ||
                         (codePoint >= 'a' && codePoint <= 'z') ||
                         (codePoint >= 'A' && codePoint <= 'Z');
  if (isSpecial) {
    return error(begin, fmt::format("the escape \\{}, which is not supported,",
                                    static_cast<char>(codePoint)));
  }
  return codePoint;
}

// --- Classes ---------------------------------------------------------------------------------

/// Parses one member of a class.
Result<PatternParser::ClassItem> PatternParser::parseClassItem(int depth) {
  const size_t begin = at;
  if (isNext("[:")) {
    return error(begin, "a class [:NAME:], which is not supported,");
  }
  if (take("[")) {
    HEDDLE_ASSIGN(CharacterSet set, parseClass(depth + 1));
    return ClassItem{std::nullopt, std::move(set)};
  }
  if (isNext("\\")) {
    HEDDLE_ASSIGN(std::optional<CharacterSet> set, parseSetEscape(true));
    if (set) {
      return ClassItem{std::nullopt, *std::move(set)};
    }
    HEDDLE_ASSIGN(const int32_t codePoint, parseCharacterEscape());
    return ClassItem{codePoint, CharacterSet(codePoint, codePoint)};
  }
  const int32_t codePoint = takeCharacter();
  return ClassItem{codePoint, CharacterSet(codePoint, codePoint)};
}

/// Parses a class, after "[", including "]".
Result<CharacterSet> PatternParser::parseClass(int depth) {
  const size_t begin = at - 1;
  if (depth == depthLimit) {
    return error(begin, fmt::format("classes inside classes, more than {} deep,", depthLimit));
  }
  const bool negated = take("^");
  if (isNext("]")) {
    return error(begin, "an empty class");
  }
  std::optional<CharacterSet> left;
  CharacterSet set;
  while (!take("]")) {
    if (done()) {
      return error(begin, "a \"[\" without \"]\"");
    }
    if (take("&&")) {
      left = left ? left->intersection(set) : std::move(set);
      set = {};
      continue;
    }
    const size_t place = at;
    HEDDLE_ASSIGN(ClassItem item, parseClassItem(depth));
    const bool isRange = isNext("-") && !isNext("-]") && item.character;
    if (isRange) {
      take("-");
      HEDDLE_ASSIGN(const ClassItem last,
                    done() ? Result<ClassItem>(ClassItem{}) : parseClassItem(depth));
      if (!last.character || *last.character < *item.character) {
        return error(place, "a range that does not ascend");
      }
      item.set = CharacterSet(*item.character, *last.character);
    }
    set.add(item.set);
  }
  set = left ? left->intersection(set) : std::move(set);
  HEDDLE_ASSIGN(set, foldClass(std::move(set), begin));
  return negated ? set.complement() : std::move(set);
}

Result<PatternNode> parsePattern(std::string_view pattern) {
  return PatternParser(pattern).parse();
}

} // namespace heddle
