// SPDX-License-Identifier: Apache-2.0
///
/// Masks equal the automaton's decision for each token, whatever states were kept or discarded.
#include "runtime/Constraint/Constraints.h"
#include "tests/formats/JsonSchema/SchemaSamples.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>

using namespace heddle;

/// Returns bytes, pieces of JSON, incomplete characters, tokens without a text and some that are
/// empty.
static std::vector<std::optional<std::string>> vocabulary() {
  std::vector<std::optional<std::string>> texts = {std::nullopt, std::nullopt, std::nullopt};
  for (int byte = 0; byte < 256; ++byte) {
    texts.emplace_back(std::string(1, static_cast<char>(byte)));
  }
  for (const char *piece :
       {"{\"",  "\":",   "\": ",  "\",\"", "\", \"", "\"}",  "}]",     "[{",       "null",
        "true", "false", "tr",    "12",    "123",    "-1",   "1.5",    "a",        "ab",
        "abc",  "a\"",   "a\": ", "\\n",   "\\u00",  "\xc3", "\xa4\"", "\xf0\x9f", "  ",
        " ",    "",      "\n",    "ab\",", "1,",     "1}",   "0]",     "\"a\":1"}) {
    texts.emplace_back(piece);
  }
  // Long ones, at most 40 characters or 20 items.
  texts.emplace_back(std::string(20, 'a'));
  texts.emplace_back(std::string(40, 'a') + "\"");
  texts.emplace_back(std::string(17, ' '));
  texts.emplace_back("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
  texts.emplace_back("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,");
  return texts;
}

static std::shared_ptr<const TokenTexts> tokens() {
  return std::make_shared<const TokenTexts>(vocabulary());
}

static bool passes(const TokenMask &mask, int32_t token) {
  return (mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
}

TEST(TokenTexts, AreSortedAndShareTheirBeginnings) {
  const auto all = tokens();
  EXPECT_EQ(all->size(), vocabulary().size());
  EXPECT_EQ(all->of(0), "");
  EXPECT_EQ(all->of(-1), "");
  EXPECT_EQ(all->of(100000), "");
  EXPECT_EQ(all->mostBytes(), 41U);
  size_t count = 0;
  for (const auto &[list, isLong] :
       {std::pair(all->shortOnes(), false), std::pair(all->longOnes(), true)}) {
    std::string before;
    for (const SortedToken &token : list) {
      const std::string text(all->of(token.id));
      EXPECT_EQ(text.size() > TokenTexts::mostShortBytes, isLong);
      EXPECT_LE(before, text);
      EXPECT_EQ(text.substr(0, token.common), before.substr(0, token.common));
      EXPECT_TRUE(text.size() == token.common || before.size() == token.common ||
                  text[token.common] != before[token.common]);
      before = text;
      ++count;
    }
  }
  // All but those without a text and the empty one.
  EXPECT_EQ(count, all->size() - 4);
  EXPECT_EQ(all->longOnes().size(), 5U);
}

/// Random walks by tokens: masks equal the decisions for single tokens, are the same in a
/// constraint that discards all states at every step, and lead to complete texts.
TEST(Constraint, MasksAreWhatMayFollow) {
  const auto all = tokens();
  const int32_t end[] = {2};
  std::mt19937_64 random(3);
  int walks = 0, ended = 0;
  for (int number = 0; number < 400; ++number) {
    const SampleJson schema = randomSchema(random);
    const auto kept = Constraint::create(schema.dump(), all, end);
    if (!kept.ok()) {
      continue;
    }
    const auto forgetful =
        *Constraint::create(schema.dump(), all, end, {.states = 4, .maskBytes = 0});
    ConstraintState state = (*kept)->start(), other = forgetful->start();
    std::string text;
    ++walks;
    for (int step = 0; step < 60; ++step) {
      const auto mask = (*kept)->mask(state);
      ASSERT_EQ(*mask, *forgetful->mask(other)) << text << "\n" << schema;
      const bool isWhole = (*kept)->isWhole(state);
      ASSERT_EQ(isWhole, forgetful->isWhole(other));
      ASSERT_EQ(passes(*mask, 2), isWhole);
      std::vector<int32_t> allowed;
      for (int32_t token = 3; token < static_cast<int32_t>(all->size()); ++token) {
        const bool follows = !all->of(token).empty() && (*kept)->follow(state, token).has_value();
        ASSERT_EQ(passes(*mask, token), follows) << text << "+" << all->of(token) << "\n" << schema;
        if (follows) {
          allowed.push_back(token);
        }
      }
      if (isWhole && (allowed.empty() || random() % 2 == 0)) {
        ASSERT_TRUE(isAnswer(text, schema)) << text << "\n" << schema;
        ++ended;
        break;
      }
      // Every byte is a token, so some token can always follow.
      ASSERT_FALSE(allowed.empty()) << text << "\n" << schema;
      int32_t token = allowed[random() % allowed.size()];
      for (const int32_t each : allowed) {
        const char last = all->of(each).back();
        token = step > 10 && (last == '}' || last == ']' || last == '"') ? each : token;
      }
      text += all->of(token);
      state = *(*kept)->follow(state, token);
      other = *forgetful->follow(other, token);
    }
  }
  EXPECT_GT(walks, 200);
  EXPECT_GT(ended, walks / 2);
}

/// Walks along a text by single bytes; after each, the mask equals the decisions for single tokens,
/// and the mask of a constraint that discards all states. Returns the number of different masks.
static size_t differentMasks(std::string_view schema, std::string_view text) {
  const auto all = tokens();
  const int32_t end[] = {2};
  const auto kept = *Constraint::create(schema, all, end);
  const auto forgetful = *Constraint::create(schema, all, end, {.states = 4, .maskBytes = 0});
  ConstraintState state = kept->start(), other = forgetful->start();
  // Kept here, so that no mask reuses the address of another.
  std::set<std::shared_ptr<const TokenMask>> masks;
  for (const char byte : text) {
    const auto mask = kept->mask(state);
    masks.insert(mask);
    EXPECT_EQ(*mask, *forgetful->mask(other));
    for (int32_t token = 3; token < static_cast<int32_t>(all->size()); ++token) {
      const bool follows = !all->of(token).empty() && kept->follow(state, token).has_value();
      EXPECT_EQ(passes(*mask, token), follows) << all->of(token);
    }
    const int32_t token = 3 + static_cast<unsigned char>(byte);
    state = *kept->follow(state, token);
    other = *forgetful->follow(other, token);
  }
  EXPECT_TRUE(kept->isWhole(state));
  return masks.size();
}

/// Far from its bounds, all positions in a string or a list have one mask.
TEST(Constraint, MasksAreKeptBetweenBounds) {
  const std::string letters(150, 'b');
  // The beginning, after the value, and the positions from which the longest token reaches a bound.
  EXPECT_LE(differentMasks(R"({"type": "string", "maxLength": 200})", '"' + letters + '"'), 4U);
  EXPECT_LE(differentMasks(R"({"type": "string", "maxLength": 150})", '"' + letters + '"'), 45U);
  EXPECT_LE(differentMasks(R"({"type": "string", "minLength": 140, "maxLength": 300})",
                           '"' + letters + '"'),
            45U);
  EXPECT_LE(differentMasks(R"({"anyOf": [{"type": "string", "maxLength": 160},
                                         {"type": "string", "minLength": 20, "maxLength": 155}]})",
                           '"' + letters + '"'),
            75U);
  std::string list = "[2";
  for (int i = 0; i < 100; ++i) {
    list += ",\"bbb\"";
  }
  list += ']';
  EXPECT_LE(
      differentMasks(R"({"type": "array", "maxItems": 160, "prefixItems": [{"type": "integer"}],
                               "items": {"type": "string", "maxLength": 60}})",
                     list),
      12U);
  EXPECT_LE(differentMasks(R"({"type": "array", "minItems": 90, "maxItems": 101})", list), 520U);
}

