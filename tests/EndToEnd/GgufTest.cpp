// SPDX-License-Identifier: Apache-2.0
///
/// Compiled GGUF files against the folders of the same models: bert-tiny in F32, and a small BERT
/// in every type against a folder with the values that its blocks stand for. All bits are equal.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/formats/Gguf/SmallBert.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <gtest/gtest.h>

namespace heddle {
namespace {

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 [](float value) { return std::bit_cast<uint32_t>(value); });
  return bits;
}

/// Both binaries give the same outputs, bit by bit.
void expectSameBits(const std::string &file, const std::string &folder, int vocabulary,
                    int longest) {
  const std::string binary = compileModel(file);
  const std::string expected = compileModel(folder);
  ASSERT_FALSE(binary.empty() || expected.empty());
  const Ragged batch = randomSentences(5, longest, vocabulary, 1);
  const std::pair<const char *, const char *> outputs[] = {{"encode", "last_hidden_state"},
                                                           {"embed", "embedding"}};
  for (const auto &[entry, output] : outputs) {
    const std::vector<float> found = runBinary(binary, batch, "", 1, entry)[output];
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(bitsOf(found), bitsOf(runBinary(expected, batch, "", 1, entry)[output])) << entry;
  }
}

class GgufTypeTest : public testing::TestWithParam<uint32_t> {};

TEST_P(GgufTypeTest, BitsAreThoseOfTheValues) {
  const GgufType &type = *findGgufType(GetParam());
  const SmallBert small(type.number, std::max<int64_t>(type.elements, 64));
  const TemporaryFolder files, folder;
  small.writeFolder(folder);
  const std::string file = files.write("m.gguf", small.bytes().file());
  expectSameBits(file, folder.path(), static_cast<int>(small.pieces.size()), 12);
}

INSTANTIATE_TEST_SUITE_P(All, GgufTypeTest,
                         testing::Values(0U, 1U, 2U, 3U, 6U, 7U, 8U, 12U, 13U, 14U, 30U),
                         [](const auto &info) {
                           return std::string(findGgufType(info.param)->name);
                         });

/// The name in GGUF files of a tensor of Hugging Face's; empty for one that they leave out.
std::string ggufName(std::string name) {
  const std::pair<std::string_view, std::string_view> parts[] = {
      {"embeddings.word_embeddings", "token_embd"},
      {"embeddings.token_type_embeddings", "token_types"},
      {"embeddings.position_embeddings", "position_embd"},
      {"embeddings.LayerNorm", "token_embd_norm"},
      {"encoder.layer.", "blk."},
      {"attention.self.query", "attn_q"},
      {"attention.self.key", "attn_k"},
      {"attention.self.value", "attn_v"},
      {"attention.output.dense", "attn_output"},
      {"attention.output.LayerNorm", "attn_output_norm"},
      {"intermediate.dense", "ffn_up"},
      {"output.dense", "ffn_down"},
      {"output.LayerNorm", "layer_output_norm"}};
  if (name.starts_with("pooler")) {
    return "";
  }
  for (const auto &[from, to] : parts) {
    if (const size_t at = name.find(from); at != std::string::npos) {
      name.replace(at, from.size(), to);
    }
  }
  return name;
}

TEST(Gguf, BertTinyIsThatOfItsFolder) {
  const std::string source = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const TemporaryFolder folder, files;
  for (const char *const name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(source + "/" + name, folder / name);
  }
  SmallBert::writeModules(folder);
  const Result<Checkpoint> checkpoint = Checkpoint::open(source);
  ASSERT_TRUE(checkpoint.ok());
  GgufBytes bytes = SmallBert().bytes();
  bytes.tensors.clear();
  for (const std::string &name : checkpoint->names()) {
    const StoredTensor &tensor = *checkpoint->find(name);
    if (const std::string stored = ggufName(name); !stored.empty()) {
      bytes.tensors.push_back(
          {stored,
           {tensor.shape.rbegin(), tensor.shape.rend()},
           0,
           {reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()}});
    }
  }
  const std::pair<const char *, uint32_t> sizes[] = {{"bert.block_count", 3},
                                                     {"bert.context_length", 40},
                                                     {"bert.embedding_length", 72},
                                                     {"bert.feed_forward_length", 100},
                                                     {"bert.attention.head_count", 3}};
  for (const auto &[key, value] : sizes) {
    bytes.without(key).add(key, GgufKind::U32, value);
  }
  std::vector<std::string> pieces = SmallBert().pieces;
  while (pieces.size() < 211) {
    pieces.push_back(fmt::format("w{}", pieces.size()));
  }
  std::erase_if(bytes.keys, [](const auto &key) { return key.name.starts_with("tokenizer."); });
  SmallBert::addTokenizer(bytes, pieces);
  expectSameBits(files.write("bert-tiny.gguf", bytes.file()), folder.path(), 211, 30);
}

