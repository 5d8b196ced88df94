// SPDX-License-Identifier: Apache-2.0
///
/// Every call of the driver fails once: the caller gets the failure, nothing is leaked, and the
/// next call works.
#include "runtime/Session/PagedDecoder.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <set>

using namespace heddle;
using namespace heddle::fixture;

/// Calls whose failures are ignored, because nothing can be done about them. (Messages omit a
/// code's name if that call fails.)
static const std::set<std::string> silent = {"cuDevicePrimaryCtxRelease_v2",
                                             "cuMemFree_v2",
                                             "cuMemFreeHost",
                                             "cuStreamDestroy_v2",
                                             "cuEventDestroy_v2",
                                             "cuModuleUnload",
                                             "cuGraphDestroy",
                                             "cuGraphExecDestroy",
                                             "cuGetErrorName",
                                             "cuGetErrorString"};
/// Calls that are also used to release resources.
static const std::set<std::string> alsoSilent = {"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
                                                 "cuStreamSynchronize", "cuEventSynchronize"};
/// Calls that create graphs: if memory is missing, kernels are launched one by one.
static const std::set<std::string> ofGraphs = {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                                               "cuGraphInstantiateWithFlags"};
constexpr int outOfMemory = 2;
/// Called once in a process, when the driver is loaded: DriverTest fails them.
static const std::set<std::string> called = {"cuInit", "cuDriverGetVersion"};
/// Calls that these small models do not need.
static const std::set<std::string> unused = {"cuFuncSetAttribute"};

/// Extends hypotheses by steps that begin before the one before them has ended. The last one is
/// dropped.
static Status runAhead(PagedDecoder &decoder, std::span<const Extension> beginning) {
  SelectionRecorder recorders[2];
  HEDDLE_ASSIGN(StepId before, decoder.begin(beginning, recorders[0]));
  std::vector<Extension> next(beginning.begin(), beginning.end());
  for (size_t step = 1; step < 5; ++step) {
    for (size_t row = 0; row < next.size(); ++row) {
      next[row] = {next[row].hypothesis, {}, static_cast<int64_t>(row)};
    }
    HEDDLE_ASSIGN(const StepId begun, decoder.begin(next, recorders[step % 2]));
    HEDDLE_TRY(decoder.finish(before));
    before = begun;
  }
  decoder.drop(before);
  return {};
}

/// Runs an encoder, profiled, and a decoder that forks: together they make all calls.
static Status runBoth() {
  const std::string encoderPath = temporaryPath("encoder.so");
  const std::string decoderPath = temporaryPath("decoder.so");
  HEDDLE_ASSIGN(const Model encoder, Model::load(encoderPath, {.device = "cuda"}));
  HEDDLE_ASSIGN(Session session, Session::create(encoder, {.profile = true}));
  HEDDLE_TRY(embedTwo(session).status());
  HEDDLE_ASSIGN(const Model model, Model::load(decoderPath, {.device = "cuda"}));
  HEDDLE_ASSIGN(const std::unique_ptr<PagedDecoder> decoder,
                PagedDecoder::create(model, {.cacheBytes = 1 << 20}));
  const Tokens source = {4, 5, 6}, begin = {1, 7}, next = {8};
  const SourceView view = source;
  SourceId id{};
  HEDDLE_TRY(decoder->encode({&view, 1}, {&id, 1}));
  HEDDLE_ASSIGN(const HypothesisId one, decoder->start(id));
  Recorder recorder;
  AttentionWeights attention;
  const Extension first{one, begin};
  HEDDLE_TRY(decoder->decode({&first, 1}, recorder, &attention));
  HEDDLE_ASSIGN(const HypothesisId other, decoder->fork(one));
  const Extension both[] = {{one, next}, {other, next}};
  // The second step makes a graph of the repeated launches, and the third launches it again.
  for (int step = 0; step < 3; ++step) {
    HEDDLE_TRY(decoder->decode(both, recorder));
  }
  // One hypothesis needs its logits, and of the other a token is excluded.
  SelectionRecorder selecting;
  selecting.copied = 1;
  selecting.excluded = {5};
  HEDDLE_TRY(decoder->decode(both, selecting));
  return runAhead(*decoder, both);
}

/// Fails the n-th call of a function for every n; returns the number of calls.
static long failEach(const std::string &function, int code) {
  EmulatedGpu &gpu = EmulatedGpu::get();
  const bool isSilent =
      silent.contains(function) || (code == outOfMemory && ofGraphs.contains(function));
  long told = 0;
  for (long n = 1;; ++n) {
    gpu.fail(function.c_str(), n, code);
    const Status status = runBoth();
    const bool hasFailed = gpu.hasFailed() != 0;
    gpu.fail(nullptr, 0, 0);
    EXPECT_EQ(gpu.leaks(), "") << function << ", call " << n;
    if (!hasFailed) {
      EXPECT_EQ(status.message(), "") << function << ", call " << n;
      EXPECT_TRUE(told > 0 || n == 1 || isSilent) << function;
      return n - 1;
    }
    told += status.ok() ? 0 : 1;
    const bool mayBeSilent = isSilent || (status.ok() && alsoSilent.contains(function));
    if (!mayBeSilent) {
      EXPECT_NE(status.message().find(function), std::string::npos)
          << function << ", call " << n << ": " << status.message();
    }
    if (testing::Test::HasFailure()) {
      return n;
    }
  }
}

class Failure : public testing::TestWithParam<std::string> {
protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(write(withDevice(model()), temporaryPath("encoder.so")).message(), "");
    ASSERT_EQ(write(withDevice(selectingModel()), temporaryPath("decoder.so")).message(), "");
  }
};

TEST_P(Failure, IsAStatus) {
  ASSERT_EQ(runBoth().message(), "");
  // A transient failure, and one after which the context is unusable.
  for (const int code : {outOfMemory, 700}) {
    const long calls = failEach(GetParam(), code);
    EXPECT_EQ(calls == 0, called.contains(GetParam()) || unused.contains(GetParam()) ||
                              GetParam().starts_with("cuGetError"))
        << calls;
  }
  EXPECT_EQ(runBoth().message(), "");
}

static const std::string functions[] = {
#define HEDDLE_CUDA(name, ...) #name,
#include "runtime/Device/Cuda/DriverFunctions.def"
};

INSTANTIATE_TEST_SUITE_P(OfEveryCall, Failure, testing::ValuesIn(functions),
                         [](const testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });
