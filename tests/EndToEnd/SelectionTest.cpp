// SPDX-License-Identifier: Apache-2.0
///
/// Searches of compiled models on the emulated GPU. A model that selects tokens there has the same
/// hypotheses, bit for bit, as the same model that copies its logits, and the tokens of processors.
/// Its steps copy few bytes.
#include "heddle/Generation.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/runtime/Device/Cuda/EmulatedGpu.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace heddle {
namespace {

/// A model of tests/oracles, and sources or prompts for it.
struct Oracle {
  const char *name;
  bool hasSources;
};
const Oracle oracles[] = {{"marian-tiny", true}, {"llama3-tiny", false}};

struct Search {
  const char *name;
  GenerationOptions options;
  /// Whether no row needs its logits.
  bool isSelected = true;
};

std::vector<Search> searches() {
  std::vector<Search> list = {{"greedy", {.beam = 1}},
                              {"beam4", {.beam = 4, .nbest = 4}},
                              {"minimum", {.beam = 2, .minLength = 3}},
                              {"ngrams", {.beam = 2, .noRepeatNgram = 2}},
                              {"scores", {.beam = 1, .tokenScores = true, .topScores = 5}},
                              {"top", {.sample = true, .topK = 8}},
                              {"alternatives", {.nbest = 3, .alternatives = true}}};
  list.push_back({"nucleus", {.sample = true, .topK = 0, .topP = 0.8F}, false});
  list.push_back({"repetition", {.beam = 2, .repetitionPenalty = 1.4F}, false});
  for (Search &each : list) {
    // The emulated GPU takes long.
    each.options.maxLength = 4;
    // The models' own settings are those of searches of other lengths.
    each.options.sample = each.options.sample.value_or(false);
  }
  return list;
}

/// The results of all searches in one batch, or alone.
class Searches {
public:
  Searches(const std::string &binary, const char *device) {
    Result<Model> loaded = Model::load(binary, {.device = device});
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok()) {
      model.emplace(std::move(*loaded));
    }
  }

  std::map<int64_t, std::vector<Hypothesis>>
  generate(const Oracle &oracle, const std::vector<Search> &list, bool runAhead = true) {
    std::map<int64_t, std::vector<Hypothesis>> found;
    Result<Generator> generator =
        Generator::create(*model, {.session = {.cacheBytes = 1 << 22}, .runAhead = runAhead});
    EXPECT_TRUE(generator.ok()) << generator.status().message();
    for (size_t i = 0; generator.ok() && i < list.size(); ++i) {
      GenerationRequest request{.options = list[i].options};
      (oracle.hasSources ? request.source : request.prefix) = {7, 12, 5, 26};
      const Result<int64_t> id = generator->add(std::move(request));
      EXPECT_TRUE(id.ok()) << list[i].name << ": " << id.status().message();
    }
    while (generator.ok() && !generator->idle()) {
      Result<std::vector<GenerationResult>> step = generator->step();
      if (!step.ok()) {
        ADD_FAILURE() << step.status().message();
        break;
      }
      for (GenerationResult &result : *step) {
        EXPECT_EQ(result.status.message(), "");
        found[result.id] = std::move(result.hypotheses);
      }
    }
    use = generator.ok() ? generator->selectionUse() : SelectionUse();
    steps = generator.ok() ? generator->stepUse() : StepUse();
    return found;
  }

  std::optional<Model> model;
  SelectionUse use;
  StepUse steps;
};

class Selection : public testing::TestWithParam<Oracle> {
protected:
  void SetUp() override {
    const std::string folder = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam().name);
    selecting = compileModel(folder, {targetsOfBoth()});
    copying = compileModel(folder, {"--disable-pass=select-tokens"});
    ASSERT_FALSE(selecting.empty() || copying.empty());
  }
  std::string selecting, copying;
};

TEST_P(Selection, HasTheBitsOfCopiedLogits) {
  Searches selects(selecting, "cuda"), copies(copying, "cuda"), onCpu(selecting, "cpu");
  EXPECT_TRUE(selects.model->findEntry("decode")->selects);
  EXPECT_FALSE(copies.model->findEntry("decode")->selects);
  for (const Search &each : searches()) {
    SCOPED_TRACE(each.name);
    const auto expected = copies.generate(GetParam(), {each});
    EXPECT_EQ(copies.use.selected + copies.use.copied, 0);
    const auto found = selects.generate(GetParam(), {each});
    EXPECT_EQ(found, expected);
    EXPECT_EQ(selects.use.copied == 0, each.isSelected)
        << testing::PrintToString(selects.use.reasons);
    EXPECT_TRUE(selects.use.selected > 0 || !each.isSelected);
    const auto tokens = onCpu.generate(GetParam(), {each});
    ASSERT_EQ(found.size(), tokens.size());
    for (size_t i = 0; i < found.at(0).size() && i < tokens.at(0).size(); ++i) {
      EXPECT_EQ(found.at(0)[i].tokens, tokens.at(0)[i].tokens);
    }
  }
}

