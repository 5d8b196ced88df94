// SPDX-License-Identifier: Apache-2.0
///
/// Steps of a decoder on the emulated GPU that append the tokens of the step before while that is
/// under way: they have the bits of steps whose tokens the host knows, whatever leaves, grows and
/// fails in between.
#include "runtime/Session/PagedDecoder.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <array>
#include <limits>

using namespace heddle;
using namespace heddle::fixture;

namespace {
struct Kind {
  const char *name;
  ModelSpec (*spec)();
  bool hasSources = true;
};
const Kind kinds[] = {{"Caches", generatingModel},
                      {"CachesAndStates", averagingModel},
                      {"States", historylessModel},
                      {"Prompts", continuingModel, false}};

/// A decoder on the GPU, for hypotheses of any source.
struct Decoding {
  explicit Decoding(const ModelSpec &spec, const SessionOptions &options = {.cacheBytes = 1 << 20},
                    const char *device = "cuda") {
    Result<Model> loaded = loadOn(device, withDevice(spec), "ahead.so");
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    Result<std::unique_ptr<PagedDecoder>> made = PagedDecoder::create(*loaded, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    decoder = std::move(*made);
  }
  PagedDecoder *operator->() const { return decoder.get(); }
  HypothesisId start(const Tokens &source) const {
    return *decoder->start(encodeOne(*decoder, decoder->hasSources() ? source : Tokens()));
  }

  std::unique_ptr<PagedDecoder> decoder;
};

/// Three hypotheses, each with a beginning of its own.
struct Hypotheses {
  explicit Hypotheses(const Decoding &decoding) {
    const std::vector<Tokens> sources = {{4, 5, 6}, {7}, {8, 9, 10, 11, 12}};
    for (size_t i = 0; i < beginnings.size(); ++i) {
      ids.push_back(decoding.start(sources[i]));
      extensions.push_back({ids[i], beginnings[i]});
    }
  }

  const std::vector<Tokens> beginnings = {{1, 30, 31}, {1}, Tokens(14, 3)};
  std::vector<HypothesisId> ids;
  std::vector<Extension> extensions;
};

/// The row of the last token of each hypothesis in the first step.
constexpr std::array<int64_t, 3> lastRows = {2, 3, 17};

using Selected = SelectionRecorder::Selected;

void expectEqual(const Selected &found, const Selected &expected) {
  EXPECT_EQ(found.pieces, expected.pieces);
  EXPECT_EQ(found.best, expected.best);
  EXPECT_FALSE(found.best.empty());
}

/// Returns what each row of some steps selects if the host passes the tokens on.
std::vector<std::vector<Selected>> selectedByHost(const Kind &kind, size_t steps) {
  const Decoding decoding(selecting(kind.spec()));
  Hypotheses some(decoding);
  std::vector<std::vector<Selected>> all;
  std::vector<Tokens> tokens(some.ids.size());
  for (size_t step = 0; step < steps; ++step) {
    SelectionRecorder recorder;
    EXPECT_EQ(decoding->decode(some.extensions, recorder).message(), "");
    all.emplace_back();
    for (size_t i = 0; i < some.ids.size(); ++i) {
      all.back().push_back(recorder.selections[step == 0 ? static_cast<size_t>(lastRows[i]) : i]);
      tokens[i] = {all.back().back().best.front().token};
      some.extensions[i] = {some.ids[i], tokens[i]};
    }
  }
  return all;
}

class StepsAhead : public testing::TestWithParam<Kind> {};
} // namespace

/// More steps than a block has positions, so that lists and memory grow meanwhile.
TEST_P(StepsAhead, HaveTheBitsOfOthers) {
  constexpr size_t count = 40;
  const std::vector<std::vector<Selected>> expected = selectedByHost(GetParam(), count);
  const Decoding decoding(selecting(GetParam().spec()));
  ASSERT_TRUE(decoding->runsAhead());
  Hypotheses some(decoding);
  SelectionRecorder recorders[2];
  StepId steps[2] = {*decoding->begin(some.extensions, recorders[0])};
  for (size_t step = 0; step < count; ++step) {
    for (size_t i = 0; i < some.ids.size(); ++i) {
      some.extensions[i] = {some.ids[i], {}, step == 0 ? lastRows[i] : static_cast<int64_t>(i)};
    }
    if (step + 1 < count) {
      const Result<StepId> begun = decoding->begin(some.extensions, recorders[(step + 1) % 2]);
      ASSERT_TRUE(begun.ok()) << begun.status().message();
      steps[(step + 1) % 2] = *begun;
    }
    ASSERT_EQ(decoding->finish(steps[step % 2]).message(), "");
    for (size_t i = 0; i < some.ids.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "step " << step << ", hypothesis " << i);
      const size_t row = step == 0 ? static_cast<size_t>(lastRows[i]) : i;
      expectEqual(recorders[step % 2].selections[row], expected[step][i]);
    }
  }
  EXPECT_EQ(decoding->length(some.ids[2]), int64_t(14 + count - 1));
  for (const HypothesisId id : some.ids) {
    decoding->release(id);
  }
}

