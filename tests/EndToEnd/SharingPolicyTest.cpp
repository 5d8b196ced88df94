// SPDX-License-Identifier: Apache-2.0
///
/// Layers of a family that share attention: proved, if layers read one memory, and requested, by
/// `--share-attention`.
#include "tests/EndToEnd/SharedLayers.h"

namespace heddle {
namespace {

// --- Models of a family ----------------------------------------------------------------------

class SharedModelTest : public SharedLayersTest {
protected:
  /// Takes the tensors of transformer-post, but with the source's keys and values of the first
  /// decoder layer in every layer.
  void readOneMemory() {
    tensors.read(oracles + "transformer-post/model.safetensors");
    for (const std::string name : {"key.weight", "key.bias", "value.weight", "value.bias"}) {
      for (const std::string layer : {"1", "2"}) {
        tensors.copy("decoder.layers.0.cross_attention." + name,
                     "decoder.layers." + layer + ".cross_attention." + name);
      }
    }
  }
  /// Writes a folder with the configuration of an oracle, except some keys, and these tensors.
  std::string write(const std::string &oracle, const std::vector<std::string> &without,
                    const json &with = json::object()) const {
    json config = json::parse(readBytes(oracles + oracle + "/config.json"), nullptr, false);
    for (const std::string &key : without) {
      config.erase(key);
    }
    config.update(with);
    tensors.write(source / "model.safetensors");
    source.write("config.json", config.dump());
    return source.path();
  }

  Tensors tensors;
  TemporaryFolder source;
};

TEST_F(SharedModelTest, LayersReadOneMemory) {
  readOneMemory();
  const std::string model = write("transformer-post", {});
  const Compiled shared = compile(model);
  EXPECT_EQ(
      shared.texts("share-attention", true),
      std::vector<std::string>(2, "shares the keys and values of decoder.layers.0.cross_attention"))
      << shared.report;
  EXPECT_EQ(shared.texts("share-attention", false),
            (std::vector<std::string>{
                "not shared with decoder.layers.0.cross_attention: the queries differ: "
                "decoder.layers.1.cross_attention.query.weight has other values",
                "not shared with decoder.layers.1.cross_attention: the queries differ: "
                "decoder.layers.2.cross_attention.query.weight has other values"}));
  EXPECT_EQ(shared.savings("share-attention", "cache_bytes_per_token"), 4 * 4 * 48);
  EXPECT_EQ(caches(shared).size(), 8U);
  EXPECT_EQ(logits(shared, "transformer-post"), logits(compileUnshared(model), "transformer-post"));
}

TEST_F(SharedModelTest, AnOrdinaryModelHasNoCandidates) {
  const Compiled compiled = compile(oracles + "transformer-post");
  EXPECT_EQ(compiled.texts("share-attention", true).size(), 0U);
  EXPECT_EQ(compiled.texts("share-attention", false).size(), 0U);
  EXPECT_FALSE(info(compiled).contains("sharing"));
}

// --- Requested -------------------------------------------------------------------------------

/// Returns the program after a phase without locations and attributes of the module.
std::string operationsOf(const std::string &text) {
  std::istringstream stream(text);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("#") || line.starts_with("module")) {
      continue;
    }
    for (size_t at = line.find(" loc("); at != std::string::npos; at = line.find(" loc(", at)) {
      line.erase(at, line.find(')', at) - at + 1);
    }
    kept += line + "\n";
  }
  return kept;
}

