// SPDX-License-Identifier: Apache-2.0
///
/// Tables in which look-ups and products share storage: every target gives the tokens and scores
/// that it gives without the pass, and a tied table is in the file once.
#include "heddle/Session.h"
#include "tests/EndToEnd/CompiledModel.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Options = std::vector<std::string>;

std::string compileOracle(const std::string &name, Options options, const Options &more) {
  options.insert(options.end(), more.begin(), more.end());
  return compileModel(HEDDLE_TEST_DATA "/oracles/" + name, options);
}

/// Returns tokens and scores of some sources together.
std::string generate(const std::string &binary, const std::string &isa) {
  std::string text;
  EXPECT_EQ(runCommand("printf '3 4 5\\n6 7\\n9 10 11 12 13 14 15 8\\n' | " HEDDLE_BINARY_DIR
                       "/bin/heddle generate " +
                           binary + " --input - --tokens --beam 3 --nbest 3 --scores --isa " + isa,
                       text),
            0)
      << text;
  return text;
}

/// Compares the results of a model with a pass and without.
void expectSame(const std::string &name, const std::string &pass, const Options &options = {}) {
  const std::string with = compileOracle(name, options, {});
  const std::string without = compileOracle(name, options, {"--disable-pass=" + pass});
  ASSERT_FALSE(with.empty() || without.empty());
  for (const std::string &isa : runnableTargets(with)) {
    EXPECT_EQ(generate(with, isa), generate(without, isa)) << name << ", " << isa;
  }
}

class SameBits : public testing::TestWithParam<const char *> {};

TEST_P(SameBits, LookingUpWhereProductsRead) {
  expectSame(GetParam(), "share-tables");
  expectSame(GetParam(), "share-tables", {"--target=x86-64-v3:8,x86-64-v4:112"});
  expectSame(GetParam(), "share-tables", {"--precision", "bf16-weights"});
  expectSame(GetParam(), "share-tables", {"--precision", "int8-weights"});
  expectSame(GetParam(), "share-tables", {"--precision", "bf16"});
}
INSTANTIATE_TEST_SUITE_P(Oracles, SameBits,
                         testing::Values("bart-tiny", "marian-tiny", "t5-tiny", "transformer-post"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

uint64_t weightsOf(const std::string &binary) {
  const Result<Model> model = Model::load(binary, {.describeOnly = true});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? model->weightsSize() : 0;
}

TEST(SameBitsTest, ATiedTableIsStoredOnce) {
  const Options narrow = {"--target=x86-64-v3:16"}; // panels without padding
  const uint64_t with = weightsOf(compileOracle("marian-tiny", narrow, {}));
  const uint64_t without =
      weightsOf(compileOracle("marian-tiny", narrow, {"--disable-pass=share-tables"}));
  EXPECT_GT(with, 0U);
  EXPECT_EQ(without - with, 97U * 48 * sizeof(float));
}

} // namespace
} // namespace heddle
