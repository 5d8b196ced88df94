// SPDX-License-Identifier: Apache-2.0
///
/// The table of element types: every name identifies one type, positions in files are stable, and
/// sizes do not overflow.
#include "heddle/ElementType.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <vector>

namespace heddle {
namespace {

// Manifests and C programs store these numbers.
static_assert(static_cast<int>(ElementType::F32) == 0);
static_assert(static_cast<int>(ElementType::I32) == 1);

TEST(ElementTypeTest, EveryNameMeansOneType) {
  for (const auto format :
       {&ElementTypeInfo::name, &ElementTypeInfo::safetensors, &ElementTypeInfo::numpy}) {
    for (const ElementType type : allElementTypes) {
      const std::string_view name = infoOf(type).*format;
      if (!name.empty()) {
        EXPECT_EQ(findElementType(format, name), type) << name;
      }
    }
    EXPECT_EQ(findElementType(format, ""), std::nullopt);
    EXPECT_EQ(findElementType(format, "f33"), std::nullopt);
  }
  std::set<int32_t> numbers;
  for (const ElementType type : allElementTypes) {
    const int32_t number = infoOf(type).ctranslate2;
    EXPECT_TRUE(number == -1 || numbers.insert(number).second) << infoOf(type).name;
    EXPECT_FALSE(infoOf(type).name.empty());
  }
}

TEST(ElementTypeTest, BytesOfATensor) {
  const auto bytes = [](ElementType type, std::vector<int64_t> shape) {
    return byteSize(type, shape);
  };
  EXPECT_EQ(bytes(ElementType::F32, {}), 4u);
  EXPECT_EQ(bytes(ElementType::BF16, {3, 5}), 30u);
  EXPECT_EQ(bytes(ElementType::Bool, {7}), 7u);
  EXPECT_EQ(bytes(ElementType::F64, {2, 0}), 0u);
  // Two to a byte, rounded up to whole bytes.
  EXPECT_EQ(bytes(ElementType::I4, {2, 3}), 3u);
  EXPECT_EQ(bytes(ElementType::I4, {3, 3}), 5u);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(bytes(ElementType::I8, {most}), static_cast<uint64_t>(most));
  EXPECT_EQ(bytes(ElementType::I4, {most}), static_cast<uint64_t>(most) / 2 + 1);
  EXPECT_EQ(bytes(ElementType::I16, {most}), std::nullopt);
  EXPECT_EQ(bytes(ElementType::F32, {int64_t(1) << 61}), std::nullopt);
  EXPECT_EQ(bytes(ElementType::I4, {most, 2}), std::nullopt);
  EXPECT_EQ(bytes(ElementType::F32, {2, -1}), std::nullopt);
}

} // namespace
} // namespace heddle
