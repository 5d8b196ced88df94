// SPDX-License-Identifier: Apache-2.0
///
/// Model folders with one file, or several with an index, and damaged ones.
#include "formats/Checkpoint/Checkpoint.h"

#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Checkpoint/ModelBin.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace heddle {
namespace {

/// Writes a file with one f32 tensor per name, whose elements are `value` and `value` + 0.5.
void writeShard(const std::string &path, const std::vector<std::string> &names, float value) {
  const std::vector<float> values = {value, value + 0.5F};
  std::vector<SafetensorsTensor> tensors;
  for (const std::string &name : names) {
    tensors.push_back({name, ElementType::F32, {2}, std::as_bytes(std::span(values))});
  }
  const Status status = writeSafetensors(path, tensors);
  ASSERT_TRUE(status.ok()) << status.message();
}

std::string messageOf(const std::string &path) {
  return std::string(Checkpoint::open(path).status().message());
}

TEST(CheckpointTest, TensorsInMemory) {
  const std::vector<float> values = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(values));
  const std::vector<SafetensorsTensor> tensors = {{"pair", ElementType::F32, {2}, bytes.first(8)},
                                                  {"all", ElementType::F32, {2, 2}, bytes}};
  const Result<Checkpoint> model = Checkpoint::ofTensors(tensors, "memory");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->names(), (std::vector<std::string>{"pair", "all"}));
  EXPECT_TRUE(model->filePaths().empty());
  std::vector<float> read(4);
  EXPECT_TRUE(model->readF32("all", read).ok());
  EXPECT_EQ(read, values);
  model->releasePages("all");
  EXPECT_EQ(model->readF32("pair", read).message().substr(0, 22), "memory: tensor \"pair\":");
  EXPECT_EQ(model->readF32("none", read).message(), "memory: has no tensor \"none\" among its 2");
}

TEST(CheckpointTest, ReadsTheTypeThatIsThere) {
  const std::vector<uint16_t> halves = {0x3C00, 0x7C01, 0x8000};
  const auto stored = std::as_bytes(std::span(halves));
  const std::vector<SafetensorsTensor> tensors = {{"half", ElementType::F16, {3}, stored}};
  const Result<Checkpoint> model = Checkpoint::ofTensors(tensors, "memory");
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<uint16_t> bits(3);
  EXPECT_TRUE(model->read("half", ElementType::F16, std::as_writable_bytes(std::span(bits))).ok());
  EXPECT_EQ(bits, halves);
  std::vector<float> wide(3);
  EXPECT_TRUE(model->read("half", ElementType::F32, std::as_writable_bytes(std::span(wide))).ok());
  EXPECT_EQ(wide[0], 1.0F);
  EXPECT_EQ(
      model->read("half", ElementType::BF16, std::as_writable_bytes(std::span(bits))).message(),
      "memory: tensor \"half\" has 6 bytes of type f16, expected 6 of bf16");
  EXPECT_EQ(model->read("none", ElementType::F16, {}).message(),
            "memory: has no tensor \"none\" among its 1");
}

TEST(CheckpointTest, ReadsParts) {
  const std::vector<uint16_t> halves = {0x3C00, 0x7C01, 0x8000, 0x4000};
  const auto stored = std::as_bytes(std::span(halves));
  const std::vector<SafetensorsTensor> tensors = {{"half", ElementType::F16, {2, 2}, stored}};
  const Result<Checkpoint> model = Checkpoint::ofTensors(tensors, "memory");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(model->hasParts("half"));
  EXPECT_FALSE(model->hasParts("none"));
  std::vector<uint16_t> bits(2);
  const auto to = std::as_writable_bytes(std::span(bits));
  EXPECT_TRUE(model->readPart("half", ElementType::F16, 1, to).ok());
  EXPECT_EQ(bits, (std::vector<uint16_t>{0x7C01, 0x8000}));
  float wide = 0;
  EXPECT_TRUE(
      model->readPart("half", ElementType::F32, 3, std::as_writable_bytes(std::span(&wide, 1)))
          .ok());
  EXPECT_EQ(wide, 2.0F);
  EXPECT_EQ(model->readPart("half", ElementType::F16, 3, to).message(),
            "memory: tensor \"half\": has 4 values, 2 from 3 on are asked for");
  EXPECT_EQ(model->readPart("half", ElementType::BF16, 0, to).message(),
            "memory: tensor \"half\": parts of type bf16 cannot be read");
  EXPECT_EQ(model->readPart("none", ElementType::F16, 0, to).message(),
            "memory: has no tensor \"none\" among its 1");
}

