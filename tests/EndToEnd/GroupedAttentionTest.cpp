// SPDX-License-Identifier: Apache-2.0
///
/// Attention whose query heads share heads of keys or values, over rows and over caches: fused and
/// unfused agree on every target, and a row has the same bits in every batch, chunking and number
/// of threads.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"
#include "tests/runtime/Session/TestDevice.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

namespace heddle {
namespace {

constexpr int words = 43;

struct Heads {
  int64_t heads, keys, values, keySize, valueSize;
  /// The maximum distance of a table of biases; 0: none.
  int64_t distance = 0;
};

void PrintTo(const Heads &h, std::ostream *stream) {
  *stream << h.heads << " heads of " << h.keySize << ", keys of " << h.keys << ", values of "
          << h.values << " of " << h.valueSize << ", bias " << h.distance;
}

std::string rows(int64_t width) { return fmt::format("tensor<?x{}xf32>", width); }
std::string split(int64_t heads, int64_t size) {
  return fmt::format("tensor<?x{}x{}xf32>", heads, size);
}
std::string cacheOf(int64_t width) { return fmt::format("!transformer.cache<{}>", width); }

/// Returns `result`, the heads of `rows`, each repeated for the heads of scores that share it.
std::string headsText(const Heads &h, const std::string &result, int64_t heads, int64_t size) {
  std::string text = fmt::format("  %{0}h = transformer.split_heads %{0} : {1} -> {2}\n", result,
                                 rows(heads * size), split(heads, size));
  return text + fmt::format("  %{0}r = transformer.repeat_heads %{0}h : {1} -> {2}\n", result,
                            split(heads, size), split(h.heads, size));
}

/// Returns attention `name` of %x over %NAME.k and %NAME.v.
std::string attentionText(const Heads &h, const std::string &name, const std::string &keys,
                          bool isCausal) {
  const std::string scores = fmt::format("tensor<?x{}x?xf32>", h.heads);
  std::string text;
  text += fmt::format("  %{0}q = transformer.linear %x, @{0}.query : {1} -> {2}\n", name, rows(20),
                      rows(h.heads * h.keySize));
  text += fmt::format("  %{0}qh = transformer.split_heads %{0}q : {1} -> {2}\n", name,
                      rows(h.heads * h.keySize), split(h.heads, h.keySize));
  text +=
      headsText(h, name + "k", h.keys, h.keySize) + headsText(h, name + "v", h.values, h.valueSize);
  text +=
      fmt::format("  %{0}s = transformer.contract \"thd,khd->thk\" %{0}qh, %{0}kr in(%rows, %{1}) "
                  ": {2}, {2} -> {3}\n",
                  name, keys, split(h.heads, h.keySize), scores);
  text += fmt::format("  %{0}z0 = transformer.scale %{0}s, {1:.6e} : {2}\n", name,
                      1 / std::sqrt(static_cast<double>(h.keySize)), scores);
  std::string last = name + "z0";
  if (h.distance > 0 && keys != "memory") {
    text += fmt::format("  %{0}b = transformer.relative_bias @table in(%rows, %{1}) : {2}\n"
                        "  %{0}z1 = transformer.add %{0}z0, %{0}b : {2}, {2}\n",
                        name, keys, scores);
    last = name + "z1";
  }
  if (isCausal) {
    text += fmt::format(
        "  %{0}m = transformer.mask causal in(%rows, %{1})\n"
        "  %{0}z2 = transformer.select %{0}m, %{2} {{hidden = 0xFF800000 : f32}} : {3}\n",
        name, keys, last, scores);
    last = name + "z2";
  }
  text +=
      fmt::format("  %{0}p = transformer.softmax %{1} in(%{2}) : {3}\n", name, last, keys, scores);
  text +=
      fmt::format("  %{0}c = transformer.contract \"thk,khd->thd\" %{0}p, %{0}vr in(%rows, %{1}) : "
                  "{2}, {3} -> {3}\n",
                  name, keys, scores, split(h.heads, h.valueSize));
  text += fmt::format("  %{0}o = transformer.merge_heads %{0}c : {1} -> {2}\n", name,
                      split(h.heads, h.valueSize), rows(h.heads * h.valueSize));
  text += fmt::format("  %{0}y = transformer.linear %{0}o, @{0}.output : {1} -> {2}\n", name,
                      rows(h.heads * h.valueSize), rows(20));
  return text;
}

/// Returns the lines that map %x to keys and values of `name`.
std::string projectText(const Heads &h, const std::string &name) {
  return fmt::format("  %{0}k = transformer.linear %x, @{0}.key : {1} -> {2}\n"
                     "  %{0}v = transformer.linear %x, @{0}.value : {1} -> {3}\n",
                     name, rows(20), rows(h.keys * h.keySize), rows(h.values * h.valueSize));
}

/// Returns the parameters of the program, all stored.
std::string parametersText(const Heads &h) {
  std::string text =
      fmt::format("transformer.parameter @words : tensor<{}x20xf32> from \"words\"\n", words);
  auto declare = [&](const std::string &name, int64_t rows, int64_t columns) {
    text += fmt::format("transformer.parameter @{0} : tensor<{1}x{2}xf32> from \"{0}\"\n", name,
                        rows, columns);
  };
  for (const std::string name : {"enc", "self", "cross"}) {
    declare(name + ".query", h.heads * h.keySize, 20);
    declare(name + ".key", h.keys * h.keySize, 20);
    declare(name + ".value", h.values * h.valueSize, 20);
    declare(name + ".output", 20, h.heads * h.valueSize);
  }
  declare("out", words, 20);
  if (h.distance > 0) {
    declare("table", h.heads, 2 * h.distance + 1);
  }
  return text;
}

/// Returns an encoder, and a decoder with attention to its history and to the source.
std::string programText(const Heads &h) {
  std::string text = parametersText(h);
  const std::string keys = cacheOf(h.keys * h.keySize), values = cacheOf(h.values * h.valueSize);
  text += fmt::format(
      "func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"source\"}}, %rows: "
      "!transformer.segments, %ck: {0} {{transformer.name = \"cross.key\"}}, %cv: {1} "
      "{{transformer.name = \"cross.value\"}}) -> (tensor<?x20xf32> {{transformer.name = "
      "\"encoder\"}}, {0} {{transformer.name = \"cross.key\"}}, {1} {{transformer.name = "
      "\"cross.value\"}}) {{\n  %e = transformer.gather @words[%ids] : tensor<?x20xf32>\n"
      "  %x = transformer.scale %e, 1.0 : tensor<?x20xf32>\n",
      keys, values);
  text += projectText(h, "enc") + attentionText(h, "enc", "rows", false);
  text += "  %u = transformer.add %ency, %x : tensor<?x20xf32>, tensor<?x20xf32>\n";
  text +=
      fmt::format("  %k = transformer.linear %u, @cross.key : {0} -> {1}\n"
                  "  %v = transformer.linear %u, @cross.value : {0} -> {2}\n"
                  "  %k1 = transformer.append %ck, %k in(%rows) : {3}\n"
                  "  %v1 = transformer.append %cv, %v in(%rows) : {4}\n"
                  "  return %u, %k1, %v1 : {0}, {3}, {4}\n}}\n",
                  rows(20), rows(h.keys * h.keySize), rows(h.values * h.valueSize), keys, values);
  text += fmt::format(
      "func.func @decode(%ids: tensor<?xi32> {{transformer.name = \"target\"}}, %rows: "
      "!transformer.segments, %memory: !transformer.segments {{transformer.name = \"memory\"}}, "
      "%ck: {0} {{transformer.name = \"cross.key\"}}, %cv: {1} {{transformer.name = "
      "\"cross.value\"}}, %sk: {0} {{transformer.name = \"self.key\"}}, %sv: {1} "
      "{{transformer.name "
      "= \"self.value\"}}) -> (tensor<?x{2}xf32> {{transformer.name = \"logits\"}}, {0} "
      "{{transformer.name = \"self.key\"}}, {1} {{transformer.name = \"self.value\"}}) {{\n"
      "  %x = transformer.gather @words[%ids] : tensor<?x20xf32>\n"
      "  %seen = transformer.history %rows\n",
      keys, values, words);
  std::string projected = projectText(h, "self");
  for (const char part : {'k', 'v'}) {
    const std::string name = fmt::format("%self{}", part);
    projected.replace(projected.find(name), name.size(), fmt::format("%new{}", part));
  }
  text += projected;
  for (auto [part, type, width] : {std::tuple('k', keys, h.keys * h.keySize),
                                   std::tuple('v', values, h.values * h.valueSize)}) {
    text += fmt::format("  %s{0}1 = transformer.append %s{0}, %new{0} in(%rows) : {1}\n"
                        "  %self{0} = transformer.cached %s{0}1 in(%seen) : {1} -> {2}\n"
                        "  %cross{0} = transformer.cached %c{0} in(%memory) : {1} -> {2}\n",
                        part, type, rows(width));
  }
  text += attentionText(h, "self", "seen", true) + attentionText(h, "cross", "memory", false);
  text += fmt::format("  %r = transformer.add %selfy, %crossy : {0}, {0}\n"
                      "  %f = transformer.add %r, %x : {0}, {0}\n"
                      "  %l = transformer.linear %f, @out : {0} -> {1}\n"
                      "  return %l, %sk1, %sv1 : {1}, {2}, {3}\n}}\n",
                      rows(20), rows(words), keys, values);
  return text;
}

class GroupedAttention : public testing::TestWithParam<Heads> {
protected:
  GroupedAttention() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 1);
    const std::string text = programText(h);
    for (size_t at = 0; (at = text.find("transformer.parameter @", at)) != std::string::npos;
         ++at) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      const std::string name = line.substr(23, line.find(' ', 23) - 23);
      const std::string shape = line.substr(line.find("tensor<") + 7);
      const int64_t rows = std::stoll(shape),
                    columns = std::stoll(shape.substr(shape.find('x') + 1));
      std::vector<float> &values = tensors[name];
      values.resize(static_cast<size_t>(rows * columns));
      const bool isLookedUp = name == "words" || name == "table";
      const float spread = isLookedUp ? 1.0f : 1 / std::sqrt(static_cast<float>(columns));
      std::generate(values.begin(), values.end(), [&] { return spread * normal(random); });
      stored.push_back({name,
                        ElementType::F32,
                        {rows, columns},
                        std::as_bytes(std::span(std::as_const(values)))});
    }
    folder.write("program.mlir", text);
    EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", stored).ok());
  }

  std::string compile(const std::vector<std::string> &arguments = {}) {
    return compileModel(folder / "program.mlir", arguments);
  }

  const Heads h = GetParam();
  TemporaryFolder folder;
  std::map<std::string, std::vector<float>> tensors;
  std::vector<SafetensorsTensor> stored;
};