TEST(Gguf, TextsAreThoseOfTheFolder) {
  const SmallBert small(8);
  const TemporaryFolder files, folder;
  small.writeFolder(folder);
  const std::string file = compileModel(files.write("m.gguf", small.bytes().file()));
  const std::string expected = compileModel(folder.path());
  ASSERT_FALSE(file.empty() || expected.empty());
  const std::string lines =
      files.write("lines.txt", "The cat sat.\nA cats, sitting\n[MASK] caf\xC3\xA9\n");
  for (const char *const command : {"tokenize", "embed"}) {
    const tools::Outcome found = tools::runHeddle({command, file, "--input", lines});
    EXPECT_EQ(found.code, 0) << found.error;
    EXPECT_EQ(found.output, tools::runHeddle({command, expected, "--input", lines}).output);
    EXPECT_FALSE(found.output.empty());
  }
}

class HeddlecGgufTest : public HeddlecTest {
protected:
  std::string write(const GgufBytes &bytes) const { return files.write("m.gguf", bytes.file()); }
  TemporaryFolder files;
};

TEST_F(HeddlecGgufTest, ItsProgramCompilesToTheSameBinary) {
  const std::string file = write(SmallBert(8).bytes());
  const tools::Outcome text = heddlec({file, "--emit=model"});
  ASSERT_EQ(text.code, 0) << text.error;
  const std::string program = work.write("m.mlir", text.output);
  const tools::Outcome whole = heddlec({file, "-o", work / "a.so"});
  const tools::Outcome again = heddlec({program, "--weights", file, "-o", work / "b.so"});
  ASSERT_EQ(whole.code, 0) << whole.error;
  ASSERT_EQ(again.code, 0) << again.error;
  const Ragged batch = randomSentences(3, 12, 12, 1);
  EXPECT_EQ(runBinary(work / "a.so", batch, "", 1, "embed"),
            runBinary(work / "b.so", batch, "", 1, "embed"));
  const std::string lines = files.write("lines.txt", "The cat sat.\n");
  EXPECT_EQ(tools::runHeddle({"tokenize", work / "a.so", "--input", lines}).output,
            tools::runHeddle({"tokenize", work / "b.so", "--input", lines}).output);
}

TEST_F(HeddlecGgufTest, RefusalsOfTheFile) {
  const std::string file = write(SmallBert().bytes());
  std::filesystem::resize_file(file, 100);
  expectError({file, "-o", work / "out.so"},
              file +
                  ": number of tensors: is 21, but only 84 bytes follow, expected at least 24 for "
                  "each");
  GgufBytes more = SmallBert().bytes();
  more.tensors.push_back({"extra.weight", {64, 64}, 0, std::string(64 * 64 * 4, '\0')});
  write(more);
  expectError({file, "-o", work / "out.so"},
              file + ": tensor \"extra.weight\" is unused, expected only the 21 of the model");
  GgufBytes llama = SmallBert().bytes();
  llama.without("general.architecture").addText("general.architecture", "llama");
  write(llama);
  expectError({file, "-o", work / "out.so"},
              file + ": the architecture \"llama\" is not supported in GGUF files, expected "
                     "\"bert\", or the model's folder in Hugging Face's format, as 'hf download "
                     "OWNER/NAME --local-dir NAME' fetches it");
}

} // namespace
} // namespace heddle
