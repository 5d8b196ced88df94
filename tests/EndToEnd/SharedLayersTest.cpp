// SPDX-License-Identifier: Apache-2.0
///
/// Layers whose attention is proved to be equal, because the checkpoint has equal tensors under
/// other names. Each test writes the checkpoint that its model needs.
#include "tests/EndToEnd/SharedLayers.h"

namespace heddle {
namespace {

const std::vector<std::string> parallelLayers = {"first", "second", "third"};

/// A model whose layers are parallel, with a checkpoint in which all tensors differ.
class ParallelLayersTest : public SharedLayersTest {
protected:
  ParallelLayersTest() {
    uint32_t seed = 1;
    tensors.fill("word", {61, 24}, seed++);
    tensors.fill("norm.weight", {24}, seed++);
    tensors.fill("norm.bias", {24}, seed++);
    for (const std::string &layer : parallelLayers) {
      for (const std::string kind : {".self.", ".cross."}) {
        for (const std::string name : {"query", "key", "value"}) {
          tensors.fill(layer + kind + name, {24, 24}, seed++);
        }
      }
    }
  }

  /// Copies these tensors of the layer `from` to the layer `to`.
  void copy(const std::string &from, const std::string &to, const std::vector<std::string> &names) {
    for (const std::string kind : {".self.", ".cross."}) {
      for (const std::string &name : names) {
        tensors.copy(from + kind + name, to + kind + name);
      }
    }
  }
  /// Returns the path of the program, next to its checkpoint.
  std::string write() const {
    tensors.write(source / "model.safetensors");
    return source.write("model.mlir",
                        readBytes(HEDDLE_TEST_DATA "/EndToEnd/Inputs/parallel-layers.mlir"));
  }
  /// Compiles with and without the pass, and checks that both give the same results.
  Compiled compileBoth() const {
    const std::string program = write();
    Compiled shared = compile(program);
    const std::vector<float> expected = logits(compileUnshared(program), "transformer-post");
    EXPECT_LE(largestDifference(logits(shared, "transformer-post"), expected), 5e-5F);
    EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0.1F);
    return shared;
  }

  Tensors tensors;
  TemporaryFolder source;
};

TEST_F(ParallelLayersTest, OtherTensorsShareNothing) {
  const Compiled compiled = compileBoth();
  EXPECT_EQ(compiled.texts("share-attention", true), std::vector<std::string>());
  EXPECT_EQ(compiled.texts("share-attention", false), std::vector<std::string>());
  EXPECT_EQ(caches(compiled).size(), 12U);
}

TEST_F(ParallelLayersTest, EqualTensorsShareOutputs) {
  copy("first", "second", {"query", "key", "value"});
  const Compiled compiled = compileBoth();
  EXPECT_EQ(compiled.texts("share-attention", true).size(), 2U);
  EXPECT_EQ(compiled.count("share-attention", true, "shares the output of "), 2U);
  // Three maps of 24 by 24 in each of two attentions, four caches of 24 floats.
  EXPECT_EQ(compiled.savings("share-attention", "flops_per_token"), 6 * 2 * 24 * 24);
  EXPECT_EQ(compiled.savings("share-attention", "flops_per_token_and_key"), 2 * 4 * 24);
  EXPECT_EQ(compiled.savings("share-attention", "weight_bytes"), 6 * 4 * 24 * 24);
  EXPECT_EQ(compiled.savings("share-attention", "cache_bytes_per_token"), 4 * 4 * 24);
  const std::set<std::string> left = {"first.self.key",    "first.self.value", "first.cross.key",
                                      "first.cross.value", "third.self.key",   "third.self.value",
                                      "third.cross.key",   "third.cross.value"};
  EXPECT_EQ(caches(compiled), left);
  // Not only close: sharing computes the same operations.
  const std::vector<float> expected =
      logits(compileUnshared(source / "model.mlir"), "transformer-post");
  EXPECT_EQ(logits(compiled, "transformer-post"), expected);
  // Unfused attention is shared as well.
  const Compiled primitive = compile(source / "model.mlir", {"--disable-pass=fuse-attention"});
  EXPECT_LE(largestDifference(logits(primitive, "transformer-post"), expected), 5e-5F);
  EXPECT_EQ(caches(primitive).size(), 8U);
}

TEST_F(ParallelLayersTest, ValuesOfTheirOwnLeaveTheWeights) {
  copy("first", "third", {"query", "key"});
  const Compiled compiled = compileBoth();
  EXPECT_EQ(compiled.texts("share-attention", true).size(), 2U);
  EXPECT_EQ(compiled.count("share-attention", true, "shares the weights of "), 2U);
  EXPECT_EQ(compiled.savings("share-attention", "cache_bytes_per_token"), 2 * 4 * 24);
  EXPECT_EQ(compiled.savings("share-attention", "flops_per_token_and_key"), 2 * 2 * 24);
  EXPECT_FALSE(caches(compiled).contains("third.self.key"));
  EXPECT_TRUE(caches(compiled).contains("third.self.value"));
}

TEST_F(ParallelLayersTest, KeysAndValuesOfOneLayerAreReadByAll) {
  copy("first", "second", {"key", "value"});
  copy("first", "third", {"key", "value"});
  const Compiled compiled = compileBoth();
  EXPECT_EQ(compiled.count("share-attention", true, "shares the keys and values of "), 4U);
  EXPECT_EQ(compiled.count("share-attention", false, "the queries differ: "), 4U);
  EXPECT_EQ(caches(compiled).size(), 4U);
  EXPECT_EQ(logits(compiled, "transformer-post"),
            logits(compileUnshared(source / "model.mlir"), "transformer-post"));
}

TEST_F(ParallelLayersTest, OneBitKeepsLayersApart) {
  copy("first", "second", {"query", "key", "value"});
  const Tensors equal = tensors;
  const std::map<std::string, std::pair<std::string, size_t>> cases = {
      // The message, and how many of the twelve caches are left.
      {"second.self.query", {"the queries differ: second.self.query has other values", 8}},
      {"second.self.key", {"the keys differ: second.self.key has other values", 9}},
      {"second.cross.key",
       {"the keys differ: @encode appends other rows to cache \"second.cross.key\" than to "
        "\"first.cross.key\": second.cross.key has other values",
        9}}};
  for (const auto &[name, expected] : cases) {
    tensors = equal;
    tensors.flip(name);
    const Compiled compiled = compileBoth();
    EXPECT_EQ(compiled.count("share-attention", true, "shares the output of "), 1U) << name;
    EXPECT_EQ(compiled.count("share-attention", true, "shares the weights of "), 0U) << name;
    EXPECT_EQ(compiled.count("share-attention", false, expected.first), 1U) << name;
    EXPECT_EQ(caches(compiled).size(), expected.second) << name;
  }
  // Only the weights of the values are left.
  tensors = equal;
  tensors.flip("second.self.value");
  const Compiled compiled = compileBoth();
  EXPECT_EQ(compiled.count("share-attention", true, "shares the weights of "), 1U);
  EXPECT_EQ(caches(compiled).size(), 9U);
}

} // namespace
} // namespace heddle