TEST_F(SharedModelTest, APolicyGivesTheDeclaredModel) {
  // The tensors that the declared model lacks may be anything.
  tensors.read(oracles + "san/model.safetensors");
  uint32_t seed = 1;
  for (const std::string layer : {"0", "1", "2", "3", "4"}) {
    for (const std::string kind : {"self", "cross"}) {
      for (const std::string name : {"query", "key", "value"}) {
        const std::string scope = "decoder.layers." + layer + "." + kind + "_attention." + name;
        if (!tensors.contains(scope + ".weight")) {
          tensors.fill(scope + ".weight", {48, 48}, seed++);
          tensors.fill(scope + ".bias", {48}, seed++);
        }
      }
    }
  }
  const std::string model = write("san", {"self_attention_sharing", "cross_attention_sharing"});
  const std::string policy = "--share-attention=self:1,4,cross:3,2";
  const Compiled shared = compile(model, {policy});
  const Compiled declared = compile(oracles + "san");
  const std::vector<float> found = logits(shared, "san");
  EXPECT_EQ(found, logits(declared, "san"));
  EXPECT_LE(largestDifference(found, readTensor(oracles + "san/expected.safetensors", "logits")),
            5e-5F);
  EXPECT_EQ(caches(shared), caches(declared));
  const tools::Outcome fused = heddlec({model, "--emit=fused", policy});
  EXPECT_EQ(operationsOf(fused.output),
            operationsOf(heddlec({oracles + "san", "--emit=fused"}).output));
  // Three members of a self block, three of cross blocks.
  EXPECT_EQ(shared.count("apply-sharing", true,
                         "shares the probabilities of decoder.layers.1.self_attention"),
            3U);
  EXPECT_EQ(
      shared.count("apply-sharing", true, "shares the context of decoder.layers.0.cross_attention"),
      2U);
  EXPECT_EQ(
      shared.count("apply-sharing", true, "shares the context of decoder.layers.3.cross_attention"),
      1U);
}

/// Returns the element of a report that predicts the gain of an entry.
json gainOf(const json &report, const std::string &entry) {
  for (const json &each : report) {
    if (each["pass"] == "predicted-gain" && each["where"] == entry) {
      return each;
    }
  }
  ADD_FAILURE() << "no gain of " << entry << " in " << report;
  return {};
}

/// Returns how much less an entry computes or reads than without the passes.
int64_t saved(const json &gain, const char *key) {
  return gain["before"][key].get<int64_t>() - gain["after"][key].get<int64_t>();
}

/// Returns the operations of a step with a history of this length, by hand.
double operationsOf(const json &totals, int64_t history, int64_t source) {
  return totals["flops_per_token"].get<double>() +
         double(history) * totals["flops_per_token_and_history"].get<double>() +
         double(source) * totals["flops_per_token_and_source"].get<double>();
}

/// Returns the bytes that it reads.
double bytesOf(const json &totals, int64_t history, int64_t source) {
  return totals["weight_bytes_read"].get<double>() +
         totals["lookup_bytes_per_token"].get<double>() +
         double(history) * totals["cache_bytes_read_per_history"].get<double>() +
         double(source) * totals["cache_bytes_read_per_source"].get<double>();
}

// arXiv 1906.11024: in a block of layers, the first computes the weights. The other layers of self
// attention keep W^V, the product with the values and W^O; those of cross attention keep W^O.
TEST_F(SharedModelTest, TheGainOfAPolicyIsPredicted) {
  tensors.read(oracles + "transformer-post/model.safetensors");
  uint32_t seed = 1;
  const std::string scope = "decoder.layers.";
  for (const std::string &name : tensors.names()) {
    if (name.starts_with(scope)) {
      std::string other = name;
      other[scope.size()] = static_cast<char>(other[scope.size()] + 3);
      tensors.fill(other, tensors.shape(name), seed++);
    }
  }
  // Long enough for the longest predicted history.
  const std::string model =
      write("transformer-post", {}, {{"decoder_layers", 6}, {"max_positions", 256}});
  const Compiled shared = compile(model, {"--share-attention=self:1,5,cross:4,2"});
  // Width, inner width, words; layers, and those that share self and cross attention.
  const int64_t d = 48, inner = 96, words = 61, layers = 6, self = 4, cross = 3 + 1;
  const int64_t matrix = 2 * d * d, row = 4 * d;
  json decode = gainOf(shared.report, "decode");
  const json &before = decode["before"], &after = decode["after"];
  EXPECT_EQ(before["flops_per_token"], layers * (6 * matrix + 2 * 2 * d * inner) + 2 * words * d);
  EXPECT_EQ(after["flops_per_token"],
            before["flops_per_token"].get<int64_t>() - (2 * self + cross) * matrix);
  EXPECT_EQ(before["flops_per_token_and_history"], layers * 4 * d);
  EXPECT_EQ(after["flops_per_token_and_history"], (layers * 4 - self * 2) * d);
  EXPECT_EQ(before["flops_per_token_and_source"], layers * 4 * d);
  EXPECT_EQ(after["flops_per_token_and_source"], (layers - cross) * 4 * d);
  // Each map with its bias; the word embeddings, which are tied to the output, are stored once.
  const int64_t maps = (2 * self + cross) * (4 * d * d + row);
  EXPECT_EQ(saved(decode, "weight_bytes"), maps + words * row);
  EXPECT_EQ(saved(decode, "weight_bytes_read"), maps);
  EXPECT_EQ(before["cache_bytes_per_token"], layers * 2 * row);
  EXPECT_EQ(after["cache_bytes_per_token"], (layers * 2 - self) * row);
  EXPECT_EQ(before["cache_bytes_per_source_token"], layers * 2 * row);
  EXPECT_EQ(after["cache_bytes_per_source_token"], (layers - cross) * 2 * row);
  // No cache has two readers: one each for the probabilities and for the context of a layer.
  for (const json *totals : {&before, &after}) {
    EXPECT_EQ((*totals)["cache_bytes_read_per_history"], (*totals)["cache_bytes_per_token"]);
    EXPECT_EQ((*totals)["cache_bytes_read_per_source"], (*totals)["cache_bytes_per_source_token"]);
  }
  for (const size_t i : {0, 1}) {
    const int64_t history = i == 0 ? 24 : 200;
    const json &predicted = decode["predicted"][i];
    EXPECT_EQ(predicted["history"], history);
    EXPECT_EQ(predicted["source"], 24);
    EXPECT_DOUBLE_EQ(predicted["arithmetic"],
                     operationsOf(before, history, 24) / operationsOf(after, history, 24));
    EXPECT_DOUBLE_EQ(predicted["memory"],
                     bytesOf(before, history, 24) / bytesOf(after, history, 24));
    EXPECT_GT(predicted["arithmetic"], 1.1);
  }
  // Keys and values of the source are computed when it is encoded.
  const json encode = gainOf(shared.report, "encode");
  EXPECT_EQ(saved(encode, "flops_per_token"), cross * 2 * matrix);
  EXPECT_EQ(saved(encode, "cache_bytes_per_token"), cross * 2 * row);
  EXPECT_EQ(saved(encode, "flops_per_token_and_row"), 0);
}

