// SPDX-License-Identifier: Apache-2.0
///
/// The reader of ONNX files on well-formed and damaged ones, and the external files that it opens.
#include "formats/Onnx/OnnxFile.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;
namespace fs = std::filesystem;

Result<OnnxModel> parse(const std::string &file) {
  return parseOnnx(std::as_bytes(std::span(file)), "m.onnx");
}

std::string messageOf(const std::string &file) {
  return std::string(parse(file).status().message());
}

/// Returns a model with one tensor.
std::string withTensor(const std::string &tensor) { return model(initializer(tensor)); }

TEST(OnnxFile, ReadsNodesPortsAndOpsets) {
  const std::string file =
      model(bytes(2, "g") + input(port("x", {"batch", "4"}, 7)) + output(port("y", {})) +
            graphNode(node("Relu", {"x", ""}, {"y"}, "n", "ai.onnx") + integers("perm", {1, -2}) +
                      integer("axis", -1))) +
      opset(1, "com.microsoft");
  const auto read = parse(file);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->irVersion, 8);
  EXPECT_EQ(read->opsets.at(""), 17);
  EXPECT_EQ(read->opsets.at("com.microsoft"), 1);
  ASSERT_EQ(read->graph.nodes.size(), 1U);
  const OnnxNode &first = read->graph.nodes.front();
  EXPECT_EQ(first.type, "Relu");
  // The default domain has two names.
  EXPECT_EQ(first.domain, "");
  EXPECT_EQ(first.inputs, (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(first.attributes[0].integers, (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(first.attributes[1].integer, -1);
  const OnnxPort &x = read->graph.inputs.front();
  EXPECT_EQ(x.dtype, ElementType::I64);
  EXPECT_EQ((*x.shape)[0].name, "batch");
  EXPECT_EQ((*x.shape)[1].number, 4);
}

TEST(OnnxFile, ReadsEveryFormOfData) {
  const float three = 3;
  const std::string floats = tensor("w", {1}) + varint(4 << 3 | 5) +
                             std::string(reinterpret_cast<const char *>(&three), 4);
  const std::string packed =
      tensor("w", {3}, 7) + bytes(7, varint(1) + varint(300) + varint(uint64_t(-2)));
  const std::string halves = tensor("w", {2}, 10) + bytes(5, varint(0x3c00) + varint(0xc000));
  const std::string truth = tensor("w", {2}, 9) + number(5, 1) + number(5, 0);
  const auto bytesOf = [](const std::string &tensor) {
    const auto read = parse(withTensor(tensor));
    EXPECT_TRUE(read.ok()) << read.status().message();
    if (!read.ok()) {
      return std::string();
    }
    const std::span<const std::byte> found = read->graph.initializers.front().bytes;
    return std::string(reinterpret_cast<const char *>(found.data()), found.size());
  };
  EXPECT_EQ(bytesOf(floats), std::string(reinterpret_cast<const char *>(&three), 4));
  const int64_t numbers[] = {1, 300, -2};
  EXPECT_EQ(bytesOf(packed), std::string(reinterpret_cast<const char *>(numbers), sizeof numbers));
  EXPECT_EQ(bytesOf(halves), std::string("\x00\x3c\x00\xc0", 4));
  EXPECT_EQ(bytesOf(truth), std::string("\x01\x00", 2));
  EXPECT_EQ(bytesOf(tensor("w", {2, 2}) + raw(16)), std::string(16, '\0'));
  EXPECT_EQ(bytesOf(tensor("w", {0}, 7)), "");
}

TEST(OnnxFile, RefusesWhatItsFieldsContradict) {
  const std::pair<std::string, const char *> cases[] = {
      {withTensor(tensor("w", {4}) + raw(15)),
       "m.onnx: tensor \"w\": has 15 bytes, expected 16 for [4] of f32"},
      {withTensor(tensor("w", {4})),
       "m.onnx: tensor \"w\": has 0 bytes, expected 16 for [4] of f32"},
      {withTensor(tensor("w", {2, -2}) + raw(16)),
       "m.onnx: tensor \"w\": has the shape [2, -2], expected sizes that are not negative and a "
       "tensor below 2^63 bytes"},
      {withTensor(tensor("w", {1}, 77) + raw(4)),
       "m.onnx: tensor \"w\": has elements of type 77, expected numbers of 8 to 64 bits"},
      {withTensor(tensor("w", {1}, 8) + bytes(6, "text")),
       "m.onnx: tensor \"w\": has strings, expected numbers"},
      {withTensor(tensor("w", {1}, 7) + raw(8) + number(7, 1)),
       "m.onnx: tensor \"w\": has its data twice, as bytes and as numbers"},
      {withTensor(tensor("w", {1}) + bytes(3, "")),
       "m.onnx: tensor \"w\": is a segment of a tensor, expected a whole one"},
      {withTensor(tensor("w", {1, 1, 1, 1, 1, 1, 1, 1, 1})),
       "m.onnx: tensor \"w\": has more than 8 axes"},
      {withTensor(tensor("w", {1}) + raw(4) + external("location", "w.bin")),
       "m.onnx: tensor \"w\": has data in this file and in another, expected one of both"},
      {withTensor(tensor("w", {1}) + external("location", "w.bin") + external("offset", "4k")),
       "m.onnx: tensor \"w\": the offset of its data is \"4k\", expected a number"},
      {withTensor(tensor("w", {1}) + external("location", "w.bin") + external("length", "5")),
       "m.onnx: tensor \"w\": the length of its data in \"w.bin\" is 5, expected 4 bytes"},
      {number(1, 8) + bytes(7, ""),
       "m.onnx: names no opset of the default domain, expected its version"},
      {model("", 999), "m.onnx: is of opset 999, expected 1 to 28"},
      {number(1, 8) + opset(17), "m.onnx: has no graph, expected one graph"},
      {model("") + bytes(7, ""), "m.onnx: has several graphs, expected one graph"},
      {model("") + opset(18), "m.onnx: two opsets of domain \"\""},
      {model(bytes(15, "")), "m.onnx: the graph has sparse weights, expected dense ones"},
      {model(input(port("x", {"a", "b", "c", "d", "e", "f", "g", "h", "i"}))),
       "m.onnx: a shape with more than 8 axes"},
      {model(graphNode(bytes(3, std::string(5000, 'n')))),
       "m.onnx: a name has 5000 bytes, expected at most 4096"}};
  for (const auto &[file, message] : cases) {
    EXPECT_EQ(messageOf(file), message);
  }
}

TEST(OnnxFile, RefusesNestingAndDamage) {
  std::string graph;
  for (int depth = 0; depth < 20; ++depth) {
    graph = graphNode(node("If", {}, {}) + graphAttribute("then_branch", graph));
  }
  EXPECT_EQ(messageOf(model(graph)), "m.onnx: graphs are nested more than 16 deep");
  const std::string good = withTensor(tensor("w", {4}) + raw(16));
  ASSERT_TRUE(parse(good).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    // Every truncation is an error: nothing is read past the end.
    EXPECT_FALSE(parse(good.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(
      messageOf("\x3a\xff\xff\xff\xff\x0f").starts_with("m.onnx: is damaged or no ONNX file: "));
}

TEST(OnnxFile, MapsDataOfFilesBeneathItsFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "parts");
  folder.write("parts/w.bin", std::string(16, 'a') + std::string(8, 'b'));
  const std::string file =
      folder.write("m.onnx", withTensor(tensor("w", {2}) + external("location", "parts/w.bin") +
                                        external("offset", "16")));
  const auto opened = OnnxFile::open(file);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::span<const std::byte> found = opened->model().graph.initializers.front().bytes;
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(found.data()), found.size()),
            std::string(8, 'b'));
  ASSERT_EQ(opened->mapped().size(), 2U);
  EXPECT_EQ(opened->mapped()[1]->path(), folder / "parts/w.bin");
}

TEST(OnnxFile, OpensNoFileOutsideItsFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  other.write("w.bin", std::string(16, 'a'));
  fs::create_symlink(other / "w.bin", folder / "link.bin");
  fs::create_directory_symlink(other.path(), folder / "out");
  folder.write("twice.bin", std::string(16, 'a'));
  fs::create_hard_link(folder / "twice.bin", folder / "again.bin");
  fs::create_directory(folder / "sub");
  const std::pair<std::string, const char *> cases[] = {
      {"/etc/hostname", "expected the name of a file beneath the model's folder"},
      {"../w.bin", "expected the name of a file beneath the model's folder"},
      {"sub/../w.bin", "expected the name of a file beneath the model's folder"},
      {"", "expected the name of a file beneath the model's folder"},
      {"a\\b", "expected the name of a file beneath the model's folder"},
      {std::string("w.bin\0x", 7), "expected the name of a file beneath the model's folder"},
      {"link.bin", "a symbolic link, expected a file itself"},
      {"out/w.bin", "a symbolic link, expected a file itself"},
      {"again.bin", "the file has several names, expected one"},
      {"sub", "a folder, device or pipe, expected a regular file"},
      {"nothing.bin", "no such file in the model's folder"}};
  for (const auto &[location, message] : cases) {
    const auto opened = openBeneath(folder.path(), location);
    ASSERT_FALSE(opened.ok()) << location;
    EXPECT_TRUE(opened.status().message().ends_with(message)) << opened.status().message();
  }
  folder.write("short.bin", "abc");
  const std::string file =
      folder.write("m.onnx", withTensor(tensor("w", {4}) + external("location", "short.bin")));
  EXPECT_EQ(OnnxFile::open(file).status().message(),
            file +
                ": tensor \"w\": its data has offset 0 and 16 bytes in \"short.bin\", which has 3");
}

} // namespace
} // namespace heddle