/// The number of states exceeds its bound by at most one token, even while a mask is computed.
TEST(Constraint, StatesAreBoundedWithinAMask) {
  std::vector<std::optional<std::string>> texts;
  std::mt19937_64 random(8);
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (int digit = 0; digit < 8; ++digit) {
      text += static_cast<char>('1' + random() % 9);
    }
    texts.emplace_back(text);
  }
  const auto all = std::make_shared<const TokenTexts>(texts);
  const auto make = [&](size_t states) {
    return *Constraint::create(R"({"type": "integer", "minimum": 0, "maximum": 50000000})", all, {},
                               {.states = states});
  };
  const auto bounded = make(100), unbounded = make(1 << 20);
  EXPECT_EQ(*bounded->mask(bounded->start()), *unbounded->mask(unbounded->start()));
  EXPECT_LT(bounded->size(), 130U);
  EXPECT_GT(unbounded->size(), 2000U);
}

TEST(Constraint, TokensWithoutATextChangeNothing) {
  const int32_t end[] = {2};
  const auto constraint = *Constraint::create("{\"const\": 1}", tokens(), end);
  const ConstraintState state = constraint->start();
  const auto same = constraint->follow(state, 0);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(*constraint->mask(*same), *constraint->mask(state));
  EXPECT_FALSE(constraint->follow(state, 3 + '2').has_value());
  const auto whole = constraint->follow(state, 3 + '1');
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(constraint->isWhole(*whole));
  EXPECT_TRUE(passes(*constraint->mask(*whole), 2));
}

