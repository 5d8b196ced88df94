// SPDX-License-Identifier: Apache-2.0
///
/// The reader of GGUF files: every kind of value, tensors through Checkpoint, and damaged files,
/// each with its whole message.
#include "formats/Gguf/GgufFile.h"

#include "formats/Checkpoint/Checkpoint.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Gguf/GgufBytes.h"

#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

Result<GgufContents> parse(const std::string &file) {
  return parseGguf(std::as_bytes(std::span(file)), "m.gguf");
}

std::string messageOf(const std::string &file) {
  return std::string(parse(file).status().message());
}

/// One key of each kind, and three tensors.
GgufBytes everything() {
  GgufBytes file;
  file.add<uint8_t>("u8", GgufKind::U8, 200);
  file.add<int8_t>("i8", GgufKind::I8, -3);
  file.add<uint16_t>("u16", GgufKind::U16, 60000);
  file.add<int16_t>("i16", GgufKind::I16, -300);
  file.add<uint32_t>("u32", GgufKind::U32, 4000000000);
  file.add<int32_t>("i32", GgufKind::I32, -70000);
  file.add<float>("f32", GgufKind::F32, 0.5F);
  file.add<uint8_t>("bool", GgufKind::Bool, 1);
  file.addText("text", "words");
  file.add<uint64_t>("u64", GgufKind::U64, uint64_t(1) << 63);
  file.add<int64_t>("i64", GgufKind::I64, -5);
  file.add<double>("f64", GgufKind::F64, 0.25);
  file.addTexts("texts", {"a", "", "c"});
  file.addList<int32_t>("list", GgufKind::I32, {-1, 2});
  file.addList<uint8_t>("flags", GgufKind::Bool, {0, 1});
  file.addRaw("nested", GgufKind::Array,
              GgufBytes::arrayStart(GgufKind::Array, 2) + GgufBytes::arrayStart(GgufKind::U8, 1) +
                  "\x07" + GgufBytes::arrayStart(GgufKind::String, 1) + ggufText("x"));
  file.tensors.push_back({"a", {3, 2}, 0, rawBytes(std::vector<float>{1, 2, 3, 4, 5, 6})});
  file.tensors.push_back({"b", {2}, 1, rawBytes(std::vector<uint16_t>{0x3C00, 0xC000})});
  file.tensors.push_back({"c", {}, 30, rawBytes(uint16_t(0x3F80))});
  std::string block = rawBytes(uint16_t(0x3800));
  for (int i = 0; i < 32; ++i) {
    block += static_cast<char>(i - 16);
  }
  file.tensors.push_back({"d", {32, 2}, 8, block + block});
  return file;
}

class GgufVersion : public testing::TestWithParam<uint32_t> {};

