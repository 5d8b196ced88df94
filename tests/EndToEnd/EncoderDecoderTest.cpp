// SPDX-License-Identifier: Apache-2.0
///
/// Encoder-decoder models from their folders to encoder states and logits, with `heddle run` on the
/// files that contain the expected results: on every target, and with every pass left out.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

/// Reads a tensor of a file, with its shape before its values so that both are compared.
std::vector<float> readTensor(const std::string &path, const std::string &name) {
  auto checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  if (!checkpoint.ok() || checkpoint->find(name) == nullptr) {
    ADD_FAILURE() << path << " has no tensor " << name;
    return {};
  }
  const auto &shape = checkpoint->find(name)->shape;
  std::vector<float> found(shape.begin(), shape.end());
  size_t count = 1;
  for (auto dimension : shape) {
    count *= static_cast<size_t>(dimension);
  }
  std::vector<float> values(count);
  EXPECT_TRUE(checkpoint->readF32(name, values).ok());
  found.insert(found.end(), values.begin(), values.end());
  return found;
}

/// Runs a binary on an oracle's own file and returns the path of the output.
std::string runOracle(const std::string &binary, const std::string &oracle, const std::string &isa,
                      const TemporaryFolder &folder) {
  std::string output = folder / "outputs.safetensors";
  auto outcome =
      tools::runHeddle({"run", binary, "--inputs", oracles + oracle + "/expected.safetensors",
                        "--outputs", output, "--isa", isa, "--device", anyDevice});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.code == 0 ? output : std::string();
}

void expectOracle(const std::string &oracle, const std::vector<std::string> &names, float bound) {
  std::string binary = compileModel(oracles + oracle);
  ASSERT_FALSE(binary.empty());
  TemporaryFolder folder;
  for (const std::string &isa : runnableTargets(binary)) {
    std::string output = runOracle(binary, oracle, isa, folder);
    ASSERT_FALSE(output.empty()) << isa;
    for (const std::string &name : names) {
      auto expected = readTensor(oracles + oracle + "/expected.safetensors", name);
      EXPECT_LE(largestDifference(readTensor(output, name), expected), bound)
          << oracle << " " << name << " on " << isa;
    }
  }
}

/// Returns a tensor of an oracle or an output [batch, rows, width], or [batch, rows], without the
/// rows where the target is padded.
std::vector<float> withoutPadding(const std::string &path, const std::string &name,
                                  const std::string &oracle) {
  auto file = Checkpoint::open(oracles + oracle + "/expected.safetensors");
  const auto *target = file.ok() ? file->find("target") : nullptr;
  std::vector<float> values = readTensor(path, name);
  if (target == nullptr || values.size() < 3) {
    ADD_FAILURE() << oracle << " has no target";
    return {};
  }
  std::vector<int32_t> ids(size_t(target->shape[0] * target->shape[1]));
  EXPECT_TRUE(file->readI32("target", ids).ok());
  const bool areNumbers = values.size() == 2 + ids.size();
  const size_t width = areNumbers ? 1 : static_cast<size_t>(values[2]);
  const size_t rank = areNumbers ? 2 : 3;
  std::vector<float> kept;
  for (size_t row = 0; row < ids.size(); ++row) {
    const auto begin = values.begin() + std::ptrdiff_t(rank + row * width);
    if (ids[row] != 0) {
      kept.insert(kept.end(), begin, begin + std::ptrdiff_t(width));
    }
  }
  return kept;
}

/// A recurrent model, whose examples are computed alone: zeros are expected at pads.
void expectRecurrent(const std::string &oracle) {
  std::string binary = compileModel(oracles + oracle);
  ASSERT_FALSE(binary.empty());
  TemporaryFolder folder;
  const std::string file = oracles + oracle + "/expected.safetensors";
  for (const std::string &isa : runnableTargets(binary)) {
    std::string output = runOracle(binary, oracle, isa, folder);
    ASSERT_FALSE(output.empty()) << isa;
    EXPECT_LE(largestDifference(readTensor(output, "encoder"), readTensor(file, "encoder")), 2e-4f)
        << oracle << " on " << isa;
    const auto expected = Checkpoint::open(file);
    ASSERT_TRUE(expected.ok());
    for (const char *name : {"logits", "decoder", "context", "attention", "position"}) {
      if (expected->find(name) != nullptr) {
        EXPECT_LE(largestDifference(withoutPadding(output, name, oracle),
                                    withoutPadding(file, name, oracle)),
                  2e-4f)
            << oracle << " " << name << " on " << isa;
      }
    }
  }
}

