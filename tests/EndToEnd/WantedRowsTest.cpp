// SPDX-License-Identifier: Apache-2.0
///
/// Steps in which only some rows need logits: the others append their keys and values, and are not
/// computed any further.
#include "heddle/Generation.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/ContinuedPrompts.h"
#include "tests/EndToEnd/DecodedPairs.h"

#include <fmt/format.h>
#include <functional>
#include <map>
#include <random>

namespace heddle {
namespace {

/// Requests the given rows, and records their logits.
class SomeRows final : public Recorder {
public:
  explicit SomeRows(std::vector<bool> wanted) : wanted(std::move(wanted)) {}
  bool wantsRow(int64_t row) const override { return wanted[static_cast<size_t>(row)]; }

private:
  const std::vector<bool> wanted;
};

std::string oracle(const std::string &name) { return HEDDLE_TEST_DATA "/oracles/" + name; }

/// Returns whether a row of a step of `rows` rows is requested.
using Choice = std::function<bool(size_t row, size_t rows)>;

/// Decodes the beginnings of all targets in one step, then one more token of each, and compares the
/// requested rows with those of steps in which all are requested.
void expectSameRows(PagedDecoder &decoder, const std::vector<Pair> &pairs, const Choice &choice) {
  std::vector<SourceView> sources;
  for (const Pair &pair : pairs) {
    sources.emplace_back(pair.source);
  }
  std::vector<std::vector<float>> found[2];
  for (const bool all : {true, false}) {
    std::vector<SourceId> ids(pairs.size());
    ASSERT_EQ(decoder.encode(sources, ids).message(), "");
    std::vector<HypothesisId> hypotheses;
    std::vector<Extension> beginnings;
    std::vector<Extension> ends;
    size_t rows = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      hypotheses.push_back(*decoder.start(ids[i]));
      const std::span<const int32_t> target = pairs[i].target;
      beginnings.push_back({hypotheses[i], target.first(target.size() - 1)});
      ends.push_back({hypotheses[i], target.last(1)});
      rows += target.size() - 1;
    }
    std::vector<bool> wanted;
    for (size_t row = 0; row < rows; ++row) {
      wanted.push_back(all || choice(row, rows));
    }
    SomeRows first(wanted);
    ASSERT_EQ(decoder.decode(beginnings, first).message(), "");
    for (size_t row = 0; row < rows; ++row) {
      if (choice(row, rows)) {
        found[all ? 0 : 1].push_back(first.rows(static_cast<int64_t>(row), 1));
      }
    }
    Recorder second;
    ASSERT_EQ(decoder.decode(ends, second).message(), "");
    found[all ? 0 : 1].push_back(second.logits);
    for (size_t i = 0; i < pairs.size(); ++i) {
      decoder.release(hypotheses[i]);
      decoder.release(ids[i]);
    }
  }
  EXPECT_EQ(found[0], found[1]);
}

/// Models with and without sources, with layers whose rows depend on each other after the last
/// keys, and requests for separate rows, adjacent rows, one row, or none.
TEST(WantedRows, HaveTheBitsOfAllRows) {
  const std::map<std::string, Choice> choices = {
      {"last", [](size_t row, size_t rows) { return row + 1 == rows; }},
      {"none", [](size_t, size_t) { return false; }},
      {"first and last", [](size_t row, size_t rows) { return row == 0 || row + 1 == rows; }},
      {"every third", [](size_t row, size_t) { return row % 3 == 0; }},
      {"every fortieth", [](size_t row, size_t) { return row % 40 == 7; }},
      {"a stretch", [](size_t row, size_t) { return row > 10 && row < 30; }}};
  for (const char *const name :
       {"llama-tiny", "gemma2-tiny", "mixtral-tiny", "gpt-neox-tiny", "bart-tiny"}) {
    const std::string binary = compileModel(oracle(name));
    ASSERT_FALSE(binary.empty());
    for (const std::string &isa : runnableTargets(binary)) {
      for (const int threads : {1, 2}) {
        std::mt19937 random(11);
        const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, isa, threads);
        std::vector<Pair> pairs = randomPairs(*decoder, 4, random);
        for (Pair &pair : pairs) {
          pair.target.resize(std::max<size_t>(pair.target.size(), 2), 3);
        }
        for (const auto &[which, choice] : choices) {
          SCOPED_TRACE(fmt::format("{} {} {} threads, {}", name, isa, threads, which));
          expectSameRows(*decoder, pairs, choice);
        }
      }
    }
  }
}

/// Returns the operations of each dispatch for a prompt and its first token, as a profile counts
/// them.
std::map<std::string, double> operationsOf(const std::string &binary, size_t promptTokens) {
  Result<Model> model = Model::load(binary);
  EXPECT_EQ(model.status().message(), "");
  auto generator = Generator::create(*model, {.session = {.profile = true}});
  EXPECT_EQ(generator.status().message(), "");
  GenerationRequest request{.prefix = Tokens(promptTokens, 5)};
  request.options.maxLength = 1;
  EXPECT_TRUE(generator->add(request).ok());
  while (!generator->idle()) {
    EXPECT_TRUE(generator->step().ok());
  }
  std::map<std::string, double> operations;
  for (const DispatchProfile &dispatch : generator->profile()) {
    EXPECT_EQ(dispatch.calls, 1U) << dispatch.name;
    operations[dispatch.name] += dispatch.flops;
  }
  return operations;
}

/// Only the last row of a prompt is computed after the last layer's keys.
TEST(WantedRows, OthersAreNotComputedAfterTheLastKeys) {
  const std::string binary = compileModel(oracle("llama-tiny"));
  ASSERT_FALSE(binary.empty());
  constexpr double tokens = 40;
  // The width, that of all heads of keys, the inner width and the vocabulary; a multiply-add is two
  // operations.
  constexpr double width = 64;
  constexpr double keys = 16;
  constexpr double inner = 120;
  constexpr double vocabulary = 109;
  std::map<std::string, double> operations = operationsOf(binary, size_t(tokens));
  EXPECT_EQ(operations["model.layers.1.mlp.down_proj"], tokens * 2 * inner * width);
  // The last dispatch is named after the norm that follows it.
  EXPECT_EQ(operations["model"], 2 * inner * width);
  EXPECT_EQ(operations["model.layers.1.self_attn.o_proj"], tokens * 2 * width * width);
  EXPECT_EQ(operations["model.layers.2.self_attn.o_proj"], 2 * width * width);
  EXPECT_EQ(operations["lm_head"], 2 * vocabulary * width);
  // Queries, keys and values of all rows, then scores and values of one row and the 40 keys.
  constexpr double projections = 2 * width * (width + 2 * keys);
  EXPECT_EQ(operations["model.layers.1.self_attn"],
            tokens * projections + tokens * tokens * 4 * width);
  EXPECT_EQ(operations["model.layers.2.self_attn"], tokens * projections + tokens * 4 * width);
}

} // namespace
} // namespace heddle