TEST_P(GgufVersion, Contents) {
  GgufBytes bytes = everything();
  bytes.version = GetParam();
  const std::string file = bytes.file();
  const Result<GgufContents> contents = parse(file);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(contents->version, GetParam());
  EXPECT_EQ(contents->metadata.size(), 16U);
  const auto integer = [&](const char *key) {
    return ggufInteger(contents->metadata.find(key)->second, 0);
  };
  EXPECT_EQ(integer("u8"), 200);
  EXPECT_EQ(integer("i8"), -3);
  EXPECT_EQ(integer("u16"), 60000);
  EXPECT_EQ(integer("i16"), -300);
  EXPECT_EQ(integer("u32"), 4000000000);
  EXPECT_EQ(integer("i32"), -70000);
  EXPECT_EQ(integer("u64"), std::nullopt);
  EXPECT_EQ(integer("i64"), -5);
  EXPECT_EQ(integer("f64"), std::nullopt);
  EXPECT_EQ(contents->metadata.find("text")->second.texts.front(), "words");
  ASSERT_EQ(contents->tensors.size(), 4U);
  EXPECT_EQ(contents->tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(contents->tensors[2].shape, std::vector<int64_t>());
  EXPECT_EQ(contents->tensors[3].type->name, "Q8_0");
}

INSTANTIATE_TEST_SUITE_P(All, GgufVersion, testing::Values(2U, 3U));

TEST(GgufFile, ListsAreTyped) {
  const TemporaryFolder folder;
  GgufBytes bytes = everything();
  bytes.addList<uint64_t>("large", GgufKind::U64, {1, uint64_t(1) << 63});
  const std::string path = folder.write("m.gguf", bytes.file());
  const Result<GgufFile> file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto texts = file->strings("texts");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(std::vector<std::string_view>(texts->begin(), texts->end()),
            (std::vector<std::string_view>{"a", "", "c"}));
  EXPECT_EQ(*file->integers("list"), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(file->strings("list").status().message(),
            path + ": key \"list\" is an array of 2 i32, expected an array of strings");
  EXPECT_EQ(file->strings("none").status().message(),
            path + ": key \"none\" is missing, expected an array of strings");
  EXPECT_EQ(file->integers("texts").status().message(),
            path + ": key \"texts\" is an array of 3 strings, expected an array of integers");
  EXPECT_EQ(file->integers("u8").status().message(),
            path + ": key \"u8\" is a u8, expected an array of integers");
  EXPECT_EQ(file->integers("large").status().message(),
            path + ": key \"large\": item 2 exceeds 2^63 - 1");
}

TEST(GgufFile, IsACheckpoint) {
  const TemporaryFolder folder;
  for (const char *name : {"m.gguf", "recognised-by-its-first-bytes"}) {
    const Result<Checkpoint> checkpoint = Checkpoint::open(folder.write(name, everything().file()));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(checkpoint->filePaths(), std::vector<std::string>{folder / name});
    std::vector<float> a(6), b(2), c(1), d(64);
    ASSERT_TRUE(checkpoint->readF32("a", a).ok());
    EXPECT_EQ(a, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    ASSERT_TRUE(checkpoint->readF32("b", b).ok());
    EXPECT_EQ(b, (std::vector<float>{1, -2}));
    ASSERT_TRUE(checkpoint->readF32("c", c).ok());
    EXPECT_EQ(c, std::vector<float>{1});
    ASSERT_TRUE(checkpoint->readF32("d", d).ok());
    EXPECT_EQ(d[0], -8);
    EXPECT_EQ(d[63], 7.5F);
    EXPECT_EQ(checkpoint->readF32("d", a).message(),
              folder / name + ": tensor \"d\": holds 64 values, the destination 6");
    EXPECT_FALSE(checkpoint->read("d", ElementType::I8, std::as_writable_bytes(std::span(d))).ok());
    checkpoint->releasePages("d");
  }
}

TEST(GgufFile, ViewsTakeWholeRowsOfBlocks) {
  const TemporaryFolder folder;
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.write("m.gguf", everything().file()));
  ASSERT_TRUE(checkpoint.ok());
  const TensorView second{.name = "row", .source = "d", .firstRow = 1};
  const Result<Checkpoint> views = std::move(*checkpoint).withViews({&second, 1});
  ASSERT_TRUE(views.ok());
  std::vector<float> row(32);
  ASSERT_TRUE(views->readF32("row", row).ok());
  EXPECT_EQ(row[1], -7.5F);
}

struct DamageCase {
  const char *name;
  std::function<void(GgufBytes &)> spoil;
  const char *message;

  friend void PrintTo(const DamageCase &damage, std::ostream *stream) { *stream << damage.name; }
};

GgufBytes::Tensor tensor(std::vector<uint64_t> sizes, uint32_t type, size_t bytes,
                         std::string name = "x") {
  return {std::move(name), std::move(sizes), type, std::string(bytes, '\1')};
}

/// Replaces all tensors of a file with one.
std::function<void(GgufBytes &)> only(GgufBytes::Tensor one) {
  return [one](GgufBytes &file) { file.tensors = {one}; };
}

constexpr const char *supported = "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, BF16";

const std::vector<DamageCase> damages = {
    {"Magic", [](GgufBytes &file) { file.magic = "GGML"; },
     "m.gguf: begins with \"GGML\", expected \"GGUF\""},
    {"Version1", [](GgufBytes &file) { file.version = 1; }, "m.gguf: version 1, expected 2 or 3"},
    {"Version4", [](GgufBytes &file) { file.version = 4; }, "m.gguf: version 4, expected 2 or 3"},
    {"BigEndian", [](GgufBytes &file) { file.version = 3U << 24; },
     "m.gguf: is big endian, expected a little-endian file"},
    {"TensorCount", [](GgufBytes &file) { file.tensorCount = uint64_t(1) << 60; },
     "m.gguf: number of tensors: is 1152921504606846976, but only 49 bytes follow, expected at "
     "least 24 for each"},
    {"KeyCount", [](GgufBytes &file) { file.keyCount = ~uint64_t(0); },
     "m.gguf: number of keys: is 18446744073709551615, but only 41 bytes follow, expected at least "
     "13 for each"},
    {"KeyTwice", [](GgufBytes &file) { file.addText("a", "1").addText("a", "2"); },
     "m.gguf: key \"a\" appears twice"},
    {"KeyNotUtf8", [](GgufBytes &file) { file.addText("\xFF", "1"); },
     "m.gguf: name of key 1: is \"\\xff\", which is not UTF-8"},
    {"ValueNotUtf8", [](GgufBytes &file) { file.addText("a", "\xFF"); },
     "m.gguf: key \"a\": is \"\\xff\", which is not UTF-8"},
    {"KeyTooLong", [](GgufBytes &file) { file.addText(std::string(65536, 'k'), ""); },
     "m.gguf: name of key 1: 65536 bytes long, expected at most 65535"},
    {"UnknownKind", [](GgufBytes &file) { file.addRaw("a", static_cast<GgufKind>(13), "1"); },
     "m.gguf: key \"a\": has the type of values 13, expected 0 to 12"},
    {"Bool", [](GgufBytes &file) { file.add<uint8_t>("a", GgufKind::Bool, 2); },
     "m.gguf: key \"a\": has a bool of 2, expected 0 or 1"},
    {"BoolInAList", [](GgufBytes &file) { file.addList<uint8_t>("a", GgufKind::Bool, {0, 3}); },
     "m.gguf: key \"a\": has a bool of 3, expected 0 or 1"},
    {"ArrayCount",
     [](GgufBytes &file) {
       file.addRaw("a", GgufKind::Array, GgufBytes::arrayStart(GgufKind::U64, uint64_t(1) << 61));
     },
     "m.gguf: key \"a\": is 2305843009213693952, but only 41 bytes follow, expected at least 8 for "
     "each"},
    {"Nesting",
     [](GgufBytes &file) {
       std::string bytes;
       for (int i = 0; i < 5; ++i) {
         bytes += GgufBytes::arrayStart(GgufKind::Array, 1);
       }
       file.addRaw("a", GgufKind::Array, bytes + std::string(64, '\0'));
     },
     "m.gguf: key \"a\": has arrays nested deeper than 4"},
    {"Alignment3",
     [](GgufBytes &file) { file.add<uint32_t>("general.alignment", GgufKind::U32, 3); },
     "m.gguf: key \"general.alignment\" is 3, expected a power of two up to 65536"},
    {"Alignment0",
     [](GgufBytes &file) { file.add<uint32_t>("general.alignment", GgufKind::U32, 0); },
     "m.gguf: key \"general.alignment\" is 0, expected a power of two up to 65536"},
    {"AlignmentOfAnotherKind",
     [](GgufBytes &file) { file.add<uint64_t>("general.alignment", GgufKind::U64, 32); },
     "m.gguf: key \"general.alignment\" is a u64, expected a u32"},
    {"NameTooLong", only(tensor({4}, 0, 16, std::string(65, 'n'))),
     "m.gguf: name of tensor 1: 65 bytes long, expected at most 64"},
    {"Rank", only(tensor({1, 1, 1, 1, 1}, 0, 4)),
     "m.gguf: tensor \"x\": has 5 dimensions, expected at most 4"},
    {"Dimension", only(tensor({uint64_t(1) << 63}, 0, 4)),
     "m.gguf: tensor \"x\": has a dimension of 9223372036854775808, expected at most 2^63 - 1"},
    {"Overflow", only(tensor({uint64_t(1) << 40, uint64_t(1) << 40}, 0, 4)),
     "m.gguf: tensor \"x\": F32 [1099511627776, 1099511627776] takes 2^63 bytes or more"},
    {"RowOfHalfABlock", only(tensor({48, 2}, 2, 54)),
     "m.gguf: tensor \"x\": rows of Q4_0 [2, 48] have 48 elements, expected a multiple of 32, its "
     "block"},
    {"RowOfKBlocks", only(tensor({128, 2}, 14, 210)),
     "m.gguf: tensor \"x\": rows of Q6_K [2, 128] have 128 elements, expected a multiple of 256, "
     "its block"},
    {"OtherType", only(tensor({256}, 10, 84)),
     "m.gguf: tensor \"x\": has type Q2_K (10), which is not supported, expected one of "},
    {"UnknownType", only(tensor({256}, 99, 84)),
     "m.gguf: tensor \"x\": has type 99, which is not supported, expected one of "},
    {"PastTheEnd", only(tensor({100}, 0, 16)),
     "m.gguf: tensor \"x\": F32 [100] at offset 0 takes 400 bytes, but the file has 32 bytes of "
     "data"},
    {"OffsetPastTheEnd",
     [](GgufBytes &file) {
       file.tensors = {tensor({4}, 0, 16)};
       file.tensors[0].offset = ~uint64_t(31);
     },
     "m.gguf: tensor \"x\": F32 [4] at offset 18446744073709551584 takes 16 bytes, but the file "
     "has "
     "32 bytes of data"},
    {"OddOffset",
     [](GgufBytes &file) {
       file.tensors = {tensor({4}, 0, 64)};
       file.tensors[0].offset = 8;
     },
     "m.gguf: tensor \"x\": has offset 8, expected a multiple of 32, the alignment"},
    {"Overlap",
     [](GgufBytes &file) {
       file.tensors = {tensor({16}, 0, 64), tensor({4}, 0, 16, "y")};
       file.tensors[1].offset = 32;
     },
     "m.gguf: tensor \"y\": begins at offset 32, inside tensor \"x\", which ends at offset 64"},
    {"TensorTwice",
     [](GgufBytes &file) { file.tensors = {tensor({4}, 0, 16), tensor({4}, 0, 16)}; },
     "m.gguf: tensor \"x\" appears twice"},
};

class GgufDamage : public testing::TestWithParam<DamageCase> {};

TEST_P(GgufDamage, GivesItsMessage) {
  GgufBytes file;
  file.tensors = {tensor({2}, 0, 8, "w")};
  // No padding, so that the byte counts in messages are those of the fields.
  file.alignment = 1;
  GetParam().spoil(file);
  if (!file.tensors.empty() && file.tensors[0].name != "w") {
    file.alignment = 32;
  }
  std::string expected = GetParam().message;
  expected += expected.ends_with(" of ") ? supported : "";
  EXPECT_EQ(messageOf(file.file()), expected);
}

INSTANTIATE_TEST_SUITE_P(All, GgufDamage, testing::ValuesIn(damages),
                         [](const auto &info) { return info.param.name; });

/// Every truncated file is rejected.
TEST(GgufFile, CutAnywhere) {
  const std::string whole = everything().file();
  // The padding of the last tensor may be missing.
  const size_t end = whole.size() - 28;
  EXPECT_EQ(messageOf(whole.substr(0, end)), "");
  for (size_t size = 0; size < end; ++size) {
    const std::string message = messageOf(whole.substr(0, size));
    EXPECT_TRUE(message.starts_with("m.gguf: ")) << size << message;
  }
  EXPECT_EQ(messageOf("GG"), "m.gguf: magic number: the file ends at byte 2, expected 4 more bytes "
                             "from byte 0 on");
  EXPECT_EQ(messageOf("GGUF\3"),
            "m.gguf: version: the file ends at byte 5, expected 4 more bytes from byte 4 on");
}

} // namespace
} // namespace heddle