TEST(CheckpointTest, WrongTensorsInMemory) {
  const std::vector<float> values = {1, 2};
  const auto bytes = std::as_bytes(std::span(values));
  const std::vector<SafetensorsTensor> large = {{"x", ElementType::F32, {3}, bytes}};
  EXPECT_EQ(Checkpoint::ofTensors(large, "memory").status().message(),
            "memory: tensor \"x\": 8 bytes, expected [3] items of f32");
  const std::vector<SafetensorsTensor> negative = {{"x", ElementType::F32, {-1, -2}, bytes}};
  EXPECT_EQ(Checkpoint::ofTensors(negative, "memory").status().message(),
            "memory: tensor \"x\": 8 bytes, expected [-1, -2] items of f32");
  const std::vector<SafetensorsTensor> twice = {{"x", ElementType::F32, {2}, bytes},
                                                {"x", ElementType::F32, {2}, bytes}};
  EXPECT_EQ(Checkpoint::ofTensors(twice, "memory").status().message(),
            "memory: tensor \"x\" appears twice");
}

TEST(CheckpointTest, BertTiny) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const Result<Checkpoint> model = Checkpoint::open(folder);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->names().size(), 55u);
  EXPECT_EQ(model->names().front(), "embeddings.LayerNorm.bias");
  EXPECT_EQ(model->files().front().metadata().at("format"), "pt");
  const StoredTensor *words = model->find("embeddings.word_embeddings.weight");
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(words->dtype, ElementType::F32);
  EXPECT_EQ(words->shape, (std::vector<int64_t>{211, 72}));
  EXPECT_EQ(*model->fileOf(words->name), folder + "/model.safetensors");

  const Result<Checkpoint> expected = Checkpoint::open(folder + "/expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  std::vector<int32_t> mask(4 * 19);
  ASSERT_TRUE(expected->readI32("attention_mask", mask).ok());
  EXPECT_TRUE(std::ranges::all_of(mask, [](int32_t value) { return value == 0 || value == 1; }));
  std::vector<float> pooled(4 * 72);
  ASSERT_TRUE(expected->readF32("pooler_output", pooled).ok());
  // The pooler ends in tanh.
  EXPECT_TRUE(std::ranges::all_of(pooled, [](float value) { return value > -1 && value < 1; }));
  EXPECT_TRUE(std::ranges::any_of(pooled, [](float value) { return value != 0; }));
}

TEST(CheckpointTest, Shards) {
  const TemporaryFolder folder;
  writeShard(folder / "one.safetensors", {"b", "unlisted"}, 1);
  writeShard(folder / "two.safetensors", {"a", "c"}, 2);
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":16},"weight_map":{"c":"two.safetensors",)"
               R"("b":"one.safetensors","a":"two.safetensors"}})");
  Result<Checkpoint> opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Checkpoint model = *std::move(opened);
  EXPECT_EQ(model.path(), folder.path());
  EXPECT_EQ(model.names(), (std::vector<std::string>{"c", "b", "a"}));
  ASSERT_EQ(model.files().size(), 2u);
  EXPECT_EQ(model.files()[0].path(), folder / "two.safetensors");
  EXPECT_EQ(*model.fileOf("b"), folder / "one.safetensors");
  EXPECT_EQ(model.find("unlisted"), nullptr);
  std::vector<float> values(2);
  ASSERT_TRUE(model.readF32("c", values).ok());
  EXPECT_EQ(values, (std::vector<float>{2, 2.5}));
  ASSERT_TRUE(model.readF32("b", values).ok());
  EXPECT_EQ(values, (std::vector<float>{1, 1.5}));
}