/// All searches in one batch: some rows are selected from, and the logits of others are copied.
TEST_P(Selection, HasTheSameBitsInAMixedBatch) {
  Searches run(selecting, "cuda");
  std::vector<Search> list = searches();
  std::erase_if(list, [](const Search &each) { return each.options.nbest > 1; });
  const auto together = run.generate(GetParam(), list);
  EXPECT_GT(run.use.selected, 0);
  EXPECT_GT(run.use.copied, 0);
  ASSERT_EQ(together.size(), list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    SCOPED_TRACE(list[i].name);
    EXPECT_EQ(run.generate(GetParam(), {list[i]}).at(0), together.at(static_cast<int64_t>(i)));
  }
}

/// Returns the bytes that all copies of a journal to the host have.
int64_t bytesToHost() {
  int64_t bytes = 0;
  for (const std::string &call : EmulatedGpu::get().calls("cuMemcpyDtoHAsync_v2")) {
    bytes += std::strtoll(call.c_str() + call.find('(') + 1, nullptr, 10);
  }
  return bytes;
}

/// A greedy step copies one chunk's pair and one token's: 16 bytes.
TEST_P(Selection, CopiesFewBytes) {
  Searches run(selecting, "cuda");
  EmulatedGpu::get().record();
  GenerationOptions options{.beam = 1, .maxLength = 6};
  options.sample = false;
  run.generate(GetParam(), {{"greedy", options}});
  EXPECT_EQ(run.use.copied, 0);
  EXPECT_EQ(bytesToHost(), 16 * run.use.selected);
  EXPECT_EQ(EmulatedGpu::get().calls("cuMemcpyDtoHAsync_v2").size(), size_t(run.use.selected));
}

/// Greedy searches that end at different steps run ahead, with the results of those that wait.
TEST_P(Selection, RunsAheadWithTheSameBits) {
  std::vector<Search> list;
  for (int32_t length = 1; length < 7; length += 2) {
    GenerationOptions options{.beam = 1, .minLength = length, .maxLength = length};
    options.sample = false;
    options.tokenScores = true;
    list.push_back({"greedy", options});
    options.minLength = 0;
    options.maxLength = 6;
    list.push_back({"greedy", options});
  }
  Searches run(selecting, "cuda");
  const auto waiting = run.generate(GetParam(), list, /*runAhead=*/false);
  EXPECT_EQ(run.steps.ahead, 0);
  EXPECT_EQ(run.steps.reasons, std::vector<std::string>{"the options say so"});
  const int64_t steps = run.steps.steps;
  EXPECT_EQ(run.generate(GetParam(), list), waiting);
  EXPECT_GE(run.steps.steps, steps);
  EXPECT_EQ(run.steps.ahead, run.steps.steps - 1) << testing::PrintToString(run.steps.reasons);
  Searches onCpu(selecting, "cpu");
  onCpu.generate(GetParam(), list);
  EXPECT_EQ(onCpu.steps.steps, 0);
}

/// Beam searches of all rules, over several blocks of the cache.
TEST_P(Selection, BeamsRunAheadWithTheSameBits) {
  std::vector<Search> list;
  for (int32_t number = 0; number < 3; ++number) {
    GenerationOptions options{.beam = 2 + number, .nbest = 1 + number % 2};
    options.rules = static_cast<Rules>(number);
    options.minLength = number == 0 ? 18 : 3 * number;
    options.maxLength = 18;
    options.suppressed = {3, 9 + number};
    list.push_back({"beams", options});
  }
  list.push_back({"greedy", {.beam = 1, .maxLength = 12}});
  Searches run(selecting, "cuda");
  const auto waiting = run.generate(GetParam(), list, /*runAhead=*/false);
  EXPECT_EQ(run.steps.ahead, 0);
  EXPECT_EQ(run.generate(GetParam(), list), waiting);
  EXPECT_EQ(run.steps.ahead, run.steps.steps - 1) << testing::PrintToString(run.steps.reasons);
  EXPECT_GT(run.steps.ahead, 15);
}

