// SPDX-License-Identifier: Apache-2.0
///
/// Regular expressions that are rejected, with the place, and sets of characters.
#include "formats/Tokenizer/PatternImport.h"

#include "formats/Tokenizer/Characters.h"
#include "formats/Tokenizer/PatternParser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

std::string refusal(const std::string &pattern) {
  const Result<std::vector<SplitBranch>> branches = translatePattern(pattern);
  EXPECT_FALSE(branches.ok()) << pattern;
  return branches.ok() ? "" : std::string(branches.status().message());
}

struct Refused {
  const char *pattern;
  const char *problem;
  int byte;
};

constexpr Refused refusedSyntax[] = {
    {"a)", "a \")\" without \"(\"", 2},
    {"a(b", "a \"(\" without \")\"", 2},
    {"a(?!b", "a \"(\" without \")\"", 2},
    {"[a", "a \"[\" without \"]\"", 1},
    {"é[]", "an empty class", 3},
    {"[b-a]", "a range that does not ascend", 2},
    {"[a-\\d]", "a range that does not ascend", 2},
    {"[a-", "a range that does not ascend", 2},
    {"[[:alpha:]]", "a class [:NAME:], which is not supported,", 2},
    {"^a", "the anchor ^, which is not supported,", 1},
    {"\\ba", "the escape \\b, which is not supported,", 1},
    {"(a)\\1", "the escape \\1, which is not supported,", 4},
    {"a\\", "a \"\\\" at its end", 2},
    {"*", "a quantifier of nothing", 1},
    {"a**", "a quantifier of a quantifier", 3},
    {"a+{2}", "a quantifier of a quantifier", 3},
    {"a{2}{3}", "a quantifier of a quantifier", 5},
    {"$+", "a quantifier of an anchor or a look-ahead", 2},
    {"a{3,2}", "a count that does not ascend from 0 to at most 1000", 2},
    {"a{1,99999999999}", "a count that does not ascend from 0 to at most 1000", 2},
    {"a{2}?", "a \"?\" after {n}", 5},
    {"a(?=b)", "a look-ahead (?=...), which is not supported,", 2},
    {"(?<=a)b", "a look-behind (?<=...), which is not supported,", 1},
    {"(?<!a)b", "a look-behind (?<!...), which is not supported,", 1},
    {"(?>a)b", "an atomic group (?>...), which is not supported,", 1},
    {"(?<n>a)", "a group of an unknown kind", 1},
    {"a(?!bc)", "a look-ahead (?!...) of more than one character, which is not supported,", 2},
    {"\\pL", "\\p without {NAME}", 1},
    {"[\\p{L]", "\\p without {NAME}", 2},
    {"\\p{Han}", "the property \"Han\", expected a general category,", 1},
    {"\\p{}", "the property \"\", expected a general category,", 1},
    {"\\x{110000}", "a number that is no code point", 4},
    {"\\uD800", "a number that is no code point", 3},
    {"\\u12", "a number that is no code point", 3},
    {"\\x{41", "a \"{\" without \"}\"", 1},
    {"\\xC3", "a byte that is no character", 1},
    {"(?i)x\\p{L}", "a class of 141028 characters under (?i), expected at most 4096,", 6},
    {"(?i)\\p{Lt}", "a character under (?i) that equals several in another case", 5},
    {"(?i)\\p{Pc}\\p{Mn}", "a property under (?i) that depends on case", 11},
    {"(?i)ß", "a character under (?i) that equals several in another case", 5},
    {"(?i)mass", "letters under (?i) that equal one character in another case", 8}};

TEST(PatternImportTest, RefusedSyntax) {
  for (const Refused &each : refusedSyntax) {
    EXPECT_EQ(refusal(each.pattern),
              fmt::format("the regular expression {} has {} at byte {}",
                          nlohmann::json(each.pattern).dump(), each.problem, each.byte));
  }
  EXPECT_EQ(refusal(std::string(8193, 'a')),
            "the regular expression has 8193 bytes, expected at most 8192");
  const auto deep = [](const char *open, const char *close) {
    std::string pattern = "x";
    for (int i = 0; i < 60; ++i) {
      pattern = open + pattern + close;
    }
    return refusal(pattern);
  };
  EXPECT_NE(deep("(", ")").find("groups inside groups, more than 50 deep, at byte 51"),
            std::string::npos);
  EXPECT_NE(deep("[", "]").find("classes inside classes, more than 50 deep, at byte 51"),
            std::string::npos);
}

TEST(PatternImportTest, RefusedMeaning) {
  for (const Refused &each : std::initializer_list<Refused>{
           {"x(?:a*)+", "a repeated part that may be empty", 2},
           {"a++[ab]", "a possessive quantifier which differs from a greedy one,", 1},
           {"a++a?b", "a possessive quantifier which differs from a greedy one,", 1},
           {"x(?:a++b?){2}", "a possessive quantifier which differs from a greedy one,", 5},
           {"(?:ab)++c", "a possessive quantifier which differs from a greedy one,", 1},
           {"\\s++(?:$|x)", "a possessive quantifier which differs from a greedy one,", 1},
           {"a|b*", "an alternative that matches the empty text", 3},
           {"a||b", "an alternative that matches the empty text", 3},
           {"a(?!b)|c",
            "a look-ahead which is not of the kind \\s+(?!\\S) and an alternative of its own,", 2},
           {"x\\s+(?!\\S)",
            "a look-ahead which is not of the kind \\s+(?!\\S) and an alternative of its own,", 5},
           {"\\s+(?!x)",
            "a look-ahead which is not of the kind \\s+(?!\\S) and an alternative of its own,", 4},
           {"(\\s+(?!\\S))+",
            "a look-ahead which is not of the kind \\s+(?!\\S) and an alternative of its own,",
            5}}) {
    EXPECT_EQ(refusal(each.pattern),
              fmt::format("the regular expression {} has {} at byte {}",
                          nlohmann::json(each.pattern).dump(), each.problem, each.byte));
  }
}