std::unique_ptr<PagedDecoder> decoderOf(const std::string &binary, const std::string &isa,
                                        int threads) {
  Result<Model> model = Model::load(binary, {.isa = isa});
  EXPECT_EQ(model.status().message(), "");
  Result<std::unique_ptr<PagedDecoder>> decoder =
      PagedDecoder::create(*model, {.threads = threads, .schedule = Schedule::Cooperative});
  EXPECT_EQ(decoder.status().message(), "");
  return *std::move(decoder);
}

/// Decodes several targets of several sources in one step: each has the same bits as alone.
void expectSameInABatch(PagedDecoder &decoder) {
  std::mt19937 random(13);
  std::vector<Tokens> targets;
  std::vector<HypothesisId> hypotheses;
  std::vector<float> alone;
  for (int i = 0; i < 6; ++i) {
    const Tokens source = randomTokens(random, random() % 20 + 1, words);
    targets.push_back(randomTokens(random, random() % 12 + 1, words));
    const std::vector<float> logits = logitsOf(decoder, source, targets[i], {targets[i].size()});
    alone.insert(alone.end(), logits.begin(), logits.end());
    hypotheses.push_back(*decoder.start(encodeOne(decoder, source)));
  }
  std::vector<Extension> extensions;
  for (size_t i = 0; i < targets.size(); ++i) {
    extensions.push_back({hypotheses[i], targets[i]});
  }
  Recorder recorder;
  ASSERT_EQ(decoder.decode(extensions, recorder).message(), "");
  EXPECT_EQ(recorder.logits, alone);
}

