// SPDX-License-Identifier: Apache-2.0
///
/// The reader of model.bin: every version and item type, and damaged files, each with its whole
/// message.
#include "formats/Checkpoint/CTranslate2File.h"

#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Checkpoint/ModelBin.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {
namespace {

using Names = std::vector<std::string>;

Result<CTranslate2Contents> parse(std::string_view file) {
  return parseCTranslate2(std::as_bytes(std::span(file)), "m.bin");
}

std::string messageOf(std::string_view file) { return std::string(parse(file).status().message()); }

/// Returns weights of each storage type, an option and an alias.
ModelBin everything(uint32_t version) {
  ModelBin model;
  model.version = version;
  model.addF32("a/weight", {2, 2}, {1, 2, 3, 4});
  model.add<int8_t>("b/weight", {2, 2}, ElementType::I8, {-127, 0, 1, 2});
  model.addF32("b/weight_scale", {2}, {2, 4});
  model.add<int16_t>("c/weight", {3}, ElementType::I16, {-300, 0, 300});
  model.add<int8_t>("option", {}, ElementType::I8, {-3});
  if (version >= 4) {
    model.add<uint16_t>("d/bias", {1}, ElementType::F16, {0x3C00});
    model.add<uint16_t>("e/bias", {1}, ElementType::BF16, {0x3F80});
    model.add<int32_t>("f", {1}, ElementType::I32, {-70000});
  }
  if (version >= 3) {
    model.aliases = {{"g/weight", "b/weight"}};
  }
  return model;
}

class VersionTest : public testing::TestWithParam<uint32_t> {};

TEST_P(VersionTest, Contents) {
  const std::string file = everything(GetParam()).file();
  const Result<CTranslate2Contents> contents = parse(file);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(contents->version, GetParam());
  EXPECT_EQ(contents->specification, "TransformerSpec");
  EXPECT_EQ(contents->revision, 7u);
  Names names;
  for (const StoredTensor &variable : contents->variables) {
    EXPECT_EQ(byteSize(variable.dtype, variable.shape), variable.bytes.size()) << variable.name;
    EXPECT_EQ(contents->places.at(variable.name), names.size());
    names.push_back(variable.name);
  }
  Names expected = {"a/weight", "b/weight", "b/weight_scale", "c/weight", "option"};
  if (GetParam() >= 4) {
    expected.insert(expected.end(), {"d/bias", "e/bias", "f"});
  }
  if (GetParam() >= 3) {
    expected.push_back("g/weight");
    const StoredTensor &alias = contents->variables.back();
    EXPECT_EQ(alias.bytes.data(), contents->variables[1].bytes.data());
    EXPECT_EQ(alias.scales.data(), contents->variables[1].scales.data());
  }
  EXPECT_EQ(names, expected);
  EXPECT_EQ(contents->variables[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE(contents->variables[0].scales.empty());
  EXPECT_EQ(contents->variables[1].scales.data(), contents->variables[2].bytes.data());
  EXPECT_TRUE(contents->variables[1].isReal());
  // Files written before the format had scales.
  EXPECT_EQ(contents->variables[3].scales.size(), sizeof(float));
  EXPECT_FALSE(contents->variables[4].isReal());
}

TEST_P(VersionTest, TruncatedAnywhere) {
  const std::string file = everything(GetParam()).file();
  for (size_t length = 0; length < file.size(); ++length) {
    const std::string message = messageOf(file.substr(0, length));
    ASSERT_NE(message.find(fmt::format(": the file ends at byte {}, expected ", length)),
              std::string::npos)
        << length << ": " << message;
    ASSERT_TRUE(message.starts_with("m.bin: ")) << message;
  }
}

TEST_P(VersionTest, Surplus) {
  EXPECT_EQ(messageOf(everything(GetParam()).file() + "x"),
            "m.bin: 1 bytes follow the last variable, expected the end of the file");
}

INSTANTIATE_TEST_SUITE_P(All, VersionTest, testing::Range(2u, 7u),
                         [](const auto &info) { return fmt::format("V{}", info.param); });

TEST(CTranslate2FileTest, Header) {
  EXPECT_EQ(messageOf(""),
            "m.bin: version: the file ends at byte 0, expected 4 more bytes from byte 0 on");
  EXPECT_EQ(messageOf("PK\x03\x04 anything"), "m.bin: version 67324752, expected a CTranslate2 "
                                              "model of version 2 to 6");
  for (const uint32_t version : {0u, 1u, 7u}) {
    EXPECT_EQ(
        messageOf(rawBytes(version)),
        fmt::format("m.bin: version {}, expected a CTranslate2 model of version 2 to 6", version));
  }
  const std::string two = rawBytes(2u);
  EXPECT_EQ(messageOf(two + rawString("S")),
            "m.bin: revision: the file ends at byte 8, expected 4 more bytes from byte 8 on");
  EXPECT_EQ(messageOf(two + rawString("S") + rawBytes(1u)),
            "m.bin: number of variables: the file ends at byte 12, expected 4 more bytes from byte "
            "12 on");
  EXPECT_EQ(
      messageOf(two + rawString("S") + rawBytes(1u) + rawBytes(0xFFFFFFFFu)),
      "m.bin: name of variable 1: the file ends at byte 16, expected 2 more bytes from byte 16 on");
}

TEST(CTranslate2FileTest, Strings) {
  const std::string two = rawBytes(2u);
  const auto specification = [&](uint16_t length, const std::string &text) {
    return messageOf(two + rawBytes(length) + text);
  };
  EXPECT_EQ(specification(0, ""), "m.bin: specification: 0 bytes long, expected 1 to 1024 with the "
                                  "closing NUL");
  EXPECT_EQ(specification(65535, std::string(70000, 'x')),
            "m.bin: specification: 65535 bytes long, expected 1 to 1024 with the closing NUL");
  EXPECT_EQ(
      specification(1024, "short"),
      "m.bin: specification: the file ends at byte 11, expected 1024 more bytes from byte 6 on");
  EXPECT_EQ(specification(3, "abc"),
            "m.bin: specification: is \"abc\", expected a single NUL, at the end");
  EXPECT_EQ(specification(4, std::string("a\0b\0", 4)),
            "m.bin: specification: is \"a\\x00b\\x00\", expected a single NUL, at the end");
  EXPECT_EQ(specification(3, std::string("\xc3(\0", 3)),
            "m.bin: specification: is \"\\xc3(\\x00\", which is not UTF-8");
}

/// Returns a file with one variable, whose name "a" is followed by these bytes.
std::string oneVariable(uint32_t version, const std::string &rest) {
  return rawBytes(version) + rawString("S") + rawBytes(1u) + rawBytes(1u) + rawString("a") + rest;
}

TEST(CTranslate2FileTest, Variables) {
  using Sizes = std::vector<uint32_t>;
  const std::string where = "m.bin: variable \"a\": ";
  EXPECT_EQ(messageOf(oneVariable(6, "\x09")), where + "has 9 dimensions, expected at most 8");
  EXPECT_EQ(messageOf(oneVariable(6, "\xff")), where + "has 255 dimensions, expected at most 8");
  EXPECT_EQ(messageOf(oneVariable(3, std::string("\0\x08", 2) + rawBytes(1u))),
            where + "8 bytes per item, expected 1, 2 or 4");
  EXPECT_EQ(messageOf(oneVariable(2, std::string("\0\0", 2) + rawBytes(1u))),
            where + "0 bytes per item, expected 1, 2 or 4");
  EXPECT_EQ(messageOf(oneVariable(4, std::string("\0\x06", 2) + rawBytes(1u))),
            where +
                "has type 6, expected one of 0 (F32), 1 (I8), 2 (I16), 3 (I32), 4 (F16), 5 (BF16)");
  const std::string huge = "\x04" + rawBytes(Sizes(4, 0xFFFFFFFF));
  EXPECT_EQ(messageOf(oneVariable(6, huge + std::string(1, 0) + rawBytes(4u))),
            where + "F32 [4294967295, 4294967295, 4294967295, 4294967295] takes 2^63 bytes or "
                    "more");
  const std::string three = "\x01" + rawBytes(3u);
  EXPECT_EQ(messageOf(oneVariable(6, three + std::string(1, 0) + rawBytes(8u) + "12345678")),
            where + "8 bytes given, expected 12 for F32 [3]");
  // Up to version 3, the number of items is a separate field.
  EXPECT_EQ(messageOf(oneVariable(3, three + "\x04" + rawBytes(0x40000003u) + "123456789012")),
            where + "4294967308 bytes given, expected 12 for F32 [3]");
  EXPECT_EQ(messageOf(oneVariable(2, three + "\x02" + rawBytes(2u) + "1234")),
            where + "4 bytes given, expected 6 for I16 [3]");
  const std::string none = "\x02" + rawBytes(Sizes{0, 0xFFFFFFFF}) + std::string(1, 0);
  EXPECT_EQ(messageOf(oneVariable(6, none + rawBytes(0u) + rawBytes(0u))), "");
}

TEST(CTranslate2FileTest, NamesAndAliases) {
  ModelBin model;
  model.addF32("a", {1}, {1}).addF32("a", {1}, {2});
  EXPECT_EQ(messageOf(model.file()), "m.bin: variable \"a\" appears twice");
  model.variables.pop_back();
  model.aliases = {{"b", "a"}, {"c", "b"}};
  EXPECT_EQ(messageOf(model.file()), "");
  model.aliases = {{"a", "a"}};
  EXPECT_EQ(messageOf(model.file()), "m.bin: variable \"a\" appears twice");
  model.aliases = {{"b", "a"}, {"b", "a"}};
  EXPECT_EQ(messageOf(model.file()), "m.bin: variable \"b\" appears twice");
  model.aliases = {{"b", "\x1b[31m"}};
  EXPECT_EQ(messageOf(model.file()),
            "m.bin: alias \"b\": stands for \"\\x1b[31m\", which is not a variable");
}

TEST(CTranslate2FileTest, Scales) {
  const auto message = [](const std::vector<uint32_t> &shape, const std::vector<float> &scales) {
    ModelBin model;
    model.add<int8_t>("a/weight", {2, 3}, ElementType::I8, {1, 2, 3, 4, 5, 6});
    model.addF32("a/weight_scale", shape, scales);
    return messageOf(model.file());
  };
  const std::string where = "m.bin: variable \"a/weight\": ";
  const std::string shape = ", expected one F32, or one for each row of [2, 3]";
  EXPECT_EQ(message({}, {3}), "");
  EXPECT_EQ(message({1}, {3}), "");
  EXPECT_EQ(message({2}, {3, 4}), "");
  EXPECT_EQ(message({3}, {3, 4, 5}), where + "its scale is F32 [3]" + shape);
  EXPECT_EQ(message({2, 3}, {1, 2, 3, 4, 5, 6}), where + "its scale is F32 [2, 3]" + shape);
  EXPECT_EQ(message({0}, {}), where + "its scale is F32 [0]" + shape);
  EXPECT_EQ(message({2}, {3, 0}), where + "scale 2 is 0, expected a number above 0");
  EXPECT_EQ(message({}, {-1}), where + "scale 1 is -1, expected a number above 0");
  EXPECT_EQ(message({}, {std::numeric_limits<float>::quiet_NaN()}),
            where + "scale 1 is nan, expected a number above 0");
  EXPECT_EQ(message({}, {std::numeric_limits<float>::infinity()}),
            where + "scale 1 is inf, expected a number above 0");
  ModelBin model;
  model.add<int8_t>("a/weight", {2}, ElementType::I8, {1, 2});
  EXPECT_EQ(messageOf(model.file()), where + "is I8, but there is no variable \"a/weight_scale\"");
  model.add<int32_t>("a/weight_scale", {2}, ElementType::I32, {1, 2});
  EXPECT_EQ(messageOf(model.file()), where + "its scale is I32 [2], expected one F32, or one for "
                                             "each row of [2]");
}

TEST(CTranslate2FileTest, Options) {
  const TemporaryFolder folder;
  ModelBin model = everything(6);
  model.add<int8_t>("token", {3}, ElementType::I8, {'a', 'b', 'c'});
  model.add<int8_t>("noise", {1}, ElementType::I8, {-1});
  model.addF32("half", {}, {0.5F});
  const std::string path = folder.write("model.bin", model.file());
  Result<CTranslate2File> opened = CTranslate2File::open(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const CTranslate2File file = *std::move(opened);
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.version(), 6u);
  EXPECT_EQ(file.specification(), "TransformerSpec");
  EXPECT_EQ(file.revision(), 7u);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.find("half")->dtype, ElementType::F32);
  EXPECT_EQ(*file.number("option"), -3);
  EXPECT_EQ(*file.number("d/bias"), 1);
  EXPECT_EQ(*file.number("e/bias"), 1);
  EXPECT_EQ(*file.number("f"), -70000);
  EXPECT_EQ(*file.number("half"), 0.5);
  EXPECT_EQ(*file.text("token"), "abc");
  file.releasePages(*file.find("half"));
  EXPECT_EQ(*file.number("half"), 0.5);
  EXPECT_EQ(file.number("nothing").status().message(),
            path + ": has no variable \"nothing\" among its 12");
  EXPECT_EQ(file.number("nothing").status().code(), StatusCode::NotFound);
  EXPECT_EQ(file.number("token").status().message(),
            path + ": variable \"token\" has shape [3], expected a single value");
  EXPECT_EQ(file.text("nothing").status().message(),
            path + ": has no variable \"nothing\" among its 12");
  EXPECT_EQ(file.text("half").status().message(),
            path + ": variable \"half\" is F32 [], expected text: a list of I8");
  EXPECT_EQ(file.text("option").status().message(),
            path + ": variable \"option\" is I8 [], expected text: a list of I8");
  EXPECT_EQ(file.text("noise").status().message(),
            path + ": variable \"noise\" is \"\\xff\", which is not UTF-8");
  EXPECT_EQ(CTranslate2File::open(folder / "gone").status().message(),
            folder / "gone: cannot open: No such file or directory");
}

TEST(CTranslate2FileTest, I16OfFilesWithoutScales) {
  ModelBin model;
  model.add<int16_t>("a/weight", {2}, ElementType::I16, {1, 2});
  const std::string file = model.file();
  const auto contents = parse(file);
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(contents->variables[0].scales.data()), 4),
            rawBytes(1000.0F));
}

} // namespace
} // namespace heddle