/// A hypothesis leaves while a step with it is under way, and another takes its blocks; the host
/// knows the tokens of that one.
TEST_P(StepsAhead, LetHypothesesLeave) {
  const std::vector<std::vector<Selected>> expected = selectedByHost(GetParam(), 5);
  const Decoding decoding(selecting(GetParam().spec()));
  Hypotheses some(decoding);
  const HypothesisId other = decoding.start({7});
  SelectionRecorder first, second, third, fourth;
  const StepId one = *decoding->begin(some.extensions, first);
  const std::vector<Extension> all = {
      {some.ids[0], {}, 2}, {some.ids[1], {}, 3}, {some.ids[2], {}, 17}};
  const StepId two = *decoding->begin(all, second);
  ASSERT_EQ(decoding->finish(one).message(), "");
  decoding->release(some.ids[1]);
  // The rows that go on are not adjacent any more.
  const std::vector<Extension> left = {{some.ids[0], {}, 0}, {some.ids[2], {}, 2}};
  const StepId three = *decoding->begin(left, third);
  ASSERT_EQ(decoding->finish(two).message(), "");
  const std::vector<Extension> mixed = {
      {some.ids[0], {}, 0}, {other, some.beginnings[1]}, {some.ids[2], {}, 1}};
  const StepId four = *decoding->begin(mixed, fourth);
  ASSERT_EQ(decoding->finish(three).message(), "");
  ASSERT_EQ(decoding->finish(four).message(), "");
  for (const size_t i : {0, 1, 2}) {
    expectEqual(first.selections[static_cast<size_t>(lastRows[i])], expected[0][i]);
    expectEqual(second.selections[i], expected[1][i]);
  }
  expectEqual(third.selections[0], expected[2][0]);
  expectEqual(third.selections[1], expected[2][2]);
  expectEqual(fourth.selections[0], expected[3][0]);
  expectEqual(fourth.selections[1], expected[0][1]);
  expectEqual(fourth.selections[2], expected[3][2]);
}

INSTANTIATE_TEST_SUITE_P(Of, StepsAhead, testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });

/// Generated blocks are published once the host knows their tokens, and have the right contents.
TEST(StepsAheadOfPrompts, ShareTheirBlocks) {
  const Decoding decoding(selecting(continuingModel()));
  const HypothesisId hypothesis = decoding.start({});
  Tokens tokens = {5, 6, 7};
  ASSERT_EQ(decoding->takeOver(hypothesis, tokens), 0);
  const Extension beginning{hypothesis, tokens};
  SelectionRecorder recorders[2];
  StepId steps[2] = {*decoding->begin({&beginning, 1}, recorders[0])};
  for (size_t step = 0; step < 40; ++step) {
    const Extension next{hypothesis, {}, step == 0 ? 2 : 0};
    steps[(step + 1) % 2] = *decoding->begin({&next, 1}, recorders[(step + 1) % 2]);
    ASSERT_EQ(decoding->finish(steps[step % 2]).message(), "");
    tokens.push_back(recorders[step % 2].selections.back().best.front().token);
  }
  EXPECT_EQ(decoding->shareable(tokens), 32);
  ASSERT_EQ(decoding->finish(steps[0]).message(), "");
  const HypothesisId other = decoding.start({});
  ASSERT_EQ(decoding->takeOver(other, tokens), 32);
  const Extension rest{other, std::span(tokens).subspan(32)};
  SelectionRecorder recorder;
  ASSERT_EQ(decoding->decode({&rest, 1}, recorder).message(), "");
  expectEqual(recorder.selections.back(), recorders[0].selections.back());
}