TEST(CheckpointTest, OneFileBeforeTheIndex) {
  const TemporaryFolder folder;
  writeShard(folder / "model.safetensors", {"a"}, 1);
  folder.write("model.safetensors.index.json", "not even JSON");
  EXPECT_EQ(messageOf(folder.path()), "");
}

TEST(CheckpointTest, NothingThere) {
  const TemporaryFolder folder;
  const Result<Checkpoint> model = Checkpoint::open(folder.path());
  EXPECT_EQ(model.status().message(),
            folder.path() + ": has neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(model.status().code(), StatusCode::NotFound);
  EXPECT_EQ(messageOf(folder / "gone"), folder / "gone: cannot open: No such file or directory");
}

/// An index for a folder with one shard, "one.safetensors", which has the tensor "b".
TEST(CheckpointTest, BadIndex) {
  const TemporaryFolder folder;
  writeShard(folder / "one.safetensors", {"b"}, 1);
  const std::string index = folder / "model.safetensors.index.json";
  const auto message = [&](std::string_view text) {
    folder.write("model.safetensors.index.json", text);
    return messageOf(folder.path());
  };
  const auto badFile = [&](const std::string &seen) {
    return index + ": tensor \"b\": its file is " + seen +
           ", expected the name of a file beside the index";
  };
  EXPECT_EQ(message(""), index + ": the file is empty");
  EXPECT_EQ(message("[]"), index + ": is a list of 0, expected an object");
  EXPECT_EQ(message("{}"), index + ": \"weight_map\" is missing, expected an object");
  EXPECT_EQ(message(R"({"weight_map":"x"})"),
            index + ": \"weight_map\" is \"x\", expected an object");
  EXPECT_EQ(message(R"({"weight_map":{"b":1}})"), badFile("1"));
  EXPECT_EQ(message(R"({"weight_map":{"b":""}})"), badFile(R"("")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":".."}})"), badFile(R"("..")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":"../one.safetensors"}})"),
            badFile(R"("../one.safetensors")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":"/etc/passwd"}})"), badFile(R"("/etc/passwd")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":"a\\b"}})"), badFile(R"("a\\b")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":"one.safetensors\u0000"}})"),
            badFile(R"("one.safetensors\x00")"));
  EXPECT_EQ(message(R"({"weight_map":{"b":"one.safetensors","b":"one.safetensors"}})"),
            index + ": key \"b\" appears twice");
  EXPECT_EQ(message(R"({"weight_map":{"x":"one.safetensors"}})"),
            index + ": tensor \"x\": is not in \"one.safetensors\", the file that the index names");
  EXPECT_EQ(message(R"({"weight_map":{"b":"two.safetensors"}})"),
            index + ": " + (folder / "two.safetensors: cannot open: No such file or directory"));
}

TEST(CheckpointTest, BadReads) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.safetensors";
  writeShard(path, {"a"}, 1);
  const Result<Checkpoint> model = Checkpoint::open(path);
  ASSERT_TRUE(model.ok());
  std::vector<float> three(3);
  std::vector<int32_t> two(2);
  const std::string missing = path + ": has no tensor \"b\" among its 1";
  EXPECT_EQ(model->readF32("b", three).message(), missing);
  EXPECT_EQ(model->readI32("b", two).message(), missing);
  EXPECT_EQ(model->fileOf("b").status().message(), missing);
  EXPECT_EQ(model->tensor("b").status().message(), missing);
  EXPECT_EQ(model->tensor("b").status().code(), StatusCode::NotFound);
  EXPECT_EQ((*model->tensor("a"))->name, "a");
  EXPECT_EQ(model->readF32("a", three).message(),
            path + ": tensor \"a\": holds 2 values, the destination 3");
  EXPECT_EQ(model->readI32("a", two).message(),
            path + ": tensor \"a\": has type F32, expected I32 or I64");
}