// One cache with three readers is read three times: it takes less memory, but a step takes no less
// time.
TEST_F(SharedModelTest, CachesThatAreMergedAreReadAsOften) {
  readOneMemory();
  const Compiled shared = compile(write("transformer-post", {}));
  const int64_t row = 4 * 48;
  const json decode = gainOf(shared.report, "decode");
  EXPECT_EQ(decode["before"]["cache_bytes_per_source_token"], 3 * 2 * row);
  EXPECT_EQ(decode["after"]["cache_bytes_per_source_token"], 2 * row);
  EXPECT_EQ(decode["before"]["cache_bytes_read_per_source"], 3 * 2 * row);
  EXPECT_EQ(decode["after"]["cache_bytes_read_per_source"], 3 * 2 * row);
  for (const json &size : decode["predicted"]) {
    EXPECT_EQ(size["arithmetic"], 1.0);
    EXPECT_EQ(size["memory"], 1.0);
  }
  // Their contents are computed once; the encoder reads none of them.
  const json encode = gainOf(shared.report, "encode");
  EXPECT_EQ(saved(encode, "flops_per_token"), 2 * 2 * 2 * 48 * 48);
  EXPECT_EQ(saved(encode, "weight_bytes_read"), 2 * 2 * (4 * 48 * 48 + row));
  EXPECT_EQ(saved(encode, "cache_bytes_per_token"), 2 * 2 * row);
  for (const char *read : {"cache_bytes_read_per_history", "cache_bytes_read_per_source"}) {
    EXPECT_EQ(encode["before"][read], 0) << read;
  }
}