/// Rows of windows give back the blocks that no later row reads.
TEST(BeamsOfWindows, RunAheadWithTheSameBits) {
  const Oracle oracle = {"mistral-tiny", false};
  Searches run(compileModel(HEDDLE_TEST_DATA "/oracles/mistral-tiny"), "cuda");
  GenerationOptions options{.beam = 2, .nbest = 2, .minLength = 30, .maxLength = 30};
  options.sample = false;
  const auto waiting = run.generate(oracle, {{"beams", options}}, /*runAhead=*/false);
  EXPECT_EQ(run.generate(oracle, {{"beams", options}}), waiting);
  EXPECT_EQ(run.steps.ahead, run.steps.steps - 1) << testing::PrintToString(run.steps.reasons);
}

/// States are copied as blocks are; those for each position of a source are the host's.
TEST(BeamsOfStates, RunAheadUnlessTheyHaveKeys) {
  for (const auto &[name, reason] :
       {std::pair("gru-additive", ""),
        std::pair("location-cumulative", "states with keys are copied")}) {
    SCOPED_TRACE(name);
    const Oracle oracle = {name, true};
    Searches run(compileModel(std::string(HEDDLE_TEST_DATA "/oracles/recurrent/") + name), "cuda");
    GenerationOptions options{.beam = 3, .nbest = 2, .minLength = 8, .maxLength = 8};
    options.sample = false;
    const auto waiting = run.generate(oracle, {{"beams", options}}, /*runAhead=*/false);
    EXPECT_EQ(run.generate(oracle, {{"beams", options}}), waiting);
    EXPECT_EQ(run.steps.ahead, *reason == 0 ? run.steps.steps - 1 : 0);
    EXPECT_EQ(run.steps.reasons,
              *reason == 0 ? std::vector<std::string>() : std::vector<std::string>{reason});
  }
}

/// Returns the sum of the shares of time in a profile, in percent.
double sharesIn(const std::string &profile) {
  std::istringstream lines(profile);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    char *end = nullptr;
    const double share = std::strtod(line.c_str(), &end);
    sum += *end == '%' ? share : 0;
  }
  return sum;
}

/// The tools say whether a model selects, and what the rows of a profile were.
TEST(SelectionTools, SayWhatIsSelected) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/marian-tiny";
  const std::string selecting = compileModel(folder, {targetsOfBoth()});
  const std::string copying = compileModel(folder, {"--disable-pass=select-tokens"});
  const std::string line = "  selects the best tokens, on GPUs\n";
  EXPECT_NE(tools::runHeddle({"info", selecting}).output.find(line), std::string::npos);
  EXPECT_EQ(tools::runHeddle({"info", copying}).output.find(line), std::string::npos);
  const auto profile = [&](const std::string &binary, const std::string &device) {
    const tools::Outcome outcome =
        tools::runHeddle({"profile", binary, "--device=" + device, "--cases", "1x1",
                          "--source-length", "3", "--target-length", "2", "--runs", "1"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.output;
  };
  const std::string selected = "tokens selected on the GPU: ";
  const std::string ofSelecting = profile(selecting, "cuda"), ofCopying = profile(copying, "cuda");
  EXPECT_NE(ofSelecting.find(selected), std::string::npos);
  EXPECT_EQ(ofCopying.find(selected), std::string::npos);
  // The vocabulary's product does not have the time of what comes before it, too.
  EXPECT_LE(sharesIn(ofSelecting), 101) << ofSelecting;
  EXPECT_LE(sharesIn(ofCopying), 101) << ofCopying;
  EXPECT_GT(sharesIn(ofCopying), 50) << ofCopying;
  EXPECT_EQ(profile(selecting, "cpu").find(selected), std::string::npos);
}

TEST(SelectionTools, MeasureStepsAhead) {
  const std::string binary =
      compileModel(HEDDLE_TEST_DATA "/oracles/marian-tiny", {targetsOfBoth()});
  const auto bench = [&](const std::string &device, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bench",           binary, "--cases",           "1x1",
                                          "--source-length", "3",    "--target-length",   "5",
                                          "--runs",          "1",    "--device=" + device};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const tools::Outcome outcome = tools::runHeddle(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.output;
  };
  // Two runs of five steps, the first of which waits for nothing.
  const std::string all = R"("steps":10,"steps_ahead":8,"steps_waited":[])";
  const std::string none = R"("steps":10,"steps_ahead":0,"steps_waited":["the options say so"])";
  EXPECT_NE(bench("cuda", {}).find(all), std::string::npos) << bench("cuda", {});
  EXPECT_NE(bench("cuda", {"--no-run-ahead"}).find(none), std::string::npos);
  EXPECT_EQ(bench("cpu", {}).find("steps"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Selection, testing::ValuesIn(oracles), [](const auto &info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
});

} // namespace
} // namespace heddle