TEST(PatternImportTest, RefusedSizes) {
  EXPECT_EQ(refusal("(?:[a-z]{1000}){999}"),
            "the regular expression \"(?:[a-z]{1000}){999}\": RE2 refuses the pattern: invalid "
            "repetition size: {999,999}");
  EXPECT_NE(refusal("\\p{L}{500}").find("instructions, expected at most 50000"), std::string::npos);
  std::string classes = "x";
  for (int i = 0; i < 200; ++i) {
    classes += "\\p{L}";
  }
  EXPECT_TRUE(refusal(classes).ends_with(
      "\" has too many large classes: they take more than 1048576 bytes"));
}

TEST(PatternImportTest, Branches) {
  const auto branches = translatePattern("a|b?c|(?:\\s{2,}(?!\\S)|[^\\s])|d+?$|\\s++(?!\\S)");
  ASSERT_TRUE(branches.ok()) << branches.status().message();
  ASSERT_EQ(branches->size(), 3u);
  EXPECT_EQ((*branches)[0].expression, "[\\x{61}]|[\\x{62}]{0,1}[\\x{63}]");
  EXPECT_EQ((*branches)[0].least, 0u);
  EXPECT_EQ((*branches)[1].least, 2u);
  EXPECT_TRUE((*branches)[2].expression.ends_with("{1,}\\z"));
  EXPECT_NE((*branches)[2].expression.find("|[\\x{64}]{1,}?(?m:$)|"), std::string::npos);
}

TEST(PatternImportTest, LookAhead) {
  const auto branches = translatePattern("\\s{2,}(?!\\S)|[^\\s]+");
  ASSERT_TRUE(branches.ok()) << branches.status().message();
  const Result<SplitPattern> pattern = SplitPattern::load(*branches);
  const auto found = [&](std::string_view text, size_t from) {
    const std::optional<SplitPattern::Match> match = pattern->find(text, from);
    return match ? std::pair(match->begin, match->end) : std::pair<size_t, size_t>(99, 99);
  };
  EXPECT_EQ(found("   x", 0), std::pair(size_t(0), size_t(2)));
  EXPECT_EQ(found("  x", 0), std::pair(size_t(2), size_t(3)));
  EXPECT_EQ(found("\u3000\u3000\u3000x", 0), std::pair(size_t(0), size_t(6)));
  EXPECT_EQ(found("  ", 0), std::pair(size_t(0), size_t(2)));
  EXPECT_EQ(found(" ", 0), std::pair(size_t(99), size_t(99)));
  EXPECT_EQ(found("", 0), std::pair(size_t(99), size_t(99)));
}

TEST(CharacterSetTest, Algebra) {
  CharacterSet set('b', 'd');
  set.add(CharacterSet('f', 'f'));
  set.add(CharacterSet('e', 'e'));
  EXPECT_EQ(set, CharacterSet('b', 'f'));
  EXPECT_EQ(set.size(), 5);
  EXPECT_EQ(set.complement().complement(), set);
  EXPECT_TRUE(set.intersection(set.complement()).empty());
  EXPECT_EQ(CharacterSet(0, 0x10FFFF).complement(), CharacterSet());
  EXPECT_EQ(set.intersection(CharacterSet('e', 'z')), CharacterSet('e', 'f'));
  EXPECT_FALSE(set.contains('a'));
  EXPECT_TRUE(set.contains('f'));
  EXPECT_EQ(CharacterSet::of({'c', 'a', 'b', 'a'}), CharacterSet('a', 'c'));
  EXPECT_EQ(set.expression(), "[\\x{62}-\\x{66}]");
  EXPECT_FALSE(CharacterSet::category("Lx"));
  // The sizes of categories in the reference's regular expressions.
  const std::pair<const char *, int64_t> sizes[] = {
      {"L", 141028}, {"Lu", 1858}, {"Ll", 2258}, {"Lt", 31},  {"Lm", 404},   {"M", 2501},
      {"Mc", 468},   {"N", 1911},  {"Nd", 760},  {"Nl", 236}, {"P", 855},    {"Po", 640},
      {"S", 8514},   {"Z", 19},    {"Cc", 65},   {"Cf", 170}, {"Co", 137468}};
  for (const auto &[name, size] : sizes) {
    EXPECT_EQ(CharacterSet::category(name)->size(), size) << name;
  }
}

TEST(CharacterSetTest, EmptyClassMatchesNothing) {
  const Result<SplitPattern> pattern = SplitPattern::load(characterPattern(CharacterSet()));
  ASSERT_TRUE(pattern.ok()) << pattern.status().message();
  EXPECT_FALSE(pattern->find("a\u6771", 0));
}

TEST(CharacterSetTest, Case) {
  const CaseFolding folding;
  CharacterSet s('s', 's');
  s.add(CharacterSet('S', 'S'));
  s.add(CharacterSet(0x17F, 0x17F));
  EXPECT_EQ(folding.closure(CharacterSet('S', 'S')), s);
  EXPECT_EQ(folding.closure(CharacterSet('1', '9')), CharacterSet('1', '9'));
  EXPECT_TRUE(folding.isSeveral(0xDF));
  EXPECT_TRUE(folding.spellsOne({'a', 'f', 'F'}));
  EXPECT_FALSE(folding.spellsOne({'l', 'l'}));
}

} // namespace
} // namespace heddle
