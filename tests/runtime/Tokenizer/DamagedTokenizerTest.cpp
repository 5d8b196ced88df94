// SPDX-License-Identifier: Apache-2.0
///
/// Damaged tables. Each is rejected with its own message.
#include "tests/runtime/Tokenizer/SmallTokenizer.h"

#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

struct Damage {
  const char *name;
  StatusCode code;
  std::function<void(SmallTokenizer &)> apply;
  const char *message;
};

class DamagedTokenizerTest : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTokenizerTest, IsRefused) {
  SmallTokenizer table;
  ASSERT_TRUE(table.load().ok());
  GetParam().apply(table);
  const Result<Tokenizer> result = table.load();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), GetParam().code);
  EXPECT_EQ(result.status().message(), GetParam().message);
}

template <typename Kind> Kind kind(int value) { return static_cast<Kind>(value); }

using T = SmallTokenizer;
const Damage damages[] = {
    {"IdsNotAscending", StatusCode::DataLoss,
     [](T &t) { t.ids = {0, 1, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}; },
     "vocabulary: id 2 follows id 3, expected them in ascending order"},
    {"NoTokens", StatusCode::DataLoss,
     [](T &t) {
       t.ids.emplace();
       t.offsets = {0};
     },
     "vocabulary: no tokens, expected at least one"},
    {"IdTooLarge", StatusCode::DataLoss,
     [](T &t) { t.ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x80000000}; },
     "vocabulary: id 2147483648, expected at most 2147483647"},
    {"OffsetsTooFew", StatusCode::DataLoss, [](T &t) { t.offsets = {0, 5}; },
     "vocabulary: 2 offsets for 14 tokens, expected 15"},
    {"OffsetsOfAnotherText", StatusCode::DataLoss, [](T &t) { t.tokenText = "abc"; },
     "vocabulary: offsets from 0 to 40, expected from 0 to 3"},
    {"OffsetsFall", StatusCode::DataLoss,
     [](T &t) {
       t.tokenText = "abcdefg";
       t.offsets = {0, 1, 9, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 7};
     },
     "vocabulary: offset 9 follows 1, expected them in ascending order up to 7"},
    {"OffsetInsideCharacter", StatusCode::DataLoss,
     [](T &t) {
       t.tokenText = "é";
       t.offsets = {0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
     },
     "vocabulary: token 2 begins inside a character, at offset 1"},
    {"NotUtf8", StatusCode::DataLoss,
     [](T &t) {
       t.tokenText = "a\xff";
       t.offsets = {0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
     },
     "vocabulary: text is not UTF-8 at offset 1"},
    {"SlotsNotPowerOfTwo", StatusCode::DataLoss, [](T &t) { t.slots.emplace(3); },
     "vocabulary: hash table of 3 places, expected a power of two"},
    {"NoSlots", StatusCode::DataLoss, [](T &t) { t.slots.emplace(); },
     "vocabulary: hash table of 0 places, expected a power of two"},
    {"SlotOutOfRange", StatusCode::DataLoss, [](T &t) { t.slots = {{0, 15}, {0, 0}}; },
     "vocabulary: hash table names token 15 of 14"},
    {"SlotsFull", StatusCode::DataLoss, [](T &t) { t.slots = {{0, 1}, {0, 2}}; },
     "vocabulary: hash table of 2 places has none free"},
    {"UnknownIdUnknown", StatusCode::DataLoss, [](T &t) { t.unknownId = 99; },
     "vocabulary: no token has the unknown id 99"},
    {"UnknownIdNegative", StatusCode::DataLoss, [](T &t) { t.unknownId = 0xFFFFFFFF; },
     "vocabulary: no token has the unknown id 4294967295"},
    {"NormalizerKind", StatusCode::Unsupported,
     [](T &t) { t.normalizerKind = kind<manifest::Normalizer>(77); },
     "tokenizer: a normalizer of kind 77, expected at most 10"},
    {"NormalizerMissing", StatusCode::DataLoss, [](T &t) { t.normalizerPresent = false; },
     "tokenizer: the normalizer is missing"},
    {"PreTokenizerKind", StatusCode::Unsupported,
     [](T &t) { t.preTokenizerKind = kind<manifest::PreTokenizer>(77); },
     "tokenizer: a pre-tokenizer of kind 77, expected at most 6"},
    {"DecoderKind", StatusCode::Unsupported,
     [](T &t) { t.decoderKind = kind<manifest::Decoder>(77); },
     "tokenizer: a decoder of kind 77, expected at most 9"},
    {"DecoderMissing", StatusCode::DataLoss, [](T &t) { t.decoderPresent = false; },
     "tokenizer: the decoder is missing"},
    {"ModelKind", StatusCode::Unsupported,
     [](T &t) { t.modelKind = kind<manifest::TokenizerModel>(77); },
     "tokenizer: a model of kind 77, expected at most 5"},
    {"ModelMissing", StatusCode::DataLoss,
     [](T &t) { t.modelKind = manifest::TokenizerModel::NONE; }, "tokenizer: the model is missing"},
    {"AddedIdTooLarge", StatusCode::DataLoss, [](T &t) { t.added.push_back({"[X]", 0x80000000}); },
     "tokenizer: added token \"[X]\" has id 2147483648, expected at most 2147483647"},
    {"AddedNotUtf8", StatusCode::DataLoss, [](T &t) { t.added.push_back({"\xc3", 4}); },
     "tokenizer: added token \"\\xc3\" is not UTF-8"},
    {"TemplatePieceKind", StatusCode::Unsupported,
     [](T &t) { t.pieces[0] = {kind<manifest::TemplatePieceKind>(9), 2, 0}; },
     "tokenizer: a template piece of kind 9, expected at most 1"},
    {"PairPieceKind", StatusCode::Unsupported,
     [](T &t) { t.pair = {{kind<manifest::TemplatePieceKind>(9), 2, 0}}; },
     "tokenizer: a template piece of kind 9, expected at most 2"},
    {"PairIdUnknown", StatusCode::DataLoss, [](T &t) { t.pair = {{T::token, 77, 0}}; },
     "tokenizer: the template of pairs has id 77, which no token has"},
    {"PairWithoutSecondText", StatusCode::DataLoss,
     [](T &t) { t.pair = {{T::token, 2, 0}, {T::text, 0, 0}}; },
     "tokenizer: the template of pairs contains its texts 1 and 0 times, expected once"},
    {"TemplateIdUnknown", StatusCode::DataLoss, [](T &t) { t.pieces[0] = {T::token, 77, 0}; },
     "tokenizer: the template has id 77, which no token has"},
    {"TemplateWithoutText", StatusCode::DataLoss,
     [](T &t) { t.pieces.pop_back(), t.pieces.pop_back(); },
     "tokenizer: the template contains the text 0 times, expected once"},
    {"TemplateWithTextTwice", StatusCode::DataLoss,
     [](T &t) { t.pieces.push_back({T::text, 0, 0}); },
     "tokenizer: the template contains the text 2 times, expected once"},
    {"NoRoom", StatusCode::DataLoss, [](T &t) { t.maxLength = 1; },
     "tokenizer: at most 1 ids for a text, expected at least the 2 of the template"},
};

INSTANTIATE_TEST_SUITE_P(All, DamagedTokenizerTest, testing::ValuesIn(damages),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle
