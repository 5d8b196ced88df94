// SPDX-License-Identifier: Apache-2.0
///
/// Tests the safetensors reader on damaged and hostile files, each with its whole message, and the
/// writer with the reader.
#include "formats/Checkpoint/Safetensors.h"

#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// Returns a safetensors file with this header and `dataSize` bytes of data that count up.
std::string makeFile(std::string_view header, size_t dataSize = 0) {
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof(length));
  file += header;
  for (size_t i = 0; i < dataSize; ++i) {
    file += static_cast<char>(i);
  }
  return file;
}

std::string messageOf(std::string_view file) {
  const auto result = parseSafetensors(std::as_bytes(std::span(file)), "m.safetensors");
  return std::string(result.status().message());
}

/// A malformed header with `dataSize` bytes of data; `message` follows "m.safetensors: ".
struct BadHeader {
  const char *name;
  std::string header;
  size_t dataSize;
  std::string message;
};

class BadHeaderTest : public testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaderTest, Message) {
  const BadHeader &bad = GetParam();
  EXPECT_EQ(messageOf(makeFile(bad.header, bad.dataSize)), "m.safetensors: " + bad.message);
}

/// Returns a header with the entry "a" of this type, shape and offsets.
std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

/// Returns a header with two U8 tensors, "a" and "b", at these offsets.
std::string twoEntries(int aBegin, int aEnd, int bBegin, int bEnd) {
  return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                     R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                     aEnd - aBegin, aBegin, aEnd, bEnd - bBegin, bBegin, bEnd);
}