TEST_P(GroupedAttention, IsFusedOverRowsAndCaches) {
  std::string text;
  ASSERT_EQ(
      runCommand(HEDDLE_BINARY_DIR "/bin/heddlec " + folder / "program.mlir" + " --emit=fused",
                 text),
      0)
      << text;
  EXPECT_EQ(text.find("transformer.softmax"), std::string::npos) << text;
  EXPECT_EQ(text.find("transformer.repeat_heads"), std::string::npos) << text;
  const bool isShared = h.keys < h.heads;
  EXPECT_EQ(text.find(fmt::format("key_share = {} : i64", h.heads / h.keys)) != std::string::npos,
            isShared)
      << text;
}

TEST_P(GroupedAttention, DecodesAsItsUnfusedSelfInTheSameBitsForAnyChunkingAndThreads) {
  const std::string fused = compile(), unfused = compile({"--disable-pass=fuse-attention"});
  ASSERT_FALSE(fused.empty() || unfused.empty());
  for (const std::string &isa : runnableTargets(fused)) {
    SCOPED_TRACE(isa);
    std::mt19937 random(11);
    const std::unique_ptr<PagedDecoder> plain = decoderOf(unfused, isa, 1);
    std::vector<std::unique_ptr<PagedDecoder>> decoders;
    for (const int threads : {1, 3}) {
      decoders.push_back(decoderOf(fused, isa, threads));
    }
    for (const size_t length : {1, 5, 70}) {
      const Tokens source = randomTokens(random, length + 3, words);
      const Tokens target = randomTokens(random, length, words);
      const std::vector<float> expected = logitsOf(*plain, source, target, {length});
      const std::vector<float> whole = logitsOf(*decoders[0], source, target, {length});
      EXPECT_LE(largestDifference(whole, expected), 2e-5f) << length;
      const std::vector<size_t> steps(length, 1);
      std::vector<size_t> pieces;
      for (size_t left = length; left > 0; left -= pieces.back()) {
        pieces.push_back(random() % std::min<size_t>(left, 9) + 1);
      }
      for (const auto &decoder : decoders) {
        EXPECT_EQ(logitsOf(*decoder, source, target, steps), whole) << length;
        EXPECT_EQ(logitsOf(*decoder, source, target, pieces), whole) << length;
      }
    }
    for (const auto &decoder : decoders) {
      expectSameInABatch(*decoder);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SharedHeads, GroupedAttention,
                         testing::Values(Heads{6, 1, 1, 8, 8}, Heads{6, 2, 2, 16, 16},
                                         Heads{8, 4, 2, 12, 20}, Heads{12, 4, 6, 5, 7, 3},
                                         Heads{5, 1, 5, 9, 33}, Heads{4, 4, 1, 32, 8, 2},
                                         Heads{9, 3, 1, 64, 48}));

/// Sources with more keys than a section has, which blocks of a GPU divide among themselves.
class ManyKeys : public GroupedAttention {};

/// Returns how often the emulated GPU has launched a kernel that merges sections.
int64_t mergesInJournal() {
  const char *const path = std::getenv("HEDDLE_EMULATOR_JOURNAL");
  std::ifstream journal(path == nullptr ? "" : path);
  int64_t merges = 0;
  for (std::string line; std::getline(journal, line);) {
    merges += line.starts_with("cuLaunchKernel") && line.find("$$merge") != std::string::npos;
  }
  return merges;
}

TEST_P(ManyKeys, HaveTheSameBitsForAnyNumberOfRows) {
  const std::string fused = compile(),
                    unfused = compile({"--disable-pass=fuse-attention", presentTargets()});
  ASSERT_FALSE(fused.empty() || unfused.empty());
  Result<Model> model = Model::load(fused, onTestDevice());
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<std::unique_ptr<PagedDecoder>> created = PagedDecoder::create(*model, {});
  ASSERT_TRUE(created.ok()) << created.status().message();
  PagedDecoder &decoder = **created;
  std::mt19937 random(17);
  const Tokens source = randomTokens(random, 1060, words), target = randomTokens(random, 24, words);
  const std::vector<float> whole = logitsOf(decoder, source, target, {24});
  const std::unique_ptr<PagedDecoder> plain = decoderOf(unfused, "", 1);
  EXPECT_LE(largestDifference(whole, logitsOf(*plain, source, target, {24})), 2e-5f);
  const int64_t before = mergesInJournal();
  EXPECT_EQ(logitsOf(decoder, source, target, std::vector<size_t>(24, 1)), whole);
  EXPECT_EQ(logitsOf(decoder, source, target, {2, 5, 1, 16}), whole);
  // The journal is that of the emulated GPU with enough multiprocessors.
  EXPECT_EQ(mergesInJournal() > before, std::getenv("HEDDLE_EMULATOR_MULTIPROCESSORS") != nullptr);
}

INSTANTIATE_TEST_SUITE_P(SharedHeads, ManyKeys, testing::Values(Heads{2, 1, 1, 8, 8}));

} // namespace
} // namespace heddle