/// Another step ends those under way first; their results wait for finish().
TEST(StepsAheadAndOthers, EndInOrder) {
  const std::vector<std::vector<Selected>> expected = selectedByHost(kinds[0], 3);
  const Decoding decoding(selecting(generatingModel()));
  Hypotheses some(decoding);
  SelectionRecorder first, second, third;
  const StepId one = *decoding->begin(some.extensions, first);
  const std::vector<Extension> all = {
      {some.ids[0], {}, 2}, {some.ids[1], {}, 3}, {some.ids[2], {}, 17}};
  const StepId two = *decoding->begin(all, second);
  const HypothesisId other = decoding.start({7});
  const Extension apart{other, some.beginnings[1]};
  AttentionWeights attention;
  ASSERT_EQ(decoding->decode({&apart, 1}, third, &attention).message(), "");
  EXPECT_EQ(attention.heads, fixture::heads);
  EXPECT_EQ(decoding->finish(two).message(), "");
  expectEqual(third.selections[0], expected[0][1]);
  for (const size_t i : {0, 1, 2}) {
    expectEqual(first.selections[static_cast<size_t>(lastRows[i])], expected[0][i]);
    expectEqual(second.selections[i], expected[1][i]);
  }
  // Their statuses wait as long as nobody asks.
  for (int step = 0; step < 3; ++step) {
    const Extension more{other, some.beginnings[1]};
    ASSERT_EQ(decoding->decode({&more, 1}, third).message(), "");
  }
  EXPECT_EQ(decoding->finish(one).message(), "");
  EXPECT_EQ(decoding->finish(one).message(),
            "no step 1, expected one that was not finished or dropped");
}

/// Sources are encoded while steps are under way, with outputs and without.
TEST(StepsAheadAndOthers, LetSourcesBeEncoded) {
  const std::vector<std::vector<Selected>> expected = selectedByHost(kinds[0], 3);
  const Decoding decoding(selecting(generatingModel()));
  Hypotheses some(decoding);
  SelectionRecorder first, second;
  const StepId one = *decoding->begin(some.extensions, first);
  const StepId two = *decoding->begin(
      std::vector<Extension>{{some.ids[0], {}, 2}, {some.ids[1], {}, 3}, {some.ids[2], {}, 17}},
      second);
  ASSERT_EQ(decoding->finish(one).message(), "");
  for (int source = 0; source < 3; ++source) {
    encodeOne(*decoding.decoder, Tokens(20, source));
  }
  EXPECT_EQ(decoding->finish(two).message(), "");
  for (const size_t i : {0, 1, 2}) {
    expectEqual(second.selections[i], expected[1][i]);
  }
  AttentionWeights later;
  const Extension known{some.ids[1], some.beginnings[0]};
  const StepId looking = *decoding->begin({&known, 1}, first, &later);
  encodeOne(*decoding.decoder, Tokens(33, 4));
  EXPECT_EQ(decoding->finish(looking).message(), "");
  EXPECT_EQ(later.pitch, 1);
  EXPECT_EQ(later.values.size(), size_t(3 * fixture::heads));
}

TEST(StepsAheadAndOthers, MayBeDropped) {
  {
    const Decoding decoding(selecting(generatingModel()));
    Hypotheses some(decoding);
    SelectionRecorder first, second, third;
    const StepId one = *decoding->begin(some.extensions, first);
    const Extension next{some.ids[1], {}, 3};
    const StepId two = *decoding->begin({&next, 1}, second);
    ASSERT_EQ(decoding->finish(one).message(), "");
    decoding->drop(two);
    decoding->release(some.ids[1]);
    EXPECT_NE(decoding->finish(two).message(), "");
    EXPECT_TRUE(second.selections[0].best.empty());
    // Nothing follows it, but others begin, of which the last one is under way at the end.
    const Extension after{some.ids[0], {}, 0};
    EXPECT_EQ(decoding->begin({&after, 1}, third).status().code(), StatusCode::InvalidArgument);
    for (int step = 0; step < 3; ++step) {
      const Extension known{some.ids[0], some.beginnings[1]};
      const StepId last = *decoding->begin({&known, 1}, third);
      decoding->drop(last);
    }
  }
  EXPECT_EQ(EmulatedGpu::get().leaks(), "");
}