INSTANTIATE_TEST_SUITE_P(
    Structure, BadHeaderTest,
    testing::Values(
        BadHeader{"Empty", "", 0, R"(the header begins with "", expected "{")"},
        BadHeader{"List", "[1]", 0, R"(the header begins with "[", expected "{")"},
        BadHeader{"LeadingSpace", " {}", 0, R"(the header begins with " ", expected "{")"},
        BadHeader{"Binary", "\xff\xfe", 0, R"(the header begins with "\xff", expected "{")"},
        BadHeader{"Syntax", R"({"a":})", 0, R"(header: not JSON at byte 6, near "{\"a\":}")"},
        BadHeader{"Unfinished", R"({"a":{)", 0, R"(header: not JSON at byte 7, near "{\"a\":{")"},
        BadHeader{"Trailing", "{} {}", 0, R"(header: not JSON at byte 4, near "{} {}")"},
        BadHeader{"NotUtf8", "{\"a\xc3\":1}", 0, "header: byte 4 is 0xc3, expected UTF-8"},
        BadHeader{"HugeNumber", R"({"a":1e999})", 0,
                  R"(header: a number is too large at byte 10, near "{\"a\":1e999}")"},
        BadHeader{"Deep", R"({"a":)" + std::string(100000, '['), 0,
                  "header: lists and objects nest deeper than 64 levels"},
        BadHeader{"SameName", R"({"a":{},"b":{},"a":{}})", 0, R"(header: key "a" appears twice)"},
        BadHeader{"SameKey", R"({"a":{"dtype":"U8","dtype":"F32"}})", 0,
                  R"(header: key "dtype" appears twice)"},
        BadHeader{"MetadataList", R"({"__metadata__":[]})", 0,
                  R"("__metadata__" is a list of 0, expected an object)"},
        BadHeader{"MetadataNumber", R"({"__metadata__":{"format":3}})", 0,
                  R"("__metadata__" has "format" for 3, expected a string)"},
        BadHeader{"EntryNumber", R"({"a":3})", 0, R"(tensor "a": is 3, expected an object)"},
        BadHeader{"EntryControl", "{\"\\u001b[31m\":null}", 0,
                  R"(tensor "\x1b[31m": is null, expected an object)"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Entries, BadHeaderTest,
    testing::Values(
        BadHeader{"DtypeMissing", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4,
                  R"(tensor "a": "dtype" is missing, expected a string)"},
        BadHeader{"DtypeNumber", entry("32", "[1]", "[0,4]"), 4,
                  R"(tensor "a": "dtype" is 32, expected a string)"},
        BadHeader{"DtypeUnknown", entry(R"("f32")", "[1]", "[0,4]"), 4,
                  R"(tensor "a": "dtype" is "f32", expected one of F32, I32, F64, F16, BF16, )"
                  "F8_E4M3, F8_E5M2, I64, I16, I8, U64, U32, U16, U8, BOOL"},
        BadHeader{"ShapeMissing", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4,
                  R"(tensor "a": "shape" is missing, expected a list of integers)"},
        BadHeader{"ShapeNumber", entry(R"("F32")", "1", "[0,4]"), 4,
                  R"(tensor "a": "shape" is 1, expected a list of integers)"},
        BadHeader{"ShapeNegative", entry(R"("F32")", "[2,-1]", "[0,4]"), 4,
                  R"(tensor "a": item 2 of "shape" is -1, expected an integer from 0 to )"
                  "9223372036854775807"},
        BadHeader{"ShapeFraction", entry(R"("F32")", "[1.5]", "[0,4]"), 4,
                  R"(tensor "a": item 1 of "shape" is 1.5, expected an integer from 0 to )"
                  "9223372036854775807"},
        BadHeader{"ShapeBeyondSigned", entry(R"("F32")", "[9223372036854775808]", "[0,4]"), 4,
                  R"(tensor "a": item 1 of "shape" is 9223372036854775808, expected an integer )"
                  "from 0 to 9223372036854775807"},
        BadHeader{"ShapeOverflow", entry(R"("F32")", "[4294967296,4294967296]", "[0,0]"), 4,
                  R"(tensor "a": F32 [4294967296, 4294967296] takes 2^63 bytes or more)"},
        BadHeader{"ShapeOverflowSigned", entry(R"("F32")", "[2305843009213693952]", "[0,0]"), 4,
                  R"(tensor "a": F32 [2305843009213693952] takes 2^63 bytes or more)"},
        BadHeader{"ShapeLong", entry(R"("U8")", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,7]", "[0,1]"),
                  1,
                  R"(tensor "a": "data_offsets" is [0, 1], 1 bytes, expected 7 for U8 [1, 1, 1, )"
                  "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...]"},
        BadHeader{"OffsetsMissing", R"({"a":{"dtype":"F32","shape":[1]}})", 4,
                  R"(tensor "a": "data_offsets" is missing, expected a list of integers)"},
        BadHeader{"OffsetsText", entry(R"("F32")", "[1]", R"("0,4")"), 4,
                  R"(tensor "a": "data_offsets" is "0,4", expected a list of integers)"},
        BadHeader{"OffsetsNegative", entry(R"("F32")", "[1]", "[-4,0]"), 4,
                  R"(tensor "a": item 1 of "data_offsets" is -4, expected an integer from 0 to )"
                  "9223372036854775807"},
        BadHeader{"OffsetsThree", entry(R"("F32")", "[1]", "[0,4,8]"), 4,
                  R"(tensor "a": "data_offsets" has 3 items, expected 2)"},
        BadHeader{"OffsetsReversed", entry(R"("F32")", "[1]", "[4,0]"), 4,
                  R"(tensor "a": "data_offsets" is [4, 0], which ends before it begins)"},
        BadHeader{"OffsetsBeyond", entry(R"("F32")", "[2]", "[0,8]"), 4,
                  R"(tensor "a": "data_offsets" is [0, 8], but the file has 4 bytes of data)"},
        BadHeader{"OffsetsSize", entry(R"("F32")", "[2,3]", "[0,20]"), 20,
                  R"(tensor "a": "data_offsets" is [0, 20], 20 bytes, expected 24 for F32 [2, 3])"},
        BadHeader{"Overlap", twoEntries(0, 8, 4, 12), 12,
                  R"(tensor "b": begins at byte 4, inside tensor "a", which ends at byte 8)"},
        BadHeader{"SamePlace", twoEntries(0, 8, 0, 8), 8,
                  R"(tensor "b": begins at byte 0, inside tensor "a", which ends at byte 8)"},
        BadHeader{"Gap", twoEntries(0, 4, 8, 12), 12,
                  R"(tensor "b": begins at byte 8, expected 4: the bytes between belong to no )"
                  "tensor"},
        BadHeader{"GapAtFront", entry(R"("U8")", "[4]", "[4,8]"), 8,
                  R"(tensor "a": begins at byte 4, expected 0: the bytes between belong to no )"
                  "tensor"},
        BadHeader{"Surplus", entry(R"("U8")", "[4]", "[0,4]"), 9,
                  "9 bytes of data, but the tensors end at byte 4"},
        BadHeader{"SurplusWithoutTensors", "{}", 1,
                  "1 bytes of data, but the tensors end at byte 0"}),
    [](const auto &info) { return info.param.name; });

TEST(SafetensorsTest, FileShorterThanItsLength) {
  EXPECT_EQ(messageOf("seven b"), "m.safetensors: 7 bytes long, expected at least 8 for the length "
                                  "of the header: not a safetensors file");
}

TEST(SafetensorsTest, HeaderPastTheEnd) {
  std::string file = makeFile("{}");
  file[0] = 3;
  EXPECT_EQ(messageOf(file), "m.safetensors: the header's length is 3, but only 2 bytes follow");
}

TEST(SafetensorsTest, HeaderOverLong) {
  // A file of another format, whose first eight bytes are read as the length.
  EXPECT_EQ(messageOf("PK\x03\x04XXXXand more"),
            "m.safetensors: 16 bytes long, the first 8 say that the header has "
            "6365935208335887184, expected at most 100000000: not a safetensors file");
  EXPECT_EQ(messageOf(std::string(8, '\xff')),
            "m.safetensors: 8 bytes long, the first 8 say that the header has "
            "18446744073709551615, expected at most 100000000: not a safetensors file");
}

TEST(SafetensorsTest, EveryTruncationFails) {
  const std::string file = makeFile(twoEntries(0, 8, 8, 12), 12);
  ASSERT_EQ(messageOf(file), "");
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(messageOf(std::string_view(file).substr(0, size)), "") << size;
  }
}

TEST(SafetensorsTest, EmptyAndScalarTensors) {
  const std::string file =
      makeFile(R"({"none":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
               R"("one":{"dtype":"I32","shape":[],"data_offsets":[0,4],"extra":1}}   )",
               4);
  const auto contents = parseSafetensors(std::as_bytes(std::span(file)), "m");
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  ASSERT_EQ(contents->tensors.size(), 2u);
  EXPECT_EQ(contents->tensors[0].name, "none");
  EXPECT_TRUE(contents->tensors[0].bytes.empty());
  EXPECT_EQ(contents->tensors[0].shape, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(contents->tensors[1].name, "one");
  EXPECT_TRUE(contents->tensors[1].shape.empty());
  EXPECT_EQ(contents->tensors[1].bytes.size(), 4u);
}

TEST(SafetensorsTest, HeaderOrderIsKept) {
  const auto file = makeFile(R"({"z":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                             2);
  const auto contents = parseSafetensors(std::as_bytes(std::span(file)), "m");
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(contents->tensors[0].name, "z");
  EXPECT_EQ(contents->tensors[0].bytes[0], std::byte(1));
  EXPECT_EQ(contents->tensors[1].bytes[0], std::byte(0));
}

TEST(SafetensorsTest, MissingFile) {
  const TemporaryFolder folder;
  const auto file = SafetensorsFile::open(folder / "no.safetensors");
  EXPECT_EQ(file.status().message(),
            folder / "no.safetensors: cannot open: No such file or directory");
  EXPECT_EQ(file.status().code(), StatusCode::NotFound);
}

/// Returns a tensor that refers to a buffer of the test.
template <typename T>
SafetensorsTensor makeTensor(std::string name, ElementType dtype, std::vector<int64_t> shape,
                             const std::vector<T> &values) {
  return {std::move(name), dtype, std::move(shape), std::as_bytes(std::span(values))};
}

TEST(SafetensorsWriterTest, RoundTrip) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> flags = {1, 0, 1};
  const std::vector<float> weights = {1, -2, 3.5F, 4, 5, 6};
  const std::vector<int64_t> ids = {-1, int64_t(1) << 40};
  const SafetensorsTensor tensors[] = {
      makeTensor("flags", ElementType::Bool, {3}, flags),
      makeTensor("we\"ights\n\u00e9", ElementType::F32, {2, 3}, weights),
      makeTensor("ids", ElementType::I64, {2, 1}, ids),
      {"nothing", ElementType::F16, {0}, {}},
  };
  const SafetensorsMetadata metadata = {{"format", "pt"}, {"quote", "\"\\"}};
  const Status written = writeSafetensors(folder / "a.safetensors", tensors, metadata);
  ASSERT_TRUE(written.ok()) << written.message();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.safetensors"});

  Result<SafetensorsFile> opened = SafetensorsFile::open(folder / "a.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const SafetensorsFile file = *std::move(opened);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), std::size(tensors));
  // Tensors with wider items come first.
  const size_t order[] = {2, 1, 3, 0};
  for (size_t i = 0; i < std::size(order); ++i) {
    const SafetensorsTensor &read = file.tensors()[i];
    const SafetensorsTensor &expected = tensors[order[i]];
    EXPECT_EQ(read.name, expected.name);
    EXPECT_EQ(read.dtype, expected.dtype);
    EXPECT_EQ(read.shape, expected.shape);
    EXPECT_TRUE(std::ranges::equal(read.bytes, expected.bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.bytes.data()) % infoOf(read.dtype).bytes(), 0u);
  }
}

TEST(SafetensorsWriterTest, NoTensors) {
  const TemporaryFolder folder;
  ASSERT_TRUE(writeSafetensors(folder / "a.safetensors", {}).ok());
  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->tensors().empty());
}

/// Writes to "out" in a new folder, which must stay empty; returns the message without the path.
std::string writerMessage(std::span<const SafetensorsTensor> tensors,
                          const SafetensorsMetadata &metadata = {}) {
  const TemporaryFolder folder;
  const Status status = writeSafetensors(folder / "out", tensors, metadata);
  EXPECT_TRUE(folder.names().empty());
  const std::string prefix = folder / "out: ";
  EXPECT_TRUE(status.message().starts_with(prefix));
  return std::string(status.message().substr(std::min(prefix.size(), status.message().size())));
}

TEST(SafetensorsWriterTest, BadTensors) {
  const std::vector<float> values = {1, 2};
  const auto message = [&](std::string name, std::vector<int64_t> shape) {
    const SafetensorsTensor tensor = makeTensor(std::move(name), ElementType::F32, shape, values);
    return writerMessage(std::span(&tensor, 1));
  };
  EXPECT_EQ(message("a", {3}), R"(tensor "a": 8 bytes given, expected 12 for F32 [3])");
  EXPECT_EQ(message("a", {-2}),
            R"(tensor "a": F32 [-2] has a negative size or takes 2^63 bytes or more)");
  EXPECT_EQ(message("__metadata__", {2}),
            R"(a tensor is named "__metadata__", a name that the format reserves)");
  EXPECT_EQ(message("a\xff", {2}), R"(the tensor name "a\xff" is not UTF-8)");
  const SafetensorsTensor packed = makeTensor("a", ElementType::I4, {16}, values);
  EXPECT_EQ(writerMessage(std::span(&packed, 1)),
            R"(tensor "a": has type i4, which the format cannot store)");
  const SafetensorsTensor twice[] = {makeTensor("a", ElementType::F32, {2}, values),
                                     makeTensor("b", ElementType::F32, {2}, values),
                                     makeTensor("a", ElementType::F32, {2}, values)};
  EXPECT_EQ(writerMessage(twice), R"(tensor "a" appears twice)");
  EXPECT_EQ(writerMessage({}, {{"k\xff", "v"}}), R"(the metadata key "k\xff" is not UTF-8)");
  EXPECT_EQ(writerMessage({}, {{"k", "v\xff"}}), R"(the metadata text "v\xff" is not UTF-8)");
}

TEST(SafetensorsWriterTest, HeaderOverLong) {
  EXPECT_EQ(writerMessage({}, {{"k", std::string(safetensorsHeaderLimit, 'x')}}),
            "the header has 100000032 bytes, expected at most 100000000");
}

TEST(SafetensorsWriterTest, DiskFull) {
  const std::vector<float> values(1000, 1.0F);
  const SafetensorsTensor tensor = makeTensor("a", ElementType::F32, {1000}, values);
  const Status status = writeSafetensors("/dev/full", std::span(&tensor, 1));
  EXPECT_EQ(status.message(), "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(status.code(), StatusCode::InputOutput);
}

} // namespace
} // namespace heddle
