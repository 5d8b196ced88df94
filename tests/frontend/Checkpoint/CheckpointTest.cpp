// SPDX-License-Identifier: Apache-2.0
///
/// Model folders: one file, several with an index, and what can be wrong with them.
#include "frontend/Checkpoint/Checkpoint.h"

#include "tests/frontend/Config/TemporaryFolder.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace heddle {
namespace {

/// Writes a file with one f32 tensor of that value per name.
void writeShard(const std::string &path, const std::vector<std::string> &names, float value) {
  const std::vector<float> values = {value, value + 0.5F};
  std::vector<SafetensorsTensor> tensors;
  for (const std::string &name : names) {
    tensors.push_back({name, Dtype::F32, {2}, std::as_bytes(std::span(values))});
  }
  const Status status = writeSafetensors(path, tensors);
  ASSERT_TRUE(status.ok()) << status.message();
}

std::string messageOf(const std::string &path) {
  return std::string(Checkpoint::open(path).status().message());
}

TEST(CheckpointTest, BertTiny) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const Result<Checkpoint> model = Checkpoint::open(folder);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->names().size(), 55u);
  EXPECT_EQ(model->names().front(), "embeddings.LayerNorm.bias");
  EXPECT_EQ(model->files().front().metadata().at("format"), "pt");
  const SafetensorsTensor *words = model->find("embeddings.word_embeddings.weight");
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(words->dtype, Dtype::F32);
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
            folder.path() + ": holds neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(model.status().code(), StatusCode::NotFound);
  EXPECT_EQ(messageOf(folder / "gone"), folder / "gone: cannot open: No such file or directory");
}

/// An index beside one shard, "one.safetensors", with the tensor "b".
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
           ", expected the plain name of a file beside the index";
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
            index + ": the key \"b\" is given twice");
  EXPECT_EQ(message(R"({"weight_map":{"x":"one.safetensors"}})"),
            index + ": tensor \"x\": not in its file \"one.safetensors\"");
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
  const std::string missing = path + ": no tensor \"b\" among its 1";
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

/// Pages of mapped files this process has in memory.
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
      "a", Dtype::F32, {int64_t(values.size())}, std::as_bytes(std::span(values))};
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