/// Leaves out every pass that changes the program, and all of them: the results agree within
/// rounding. Passes are independent of targets, so one target each is compiled, in rotation, and all
/// of them without passes.
void expectPassesOptional(const std::string &oracle) {
  TemporaryFolder folder;
  std::string fused = compileModel(oracles + oracle);
  ASSERT_FALSE(fused.empty());
  auto expected = readTensor(runOracle(fused, oracle, "x86-64-v3", folder), "logits");
  const std::vector<std::string> targets = runnableTargets(fused);
  std::vector<std::vector<std::string>> variants = {withoutPasses()};
  for (const std::string &flag : withoutPassesOf(oracles + oracle)) {
    variants.push_back({flag, "--target=" + targets[variants.size() % targets.size()]});
  }
  for (const auto &variant : variants) {
    std::string binary = compileModel(oracles + oracle, variant);
    ASSERT_FALSE(binary.empty());
    for (const std::string &isa : runnableTargets(binary)) {
      auto logits = readTensor(runOracle(binary, oracle, isa, folder), "logits");
      EXPECT_LE(largestDifference(logits, expected), 5e-5f)
          << oracle << " " << variant.front() << " of " << variant.size() << " on " << isa;
    }
  }
}

TEST(EncoderDecoder, AgreesWithTransformerPost) {
  expectOracle("transformer-post", {"encoder", "logits"}, 5e-5f);
}
TEST(EncoderDecoder, AgreesWithTransformerPre) {
  expectOracle("transformer-pre", {"encoder", "logits"}, 5e-5f);
}
TEST(EncoderDecoder, AgreesWithSharedAttention) {
  expectOracle("san", {"encoder", "logits"}, 5e-5f);
}
TEST(EncoderDecoder, AgreesWithSanAverage) {
  expectOracle("san-average", {"encoder", "logits"}, 5e-5f);
}
TEST(EncoderDecoder, AgreesWithWeighted) { expectOracle("weighted", {"encoder", "logits"}, 5e-5f); }
TEST(EncoderDecoder, AgreesWithWeightedSharedFeedForward) {
  expectOracle("weighted-shared-ffn", {"encoder", "logits"}, 5e-5f);
}
TEST(EncoderDecoder, AgreesWithRestrictedAttention) {
  for (const char *name : {"window-odd", "window-even", "block-causal", "masked-local",
                           "local-unmasked", "mixed", "weighted-window"}) {
    expectOracle(std::string("local/") + name, {"encoder", "logits"}, 5e-5f);
  }
}
TEST(EncoderDecoder, AgreesWithRecurrentModels) {
  for (const char *name :
       {"gnmt-like", "gru-additive", "gru-concat-local-p", "gru-last", "location",
        "location-cumulative", "lstm-dot-local-m", "lstm-general", "lstm-none", "tanh-additive"}) {
    expectRecurrent(std::string("recurrent/") + name);
  }
}
TEST(EncoderDecoder, AgreesWithMarianTiny) { expectOracle("marian-tiny", {"logits"}, 1e-4f); }
TEST(EncoderDecoder, AgreesWithBartTiny) { expectOracle("bart-tiny", {"logits"}, 1e-4f); }
TEST(EncoderDecoder, AgreesWithM2M100Tiny) { expectOracle("m2m100-tiny", {"logits"}, 1e-4f); }
TEST(EncoderDecoder, AgreesWithPegasusTiny) { expectOracle("pegasus-tiny", {"logits"}, 1e-4f); }
TEST(EncoderDecoder, AgreesWithT5Tiny) { expectOracle("t5-tiny", {"logits"}, 1e-4f); }

TEST(EncoderDecoder, EveryPassMayBeLeftOutOfTransformerPost) {
  expectPassesOptional("transformer-post");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfTransformerPre) {
  expectPassesOptional("transformer-pre");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfSharedAttention) { expectPassesOptional("san"); }
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfSanAverage) { expectPassesOptional("san-average"); }
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfWeighted) { expectPassesOptional("weighted"); }
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfWeightedSharedFeedForward) {
  expectPassesOptional("weighted-shared-ffn");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfRestrictedAttention) {
  expectPassesOptional("local/mixed");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfBlocksWithBranches) {
  expectPassesOptional("local/weighted-window");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfInputFeeding) {
  expectPassesOptional("recurrent/lstm-general");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfAdditiveAttention) {
  expectPassesOptional("recurrent/gru-additive");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfLocationSensitiveAttention) {
  expectPassesOptional("recurrent/location-cumulative");
}
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfMarianTiny) { expectPassesOptional("marian-tiny"); }
TEST(EncoderDecoder, EveryPassMayBeLeftOutOfT5Tiny) { expectPassesOptional("t5-tiny"); }

} // namespace
} // namespace heddle
