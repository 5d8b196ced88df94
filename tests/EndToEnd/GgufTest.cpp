// SPDX-License-Identifier: Apache-2.0
///
/// Compiled GGUF files against the folders of the same models: bert-tiny in F32, and a small BERT
/// in every type against a folder with the values that its blocks represent. All bits are equal.
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

/// Checks that both binaries give the same outputs, bit by bit.
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

/// Returns the GGUF name of a Hugging Face tensor; empty for one that GGUF files omit.
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

/// A program that looks up rows of two tables and multiplies each by the other's kind of matrix,
/// with an odd number of columns.
struct TwoKinds {
  static constexpr int64_t n = 37, words = 60;
  int64_t k;
  std::vector<const GgufType *> types;

  /// Returns the program with its parameters stored as f32, or as the codes of each.
  std::string text(bool isCoded) const {
    std::string program;
    for (size_t i = 0; i < 2; ++i) {
      const std::string element =
          fmt::format("!transformer.quantized<i{}, 32{}, minimums>", types[i]->bits == 4 ? 4 : 8,
                      types[i]->elements == 32 ? ", f16" : "");
      for (const auto &[name, rows] : {std::pair{"t", words}, {"w", n}}) {
        const std::string shape = fmt::format("tensor<{}x{}x", rows, k);
        program += isCoded ? fmt::format("transformer.parameter @{0}{1}.codes : {2}{3}> from "
                                         "\"{0}{1}\"\ntransformer.parameter @{0}{1} : {2}f32> = "
                                         "convert(@{0}{1}.codes)\n",
                                         name, i, shape, element)
                           : fmt::format("transformer.parameter @{0}{1} : {2}f32> from "
                                         "\"{0}{1}\"\n",
                                         name, i, shape);
      }
    }
    const std::string rows = fmt::format("tensor<?x{}xf32>", k);
    const std::string result = fmt::format("tensor<?x{}xf32>", n);
    return program +
           fmt::format(
               "transformer.parameter @b : tensor<{2}xf32> = zeros()\n"
               "func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"input_ids\"}}, %rows: "
               "!transformer.segments) -> ({1} {{transformer.name = \"y\"}}, {1} "
               "{{transformer.name = \"z\"}}) {{\n"
               "  %t0 = transformer.gather @t0[%ids] : {0}\n"
               "  %t1 = transformer.gather @t1[%ids] : {0}\n"
               "  %y = transformer.linear %t0, @w1, @b : {0} -> {1}\n"
               "  %z = transformer.linear %t1, @w0, @b : {0} -> {1}\n"
               "  return %y, %z : {1}, {1}\n}}\n",
               rows, result, n);
  }

  /// Writes the tensors together with those of a BERT, which a GGUF file requires, and the numbers
  /// that they represent.
  void write(const TemporaryFolder &folder) const {
    SmallBert small;
    std::vector<SafetensorsTensor> wide;
    std::vector<std::vector<float>> values;
    const size_t ofBert = small.tensors.size();
    for (size_t i = 0; i < 2; ++i) {
      for (const auto &[name, rows] : {std::pair{"t", words}, {"w", n}}) {
        const std::string full = fmt::format("{}{}", name, i);
        small.add(full, full, {rows, k}, *types[i]);
      }
    }
    for (const SmallBert::Tensor &tensor : std::span(small.tensors).subspan(ofBert)) {
      std::vector<float> &numbers =
          values.emplace_back(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]));
      ASSERT_TRUE(
          convertGgufToF32(*tensor.type, std::as_bytes(std::span(tensor.bytes)), numbers).ok());
      wide.push_back(
          {tensor.name, ElementType::F32, tensor.shape, std::as_bytes(std::span(numbers))});
    }
    folder.write("m.gguf", small.bytes().file());
    ASSERT_TRUE(writeSafetensors(folder / "model.safetensors", wide).ok());
    folder.write("coded.mlir", text(true));
    folder.write("plain.mlir", text(false));
  }
};

// One row of products, tiles of several, blocks that are unpacked, and the last of the panels.
TEST(Gguf, MinimumsOfOddMatricesAreThoseOfTheValues) {
  for (const auto &[k, first, second] : {std::tuple{int64_t{96}, 3U, 7U}, {256, 12U, 13U}}) {
    const TwoKinds program{k, {findGgufType(first), findGgufType(second)}};
    const TemporaryFolder folder;
    program.write(folder);
    const std::string targets = presentTargets();
    const std::string binary =
        compileModel(folder / "coded.mlir", {"--weights", folder / "m.gguf", targets});
    const std::string expected =
        compileModel(folder / "plain.mlir", {"--weights", folder / "model.safetensors", targets});
    ASSERT_FALSE(binary.empty() || expected.empty());
    for (const int rows : {1, 2, 9, 60}) {
      Ragged batch;
      std::vector<int32_t> ids(static_cast<size_t>(rows));
      for (int i = 0; i < rows; ++i) {
        ids[i] = static_cast<int32_t>((i * 7 + 3) % TwoKinds::words);
      }
      batch.append(ids);
      for (const std::string &isa : runnableTargets(binary)) {
        auto found = runBinary(binary, batch, isa), plain = runBinary(expected, batch, isa);
        for (const char *const output : {"y", "z"}) {
          ASSERT_EQ(found[output].size(), size_t(rows * TwoKinds::n));
          EXPECT_EQ(bitsOf(found[output]), bitsOf(plain[output])) << isa << " " << rows;
        }
      }
    }
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