/// Returns the values of a tensor.
std::vector<float> valuesOf(const Checkpoint &model, const std::string &name) {
  const StoredTensor *const tensor = model.find(name);
  if (tensor == nullptr) {
    return {};
  }
  std::vector<float> values(tensor->bytes.size() / infoOf(tensor->dtype).bytes());
  const Status status = model.readF32(name, values);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

/// Three rows of two elements, quantized per row and as a whole, and a bias.
ModelBin quantized() {
  ModelBin model;
  model.add<int8_t>("rows/weight", {3, 2}, ElementType::I8, {1, 2, 3, 4, 5, 6});
  model.addF32("rows/weight_scale", {3}, {1, 2, 4});
  model.add<int16_t>("whole/weight", {3, 2}, ElementType::I16, {1, 2, 3, 4, 5, 6});
  model.addF32("whole/weight_scale", {}, {2});
  model.add<uint16_t>("half/bias", {3}, ElementType::F16, {0x3C00, 0x4000, 0x4200});
  model.add<int8_t>("option", {}, ElementType::I8, {1});
  return model;
}

TEST(CheckpointTest, CTranslate2) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.bin", quantized().file());
  Result<Checkpoint> opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Checkpoint model = *std::move(opened);
  EXPECT_EQ(model.names().size(), 6u);
  EXPECT_TRUE(model.files().empty());
  ASSERT_NE(model.ctranslate2(), nullptr);
  EXPECT_EQ(model.filePaths(), (std::vector<std::string>{path}));
  EXPECT_EQ(*model.fileOf("option"), path);
  EXPECT_EQ(valuesOf(model, "rows/weight"), (std::vector<float>{1, 2, 1.5, 2, 1.25, 1.5}));
  EXPECT_EQ(valuesOf(model, "whole/weight"), (std::vector<float>{0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(valuesOf(model, "half/bias"), (std::vector<float>{1, 2, 3}));
  model.releasePages("rows/weight");
  EXPECT_EQ(valuesOf(model, "rows/weight").back(), 1.5F);
  std::vector<float> one(1);
  EXPECT_EQ(model.readF32("option", one).message(),
            path + ": tensor \"option\": has type I8, expected F32, F16 or BF16");
  // The file can be opened by its own name.
  EXPECT_EQ(messageOf(path), "");
  EXPECT_EQ(
      messageOf(folder.write("short.bin", "x")),
      folder / "short.bin: version: the file ends at byte 1, expected 4 more bytes from byte 0 on");
  // Safetensors take precedence.
  writeShard(folder / "model.safetensors", {"a"}, 1);
  EXPECT_EQ(Checkpoint::open(folder.path())->ctranslate2(), nullptr);
  EXPECT_EQ(Checkpoint::open(folder.path())->filePaths(),
            (std::vector<std::string>{folder / "model.safetensors"}));
}

TEST(CheckpointTest, Views) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.bin", quantized().file());
  Result<Checkpoint> stored = Checkpoint::open(folder.path());
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  Result<Checkpoint> opened =
      (*std::move(stored))
          .withViews(std::vector<TensorView>{{"last", "rows/weight", 1},
                                             {"middle", "rows/weight", 1, 1},
                                             {"all", "whole/weight"},
                                             {"end", "whole/weight", 2, 1},
                                             {"none", "whole/weight", 3},
                                             {"biases", "half/bias", 0, 2},
                                             {"scalar", "option"}});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Checkpoint model = *std::move(opened);
  EXPECT_EQ(model.path(), folder.path());
  EXPECT_EQ(model.names(),
            (std::vector<std::string>{"last", "middle", "all", "end", "none", "biases", "scalar"}));
  EXPECT_EQ(model.find("rows/weight"), nullptr);
  EXPECT_EQ(model.find("last")->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf(model, "last"), (std::vector<float>{1.5, 2, 1.25, 1.5}));
  EXPECT_EQ(valuesOf(model, "middle"), (std::vector<float>{1.5, 2}));
  EXPECT_EQ(valuesOf(model, "all"), (std::vector<float>{0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(valuesOf(model, "end"), (std::vector<float>{2.5, 3}));
  EXPECT_EQ(model.find("none")->shape, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(valuesOf(model, "none"), std::vector<float>());
  EXPECT_EQ(valuesOf(model, "biases"), (std::vector<float>{1, 2}));
  EXPECT_EQ(model.find("scalar")->shape, std::vector<int64_t>());
  EXPECT_EQ(*model.fileOf("middle"), path);
  model.releasePages("middle");
  std::vector<float> three(3);
  EXPECT_EQ(model.readF32("middle", three).message(),
            path + ": tensor \"middle\": holds 2 values, the destination 3");
}

TEST(CheckpointTest, BadViews) {
  const TemporaryFolder folder;
  folder.write("model.bin", quantized().file());
  const auto message = [&](const std::vector<TensorView> &views) {
    Result<Checkpoint> model = Checkpoint::open(folder.path());
    return std::string((*std::move(model)).withViews(views).status().message());
  };
  const std::string where = folder.path() + ": ";
  EXPECT_EQ(message({{"a", "gone"}}), where + "has no tensor \"gone\" among its 6");
  EXPECT_EQ(message({{"a", "option"}, {"a", "half/bias"}}),
            where + "two tensors would be called \"a\"");
  const std::string shape = " of \"rows/weight\", which has shape [3, 2]";
  EXPECT_EQ(message({{"a", "rows/weight", 0, 4}}),
            where + "tensor \"a\": is 4 rows from row 0" + shape);
  EXPECT_EQ(message({{"a", "rows/weight", 4}}),
            where + "tensor \"a\": is 0 rows from row 4" + shape);
  EXPECT_EQ(message({{"a", "rows/weight", INT64_MIN, 1}}),
            where + "tensor \"a\": is 1 rows from row -9223372036854775808" + shape);
  EXPECT_EQ(message({{"a", "rows/weight", 1, INT64_MAX}}),
            where + "tensor \"a\": is 9223372036854775807 rows from row 1" + shape);
  EXPECT_EQ(message({{"a", "rows/weight", 0, -1}}),
            where + "tensor \"a\": is -1 rows from row 0" + shape);
  EXPECT_EQ(message({{"a", "option", 0, 1}}),
            where + "tensor \"a\": is 1 rows from row 0 of \"option\", which has shape []");
}

/// Returns the number of resident pages of files that this process maps.
size_t residentFilePages() {
  size_t size = 0;
  size_t resident = 0;
  size_t shared = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared;
  return shared;
}

TEST(CheckpointTest, PagesAreReleased) {
  const TemporaryFolder folder;
  const std::vector<float> values(size_t(4) << 20, 3.0F);
  const SafetensorsTensor tensor = {
      "a", ElementType::F32, {int64_t(values.size())}, std::as_bytes(std::span(values))};
  ASSERT_TRUE(writeSafetensors(folder / "m.safetensors", std::span(&tensor, 1)).ok());
  const Result<Checkpoint> model = Checkpoint::open(folder / "m.safetensors");
  ASSERT_TRUE(model.ok());
  std::vector<float> read(values.size());
  ASSERT_TRUE(model->readF32("a", read).ok());
  const size_t before = residentFilePages();
  model->releasePages("a");
  model->releasePages("unknown");
  const size_t released = before - residentFilePages();
  EXPECT_GE(released * static_cast<size_t>(::sysconf(_SC_PAGESIZE)), values.size() * 4 * 9 / 10);
  std::ranges::fill(read, 0.0F);
  ASSERT_TRUE(model->readF32("a", read).ok());
  EXPECT_EQ(read, values);
}

} // namespace
} // namespace heddle