TEST_F(SharedModelTest, LayersWithABiasByDistanceShare) {
  // T5's layers read one bias, each with its own history.
  const std::string model = oracles + "t5-tiny";
  const std::vector<float> alone = logits(compile(model), "t5-tiny");
  const std::map<std::string, std::vector<std::string>> cases = {
      {"self:2", {"shares the probabilities of decoder.block.0.layer.0.SelfAttention"}},
      {"cross:2", {"shares the context of decoder.block.0.layer.1.EncDecAttention"}},
      {"encoder:3",
       {"shares the probabilities of encoder.block.0.layer.0.SelfAttention",
        "shares the probabilities of encoder.block.0.layer.0.SelfAttention"}}};
  for (const auto &[policy, texts] : cases) {
    const std::string option = "--share-attention=" + policy;
    const Compiled shared = compile(model, {option});
    EXPECT_EQ(shared.texts("apply-sharing", true), texts) << policy;
    EXPECT_EQ(info(shared)["sharing"], policy);
    const std::vector<float> found = logits(shared, "t5-tiny");
    EXPECT_GT(largestDifference(found, alone), 1e-3F) << policy;
    // The remaining attentions can be requested, under their own names.
    EXPECT_EQ(shared.texts("observe-attention", true).size(), 7 - texts.size()) << policy;
    if (policy != "self:2") {
      continue;
    }
    for (const std::string pass : {"eliminate-common", "fuse-attention"}) {
      const Compiled without = compile(model, {option, "--disable-pass=" + pass});
      EXPECT_LE(largestDifference(logits(without, "t5-tiny"), found), 1e-4F) << pass;
      for (const std::string kept : {"apply-sharing", "observe-attention"}) {
        EXPECT_EQ(without.texts(kept, true), shared.texts(kept, true)) << pass;
      }
    }
  }
}

TEST_F(SharedModelTest, FusionNeedsNoEliminationOfHistories) {
  const std::string model = oracles + "t5-tiny";
  const Compiled without = compile(model, {"--disable-pass=eliminate-common"});
  EXPECT_EQ(without.texts("fuse-attention", false), std::vector<std::string>());
  EXPECT_EQ(without.texts("fuse-attention", true), compile(model).texts("fuse-attention", true));
}

TEST_F(SharedModelTest, TheBinarySaysWhatWasAsked) {
  const Compiled shared =
      compile(oracles + "transformer-post", {"--share-attention=cross:1,2,encoder:3"});
  EXPECT_EQ(info(shared)["sharing"], "cross:1,2,encoder:3");
  const tools::Outcome text = tools::runHeddle({"info", shared.binary});
  EXPECT_NE(text.output.find("sharing     cross:1,2,encoder:3, as asked for when it was compiled"),
            std::string::npos)
      << text.output;
  // The phases may be run one by one.
  const std::string program = work / "fused.mlir";
  ASSERT_EQ(heddlec({oracles + "transformer-post", "--share-attention=cross:1,2,encoder:3",
                     "--stop-after=fused", "-o", program})
                .code,
            0);
  tensors.read(oracles + "transformer-post/model.safetensors");
  tensors.write(work / "fused.safetensors");
  const Compiled later = compile(program, {"--start-at=dataflow"});
  EXPECT_EQ(info(later)["sharing"], "cross:1,2,encoder:3");
  EXPECT_EQ(logits(later, "transformer-post"), logits(shared, "transformer-post"));
}

TEST_F(SharedModelTest, RefusesAPolicyOfAnotherModel) {
  const auto expectRefusal = [&](const std::string &input, const std::string &policy,
                                 const std::string &message) {
    expectError({input, "-o", work / "none.so", "--share-attention=" + policy},
                "--share-attention: " + message);
  };
  expectRefusal(
      oracles + "transformer-post", "self:1,5",
      "self:1,5 covers 6 layers, but entry 'decode' has 3 that compute their own self attention");
  expectRefusal(oracles + "transformer-post", "self:3,encoder:1",
                "encoder:1 covers 1 layer, but entry 'encode' has 3 that compute their own encoder "
                "attention");
  expectRefusal(oracles + "bert-tiny", "cross:3",
                "cross:3 covers 3 layers, but no entry has cross attention");
  // Five layers, of which the last four share already.
  expectRefusal(
      oracles + "san", "self:1,4",
      "self:1,4 covers 5 layers, but entry 'decode' has 2 that compute their own self attention");
}

TEST_F(SharedModelTest, RefusesWhatLayersCannotShare) {
  // The pass's objection to the model is reported for the option too: the last layer sees all.
  tensors.read(oracles + "transformer-post/model.safetensors");
  tensors.write(source / "model.safetensors");
  std::string program = heddlec({oracles + "transformer-post", "--emit=model"}).output;
  const std::string mask = "transformer.mask causal";
  ASSERT_NE(program.rfind(mask), std::string::npos);
  program.replace(program.rfind(mask), mask.size(), "transformer.mask all");
  expectError(
      {source.write("model.mlir", program), "-o", work / "none.so", "--share-attention=self:3"},
      "--share-attention: decoder.layers.2.self_attention has another mask or another bias "
      "by distance than decoder.layers.0.self_attention, whose attention it is to share");
}

} // namespace
} // namespace heddle