TEST(Constraints, KeepTheLastFew) {
  int asked = 0;
  Constraints constraints(
      [&]() -> Result<std::vector<std::optional<std::string>>> {
        ++asked;
        return vocabulary();
      },
      {2});
  const auto first = *constraints.find("true");
  EXPECT_EQ(*constraints.find("true"), first);
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(constraints.find("{\"const\": " + std::to_string(i) + "}").ok());
  }
  EXPECT_EQ(*constraints.find("true"), first);
  for (int i = 10; i < 18; ++i) {
    ASSERT_TRUE(constraints.find("{\"const\": " + std::to_string(i) + "}").ok());
  }
  EXPECT_NE(*constraints.find("true"), first);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(constraints.find("false").status().message(),
            "schema: #: no text satisfies the schema: the schema is false");
  Constraints none([] { return HEDDLE_ERROR(Unsupported, "no texts"); }, {2});
  EXPECT_EQ(none.find("true").status().message(), "no texts");
}

/// Walks along an answer in a constraint that other threads use too; returns whether its masks
/// equal those of a private one.
static bool walksAsAlone(Constraint &shared, std::string_view schema,
                         const std::shared_ptr<const TokenTexts> &all, uint64_t seed) {
  const int32_t end[] = {2};
  const auto own = *Constraint::create(schema, all, end);
  ConstraintState state = shared.start(), other = own->start();
  std::mt19937_64 random(seed);
  for (int step = 0; step < 30; ++step) {
    const auto mask = own->mask(other);
    if (*shared.mask(state) != *mask || shared.isWhole(state) != own->isWhole(other)) {
      return false;
    }
    std::vector<int32_t> allowed;
    for (int32_t token = 3; token < static_cast<int32_t>(all->size()); ++token) {
      if (passes(*mask, token)) {
        allowed.push_back(token);
      }
    }
    if (allowed.empty()) {
      break;
    }
    const int32_t token = allowed[random() % allowed.size()];
    state = *shared.follow(state, token);
    other = *own->follow(other, token);
  }
  return true;
}

TEST(Constraints, AreForAllThreads) {
  const auto all = tokens();
  const int32_t end[] = {2};
  Constraints constraints(
      []() -> Result<std::vector<std::optional<std::string>>> { return vocabulary(); }, {2});
  // It is reset repeatedly while others hold its states.
  const std::string any = "{}";
  const auto forgetful = *Constraint::create(any, all, end, {.states = 40, .maskBytes = 300});
  std::array<bool, 4> good = {};
  std::vector<std::thread> threads;
  for (size_t number = 0; number < good.size(); ++number) {
    threads.emplace_back([&, number] {
      bool same = true;
      for (uint64_t i = 0; i < 40; ++i) {
        // More schemas than are kept.
        const std::string schema =
            "{\"type\": \"array\", \"minItems\": " + std::to_string((i + number) % 11) + "}";
        same = same && walksAsAlone(**constraints.find(schema), schema, all, i * 4 + number) &&
               walksAsAlone(*forgetful, any, all, i * 4 + number);
      }
      good[number] = same;
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, (std::array<bool, 4>{true, true, true, true}));
}
