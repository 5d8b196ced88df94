// SPDX-License-Identifier: Apache-2.0
///
/// The layers for which a report recommends a higher precision.
#include "compiler/Link/WorthKeeping.h"

#include <gtest/gtest.h>

#include <limits>

namespace heddle {
namespace {

RoundingError rounded(std::vector<std::string> tensors, double relative, int64_t bytes,
                      unsigned bits = 4) {
  RoundingError error;
  error.where = tensors.front();
  error.relative = relative;
  error.bits = bits;
  error.bytes = bytes;
  error.bytesInFiner = 2 * bytes;
  error.tensors = std::move(tensors);
  return error;
}

/// Two layers, each with an attention matrix made of two tensors and a wide matrix.
std::vector<RoundingError> twoLayers(double attention, double wide) {
  std::vector<RoundingError> errors;
  for (const std::string layer : {"layer.0.", "layer.1."}) {
    errors.push_back(rounded({layer + "attention.key.weight", layer + "attention.value.weight"},
                             attention, 100));
    errors.push_back(rounded({layer + "ffn.weight"}, wide, 1000));
  }
  return errors;
}

std::vector<std::string> optionsOf(const std::vector<WorthKeeping> &worth) {
  std::vector<std::string> options;
  for (const WorthKeeping &each : worth) {
    options.push_back(each.option);
  }
  return options;
}

TEST(WorthKeeping, TakesTheMostErrorAByteFirst) {
  const auto worth = worthKeeping(twoLayers(0.1, 0.1), "int4", {});
  EXPECT_EQ(optionsOf(worth), (std::vector<std::string>{"attention=int8", "ffn=int8"}));
  EXPECT_DOUBLE_EQ(worth[0].share, 0.5);
  EXPECT_EQ(worth[0].bytes, 200);
  EXPECT_EQ(worth[1].bytes, 2000);
  // Ten times the bytes, and more than ten times the squared error.
  EXPECT_EQ(optionsOf(worthKeeping(twoLayers(0.1, 0.33), "int4", {})),
            (std::vector<std::string>{"ffn=int8", "attention=int8"}));
}

TEST(WorthKeeping, NamesLayersWhereTheyDiffer) {
  std::vector<RoundingError> errors = twoLayers(0.001, 0.001);
  // The same squared error per byte for both matrices of the second layer.
  errors[2].relative = 0.1;
  errors[3].relative = 0.32;
  EXPECT_EQ(optionsOf(worthKeeping(errors, "int4", {})).front(), "layer.1=int8");
}

TEST(WorthKeeping, NamesTheNextFinerPrecision) {
  std::vector<RoundingError> errors = twoLayers(0.1, 0.1);
  for (RoundingError &error : errors) {
    error.bits = 8;
  }
  const std::vector<std::string> none;
  EXPECT_EQ(optionsOf(worthKeeping(errors, "int8", none)).front(), "attention=bf16");
  EXPECT_EQ(optionsOf(worthKeeping(errors, "int8-weights", none)).front(),
            "attention=bf16-weights");
  for (RoundingError &error : errors) {
    error.bits = 16;
  }
  EXPECT_EQ(optionsOf(worthKeeping(errors, "bf16", none)).front(), "attention=f32");
  EXPECT_TRUE(worthKeeping(errors, "f32", none).empty());
  EXPECT_TRUE(worthKeeping({}, "int8", none).empty());
  EXPECT_TRUE(worthKeeping(twoLayers(0, 0), "int4", none).empty());
}

// An option for a tensor that already has one would be contradictory; a tensor with more bits than
// the others gains nothing.
TEST(WorthKeeping, LeavesOutWhatIsKept) {
  EXPECT_EQ(optionsOf(worthKeeping(twoLayers(0.1, 0.1), "int4", {"ffn"})),
            (std::vector<std::string>{"attention=int8"}));
  const auto worth = worthKeeping(twoLayers(0.1, 0.1), "int4", {"layer.0.attention"});
  EXPECT_EQ(optionsOf(worth), (std::vector<std::string>{"layer.1=int8"}));
  std::vector<RoundingError> errors = twoLayers(0.1, 0.1);
  errors.push_back(rounded({"embed.weight"}, 0.5, 10, 8));
  EXPECT_EQ(optionsOf(worthKeeping(errors, "int4", {})).front(), "attention=int8");
}

// Part of a matrix is not an option of its own, because the whole matrix would be kept.
TEST(WorthKeeping, NamesNoPartOfAMatrix) {
  for (const WorthKeeping &each : worthKeeping(twoLayers(0.1, 0.01), "int4", {})) {
    EXPECT_EQ(each.option.find("key"), std::string::npos);
  }
}

TEST(WorthKeeping, NamesSingleMatricesWhereThereIsNoKind) {
  EXPECT_EQ(optionsOf(worthKeeping({rounded({"a.weight"}, 0.1, 10), rounded({"b"}, 0.2, 10)},
                                   "int4", {})),
            (std::vector<std::string>{"b=int8", "a=int8"}));
}

TEST(WorthKeeping, SkipsWhatIsNoNumber) {
  std::vector<RoundingError> errors = twoLayers(0.1, 0.1);
  errors[1].relative = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(worthKeeping(errors, "int4", {}).empty());
}

} // namespace
} // namespace heddle