/// Rows without a selected token cannot be followed; nothing changes then.
TEST(StepsAheadAndOthers, RefuseRowsWithoutTokens) {
  const Decoding decoding(selecting(generatingModel()));
  Hypotheses some(decoding);
  SelectionRecorder first, second;
  first.copied = 2;
  const Extension early{some.ids[0], {}, 0};
  const std::string noStep = "a step appends tokens of the step before, expected one under way "
                             "without outputs beside its logits";
  EXPECT_EQ(decoding->begin({&early, 1}, second).status().message(), noStep);
  const StepId one = *decoding->begin(some.extensions, first);
  for (const int64_t row : {int64_t(2), int64_t(18), std::numeric_limits<int64_t>::max()}) {
    const Extension next{some.ids[0], {}, row};
    EXPECT_EQ(decoding->begin({&next, 1}, second).status().message(),
              "row " + std::to_string(row) +
                  " of the step before is referred to, expected one of which the device selects a "
                  "token");
  }
  EXPECT_EQ(decoding->length(some.ids[0]), 3);
  ASSERT_EQ(decoding->finish(one).message(), "");
  AttentionWeights attention;
  const Extension known{some.ids[0], some.beginnings[1]};
  const StepId looking = *decoding->begin({&known, 1}, second, &attention);
  const Extension after{some.ids[0], {}, 0};
  EXPECT_EQ(decoding->begin({&after, 1}, first).status().message(), noStep);
  EXPECT_EQ(decoding->finish(looking).message(), "");
}

TEST(StepsAheadAndOthers, MustCompareForks) {
  const Decoding decoding(selecting(generatingModel()));
  const HypothesisId one = decoding.start({4, 5}), other = decoding.start({6}),
                     fresh = decoding.start({7});
  const Tokens token = {1}, three = {1, 2, 3};
  const std::vector<Extension> beginnings = {{one, token}, {other, token}};
  SelectionRecorder recorder, next;
  const StepId step = *decoding->begin(beginnings, recorder);
  const HypothesisId forks[] = {*decoding->fork(one), *decoding->fork(other)};
  const HypothesisId compared[] = {one, other};
  const BeamOrder sound{.hypotheses = compared,
                        .firstRow = 0,
                        .sums = {0, -1},
                        .wanted = 4,
                        .width = 2,
                        .refillsPlaces = false,
                        .ends = {},
                        .banned = {}};
  const auto refusal = [&](const BeamOrder &order, std::vector<Extension> before = {}) {
    std::vector<Extension> all = std::move(before);
    for (const HypothesisId fork : forks) {
      all.push_back({.hypothesis = fork, .tokens = {}, .order = &order});
    }
    return std::string(decoding->begin(all, next).status().message());
  };
  BeamOrder order = sound;
  order.width = 3;
  EXPECT_EQ(refusal(order), "a search has 2 hypotheses, 2 sums and 2 extensions, expected as many "
                            "sums as hypotheses and 3 extensions");
  order = sound;
  order.sums = {0};
  EXPECT_EQ(refusal(order), "a search has 2 hypotheses, 1 sums and 2 extensions, expected as many "
                            "sums as hypotheses and 2 extensions");
  order = sound;
  order.firstRow = 1;
  EXPECT_EQ(refusal(order), "a search compares row 2 of the step before, expected one of which the "
                            "device selects tokens");
  order = sound;
  const HypothesisId unlike[] = {one, fresh};
  order.hypotheses = unlike;
  EXPECT_EQ(refusal(order), "a search has hypotheses of several lengths, expected forks of those "
                            "that it compares");
  order = sound;
  order.wanted = 600;
  EXPECT_EQ(refusal(order), "too many hypotheses are compared");
  EXPECT_EQ(refusal(sound, {{fresh, three}}),
            "a step compares hypotheses and has 3 extensions of 5 "
            "tokens, expected one token each");
  EXPECT_EQ(refusal(sound), "");
  EXPECT_EQ(decoding->finish(step).message(), "");
}

/// What a step selects stays where it is while memory for the rows of a larger one is allocated.
TEST(StepsAheadAndOthers, MayHaveMoreRows) {
  const auto selectedBy = [](bool isAhead) {
    const Decoding decoding(selecting(generatingModel()));
    const HypothesisId one = decoding.start({4, 5}), other = decoding.start({6});
    SelectionRecorder first, second;
    const Tokens token = {1};
    const Extension alone{one, token};
    const StepId step = *decoding->begin({&alone, 1}, first);
    Tokens best = {0};
    std::vector<Extension> both = {{one, {}, 0}, {other, {}, 0}};
    if (!isAhead) {
      EXPECT_EQ(decoding->finish(step).message(), "");
      best = {first.selections[0].best.front().token};
      both = {{one, best}, {other, best}};
    }
    const Result<StepId> next = decoding->begin(both, second);
    EXPECT_TRUE(next.ok()) << next.status().message();
    EXPECT_EQ(isAhead ? decoding->finish(step).message() : "", "");
    EXPECT_EQ(decoding->finish(*next).message(), "");
    return second.selections;
  };
  const auto found = selectedBy(true), expected = selectedBy(false);
  ASSERT_EQ(found.size(), 2U);
  expectEqual(found[0], expected[0]);
  expectEqual(found[1], expected[1]);
}

TEST(StepsAheadAndOthers, NeedADeviceThatSelects) {
  const auto messageOn = [](const Decoding &decoding) {
    SelectionRecorder first, second;
    const HypothesisId hypothesis = decoding.start({4});
    const Tokens token = {1};
    const Extension known{hypothesis, token}, next{hypothesis, {}, 0};
    EXPECT_TRUE(decoding->decode({&known, 1}, first).ok());
    return std::string(decoding->begin({&next, 1}, second).status().message());
  };
  const std::string message = "a step appends tokens that the device selects, expected a device "
                              "and a model that select them, without a profile";
  const Decoding onCpu(selecting(generatingModel()), {.cacheBytes = 1 << 20}, "cpu");
  EXPECT_FALSE(onCpu->runsAhead());
  EXPECT_EQ(messageOn(onCpu), message);
  const Decoding copying(generatingModel());
  EXPECT_FALSE(copying->runsAhead());
  EXPECT_EQ(messageOn(copying), message);
  const Decoding profiled(selecting(generatingModel()), {.cacheBytes = 1 << 20, .profile = true});
  EXPECT_EQ(messageOn(profiled), message);
  // A vocabulary with tokens that the entry does not read, which only a model without defaults for
  // generation may have.
  ModelSpec spec = selecting(generatingModel());
  spec.generation.reset();
  spec.entries.back().inputs[0].limit -= 1;
  EXPECT_FALSE(Decoding(spec)->runsAhead());
}

/// A step that cannot begin, because a call fails, takes nothing from the step before it.
TEST(StepsAheadAndOthers, FailWithoutTheStepBefore) {
  const std::vector<std::vector<Selected>> expected = selectedByHost(kinds[0], 4);
  for (const char *const function :
       {"cuMemcpyHtoDAsync_v2", "cuMemcpy2DAsync_v2", "cuGraphLaunch", "cuEventRecord"}) {
    SCOPED_TRACE(function);
    const Decoding decoding(selecting(generatingModel()));
    Hypotheses some(decoding);
    SelectionRecorder recorders[2];
    StepId steps[2] = {*decoding->begin(some.extensions, recorders[0])};
    std::vector<Extension> next;
    for (size_t step = 0; step < 3; ++step) {
      next.clear();
      for (size_t i = 0; i < 3; ++i) {
        next.push_back({some.ids[i], {}, step == 0 ? lastRows[i] : static_cast<int64_t>(i)});
      }
      steps[(step + 1) % 2] = *decoding->begin(next, recorders[(step + 1) % 2]);
      ASSERT_EQ(decoding->finish(steps[step % 2]).message(), "");
    }
    for (size_t i = 0; i < 3; ++i) {
      next[i].bestOf = static_cast<int64_t>(i);
    }
    EmulatedGpu::get().fail(function, 1, 2);
    const Status failed = decoding->begin(next, recorders[0]).status();
    EmulatedGpu::get().fail(nullptr, 0, 0);
    EXPECT_NE(failed.message().find(function), std::string::npos) << failed.message();
    EXPECT_EQ(decoding->finish(steps[1]).message(), "");
    for (size_t i = 0; i < 3; ++i) {
      expectEqual(recorders[1].selections[i], expected[3][i]);
    }
    EXPECT_EQ(decoding->begin(next, recorders[0]).status().message(), failed.message());
  }
  EXPECT_EQ(EmulatedGpu::get().leaks(), "");
}

/// A call of a step ahead may return the error of a kernel of the step before: it names kernels.
TEST(StepsAheadAndOthers, NameTheKernelThatFailed) {
  ModelSpec spec = withDevice(selecting(generatingModel()));
  ASSERT_EQ(spec.kernels.back().name, "select");
  spec.kernels.back().symbols.back() = "wrong_address";
  const Result<Model> model = loadOn("cuda", spec, "wrong.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto create = [&] { return *PagedDecoder::create(*model, {.cacheBytes = 1 << 20}); };
  const std::unique_ptr<PagedDecoder> decoder = create();
  std::unique_ptr<PagedDecoder> other = create();
  const SourceId source = encodeOne(*decoder, {4, 5, 6});
  const Tokens token = {1};
  const HypothesisId hypothesis = *decoder->start(source);
  const Extension known{hypothesis, token}, next{hypothesis, {}, 0};
  SelectionRecorder first, second;
  ASSERT_EQ(decoder->begin({&known, 1}, first).status().message(), "");
  // The GPU does all its work before it releases memory.
  other.reset();
  const Status failed = decoder->begin({&next, 1}, second).status();
  EXPECT_TRUE(failed.message().starts_with("GPU 0 (emulated): cu")) << failed.message();
  EXPECT_TRUE(failed.message().ends_with(
      " launches, \"embed\" the first, \"select\" the last, failed with "
      "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"))
      << failed.message();
}

/// So does any other call.
TEST(StepsAheadAndOthers, NameTheKernelsUnderWay) {
  const std::string after = "after 8 launches, \"embed\" the first, \"select\" the last, failed "
                            "with CUDA_ERROR_LAUNCH_FAILED (719)";
  for (const auto &[function, purpose] : std::vector<std::pair<std::string, std::string>>{
           {"cuCtxPushCurrent_v2", ""},
           {"cuEventSynchronize", ""},
           {"cuMemcpyHtoDAsync_v2", " of what kernels read"},
           {"cuEventRecord", ""},
           {"cuMemcpy2DAsync_v2", " of rows within the GPU"},
           {"cuGraphLaunch",
            " of a graph of 8 launches, \"embed\" the first, \"select\" the last"}}) {
    SCOPED_TRACE(function);
    const Decoding decoding(selecting(generatingModel()));
    Hypotheses some(decoding);
    SelectionRecorder recorders[2];
    StepId steps[2] = {*decoding->begin(some.extensions, recorders[0])};
    const auto begin = [&](size_t step) {
      std::vector<Extension> next;
      for (size_t i = 0; i < 3; ++i) {
        next.push_back({some.ids[i], {}, step == 0 ? lastRows[i] : static_cast<int64_t>(i)});
      }
      return decoding->begin(next, recorders[(step + 1) % 2]);
    };
    for (size_t step = 0; step < 3; ++step) {
      steps[(step + 1) % 2] = *begin(step);
      ASSERT_EQ(decoding->finish(steps[step % 2]).message(), "");
    }
    EmulatedGpu::get().fail(function.c_str(), 1, 719);
    const Status failed = begin(3).status();
    EmulatedGpu::get().fail(nullptr, 0, 0);
    EXPECT_TRUE(
        failed.message().starts_with("GPU 0 (emulated): " + function + purpose + ", " + after))
        << failed.message();
    EXPECT_EQ(decoding->finish(steps[1]).message(), failed.message());
  }
}
