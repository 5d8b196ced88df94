// SPDX-License-Identifier: Apache-2.0
///
/// The exact calls of one decoder step, to detect changes of their number.
#include "heddle/Generation.h"
#include "runtime/Session/PagedDecoder.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <memory>
#include <optional>
#include <sstream>

using namespace heddle;
using namespace heddle::fixture;

namespace {
class Journal : public testing::Test {
protected:
  /// Loads a model on the emulated GPU, with a small cache.
  void open(const ModelSpec &spec) {
    Result<Model> loaded = loadOn("cuda", withDevice(spec), "journal.so");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    compiled.emplace(std::move(*loaded));
    Result<std::unique_ptr<PagedDecoder>> made =
        PagedDecoder::create(*compiled, {.cacheBytes = 1 << 20});
    ASSERT_TRUE(made.ok()) << made.status().message();
    decoder = std::move(*made);
  }

  std::optional<Model> compiled;
  std::unique_ptr<PagedDecoder> decoder;
};
} // namespace

/// Removes the calls that set and restore the thread's context.
static std::string withoutContexts(const std::string &journal) {
  std::string text;
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    text += line.starts_with("cuCtx") ? "" : line + "\n";
  }
  return text;
}

/// Returns what a stream should have counted during a journal.
static LaunchUse useIn(const std::string &journal) {
  const auto is = [](const std::string &line, const char *function) {
    return line.starts_with(function);
  };
  LaunchUse use;
  std::string before;
  std::istringstream lines(withoutContexts(journal));
  for (std::string line; std::getline(lines, line); before = line) {
    if (is(line, "cuGraphLaunch(")) {
      ++use.graphs;
      use.kernelsOfGraphs += std::stol(line.substr(line.find('(') + 1));
    }
    use.kernels += is(line, "cuLaunchKernel(");
    use.copiesToDevice += is(line, "cuMemcpyHtoD");
    use.copiesToHost += is(line, "cuMemcpyDtoH");
    use.copiesWithin += is(line, "cuMemcpyDtoD");
    use.waits += is(line, "cuStreamSynchronize(") || is(line, "cuEventSynchronize(");
    // That wait was for the memory that the copy reads.
    use.waits -= is(line, "cuMemcpyHtoD") && is(before, "cuEventSynchronize(");
  }
  return use;
}

/// Records the fifth step of a hypothesis, of one token. The first ones create events, allocate
/// pinned memory, and make graphs of repeated launches.
static void recordFifthStep(PagedDecoder &decoder, Recorder &recorder) {
  const HypothesisId hypothesis = *decoder.start(encodeOne(decoder, {4, 5, 6}));
  const Tokens tokens = {1};
  const Extension extension{hypothesis, tokens};
  GenerationLaunches before;
  for (int step = 0; step < 5; ++step) {
    before = decoder.launches();
    EmulatedGpu::get().record();
    ASSERT_EQ(decoder.decode({&extension, 1}, recorder).message(), "");
  }
  const GenerationLaunches after = decoder.launches();
  EXPECT_EQ(after.encodings, 1);
  EXPECT_EQ(after.ofEncodings, before.ofEncodings);
  EXPECT_EQ(after.steps, 5);
  LaunchUse counted = after.ofSteps;
  counted -= before.ofSteps;
  EXPECT_EQ(counted, useIn(EmulatedGpu::get().journal()));
}

TEST_F(Journal, OfAStep) {
  ASSERT_NO_FATAL_FAILURE(open(generatingModel()));
  Recorder recorder;
  recordFifthStep(*decoder, recorder);
  // The step sends the rows, the blocks of their caches, and the launch records, of which the last
  // is for a piece of the logits; each other piece has its own record.
  EXPECT_EQ(withoutContexts(EmulatedGpu::get().journal()), R"(cuEventSynchronize()
cuMemcpyHtoDAsync_v2(640)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(896)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(1568)
cuEventRecord()
cuGraphLaunch(6 launches)
cuMemcpyDtoHAsync_v2(3072)
cuStreamSynchronize()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(208)
cuEventRecord()
cuLaunchKernel(project, 1 x 32)
cuMemcpyDtoHAsync_v2(3072)
cuStreamSynchronize()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(208)
cuEventRecord()
cuLaunchKernel(project, 1 x 32)
cuMemcpyDtoHAsync_v2(256)
cuStreamSynchronize()
cuEventRecord()
cuEventSynchronize()
)");
}

/// A step on a GPU that selects is one graph and one copy of a few bytes.
TEST_F(Journal, OfAStepThatSelects) {
  ASSERT_NO_FATAL_FAILURE(open(selectingModel()));
  SelectionRecorder recorder;
  recordFifthStep(*decoder, recorder);
  EXPECT_EQ(recorder.offered, selected);
  EXPECT_EQ(withoutContexts(EmulatedGpu::get().journal()), R"(cuEventSynchronize()
cuMemcpyHtoDAsync_v2(640)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(896)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(1976)
cuEventRecord()
cuGraphLaunch(8 launches)
cuMemcpyDtoHAsync_v2(40)
cuEventRecord()
cuEventSynchronize()
)");
}

/// Begins the steps of hypotheses whose tokens the device selects, each before the one before it is
/// finished; returns the journal of the beginning of the fifth and the end of the fourth.
static std::string journalOfFifthAhead(PagedDecoder &decoder, size_t rows) {
  const SourceId source = encodeOne(decoder, {4, 5, 6});
  const Tokens first = {1};
  std::vector<Extension> extensions;
  for (size_t row = 0; row < rows; ++row) {
    extensions.push_back({*decoder.start(source), first});
  }
  SelectionRecorder recorders[2];
  StepId steps[2] = {*decoder.begin(extensions, recorders[0])};
  for (size_t row = 0; row < rows; ++row) {
    extensions[row] = {extensions[row].hypothesis, {}, static_cast<int64_t>(row)};
  }
  std::string journal;
  for (size_t step = 1; step < 6; ++step) {
    EmulatedGpu::get().record();
    steps[step % 2] = *decoder.begin(extensions, recorders[step % 2]);
    EXPECT_EQ(decoder.finish(steps[(step - 1) % 2]).message(), "");
    journal = withoutContexts(EmulatedGpu::get().journal());
  }
  EXPECT_EQ(decoder.finish(steps[1]).message(), "");
  return journal;
}

/// A step that follows the tokens of the device is launched before the host waits for the step
/// before, and waits for nothing else: the first three waits are for pinned memory whose copies the
/// GPU has done before that step.
TEST_F(Journal, OfAStepAhead) {
  ASSERT_NO_FATAL_FAILURE(open(selectingModel()));
  const std::string expected = R"(cuEventSynchronize()
cuMemcpyHtoDAsync_v2(640)
cuEventRecord()
cuMemcpyDtoDAsync_v2(4)
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(896)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(1976)
cuEventRecord()
cuGraphLaunch(8 launches)
cuMemcpyDtoHAsync_v2(40)
cuEventRecord()
cuEventSynchronize()
)";
  EXPECT_EQ(journalOfFifthAhead(*decoder, 1), expected);
  // The ids of three rows are one copy.
  const std::string ofThree = journalOfFifthAhead(*decoder, 3);
  EXPECT_NE(ofThree.find("cuMemcpy2DAsync_v2(3 rows of 4)\n"), std::string::npos) << ofThree;
  EXPECT_EQ(std::ranges::count(ofThree, '\n'), std::ranges::count(expected, '\n')) << ofThree;
}

/// A step of beam searches, too, is one graph; the kernels that exclude tokens, order hypotheses
/// and copy their blocks are in it. What orders is one more copy; what excludes was sent before. No
/// wait before the launch is for a kernel of the step before.
TEST_F(Journal, OfAStepOfBeamsAhead) {
  ASSERT_NO_FATAL_FAILURE(open(selectingModel()));
  Result<Generator> generator = Generator::create(*compiled, {.session = {.cacheBytes = 1 << 20}});
  ASSERT_TRUE(generator.ok()) << generator.status().message();
  for (const int32_t beam : {4, 3}) {
    ASSERT_TRUE(
        generator->add({.source = {4, 5, 6}, .options = {.beam = beam, .maxLength = 20}}).ok());
  }
  std::string journal;
  for (int step = 0; step < 10; ++step) {
    EmulatedGpu::get().record();
    ASSERT_TRUE(generator->step().ok());
    journal = withoutContexts(EmulatedGpu::get().journal());
  }
  EXPECT_EQ(generator->stepUse().ahead, 10) << testing::PrintToString(generator->stepUse().reasons);
  const HeddleExecuted executed = EmulatedGpu::get().executed();
  EXPECT_EQ(executed.kernels - executed.beforeGraph, 11U) << "those of the step before";
  EXPECT_EQ(journal, R"(cuEventSynchronize()
cuMemcpyHtoDAsync_v2(640)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(896)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(704)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(2272)
cuEventRecord()
cuGraphLaunch(11 launches)
cuMemcpy2DAsync_v2(7 rows of 88)
cuEventRecord()
cuEventSynchronize()
)");
}

/// Decodes a token for each of some hypotheses.
static Status decodeAll(PagedDecoder &decoder, std::span<const HypothesisId> hypotheses,
                        Recorder &recorder) {
  const Tokens tokens = {1};
  std::vector<Extension> extensions;
  for (const HypothesisId each : hypotheses) {
    extensions.push_back({each, tokens});
  }
  return decoder.decode(extensions, recorder);
}

TEST_F(Journal, AGraphServesFewerRows) {
  ASSERT_NO_FATAL_FAILURE(open(generatingModel()));
  const SourceId source = encodeOne(*decoder, {4, 5, 6});
  std::vector<HypothesisId> hypotheses;
  while (hypotheses.size() < 4) {
    hypotheses.push_back(*decoder->start(source));
  }
  Recorder recorder;
  EmulatedGpu &gpu = EmulatedGpu::get();
  for (int step = 0; step < 2; ++step) {
    ASSERT_EQ(decodeAll(*decoder, hypotheses, recorder).message(), "");
  }
  // Sentences end one by one. No graph is captured, and only pieces of the logits are launched
  // separately.
  for (size_t rows = 3; rows > 0; --rows) {
    gpu.record();
    ASSERT_EQ(decodeAll(*decoder, std::span(hypotheses).first(rows), recorder).message(), "");
    const std::string journal = gpu.journal();
    EXPECT_NE(journal.find("cuGraphLaunch(6 launches)"), std::string::npos) << journal;
    EXPECT_EQ(journal.find("cuStreamBeginCapture"), std::string::npos) << journal;
    EXPECT_EQ(journal.find("cuLaunchKernel(embed"), std::string::npos) << journal;
  }
}

TEST_F(Journal, OfAnEncoding) {
  ASSERT_NO_FATAL_FAILURE(open(generatingModel()));
  for (int64_t count = 1; count < 4; ++count) {
    EmulatedGpu::get().record();
    const LaunchUse before = decoder->launches().ofEncodings;
    encodeOne(*decoder, {4, 5, 6});
    LaunchUse counted = decoder->launches().ofEncodings;
    counted -= before;
    EXPECT_EQ(counted, useIn(EmulatedGpu::get().journal()));
    EXPECT_GT(counted.kernels, 0);
    EXPECT_EQ(decoder->launches().encodings, count);
    EXPECT_EQ(decoder->launches().ofSteps, LaunchUse());
  }
}

/// Recording a graph launches nothing.
TEST_F(Journal, OfARecordedGraph) {
  ASSERT_NO_FATAL_FAILURE(open(selectingModel()));
  const HypothesisId hypothesis = *decoder->start(encodeOne(*decoder, {4, 5, 6}));
  const Tokens tokens = {1};
  const Extension extension{hypothesis, tokens};
  SelectionRecorder recorder;
  for (int step = 0; step < 3; ++step) {
    const LaunchUse before = decoder->launches().ofSteps;
    EmulatedGpu::get().record();
    ASSERT_EQ(decoder->decode({&extension, 1}, recorder).message(), "");
    LaunchUse counted = decoder->launches().ofSteps;
    counted -= before;
    const std::string journal = EmulatedGpu::get().journal();
    // The second step records the graph that it launches.
    EXPECT_EQ(journal.find("cuStreamBeginCapture") != std::string::npos, step == 1);
    EXPECT_EQ(counted.graphs, step == 0 ? 0 : 1);
    EXPECT_EQ(counted.kernels, step == 0 ? 8 : 0);
    EXPECT_EQ(counted.kernelsOfGraphs, step == 0 ? 0 : 8);
  }
}

TEST_F(Journal, OfARun) {
  const Result<Model> model = loadOn("cuda", withDevice(fixture::model()), "embed.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Session> session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(session->launchUse(), LaunchUse());
  LaunchUse last;
  for (int run = 0; run < 4; ++run) {
    const LaunchUse before = session->launchUse();
    EmulatedGpu::get().record();
    ASSERT_TRUE(embedTwo(*session).ok());
    last = session->launchUse();
    last -= before;
  }
  EXPECT_EQ(last, useIn(EmulatedGpu::get().journal()));
  EXPECT_GT(last.kernels + last.kernelsOfGraphs, 0);
  EXPECT_GT(last.waits, 0);
}

/// On a processor nothing is launched through a driver.
TEST_F(Journal, OfAProcessorIsEmpty) {
  const Result<Model> model = loadOn("cpu", withDevice(fixture::model()), "embed.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Session> session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE(embedTwo(*session).ok());
  EXPECT_EQ(session->launchUse(), LaunchUse());
}

TEST_F(Journal, OfBlocksThatWorkTogether) {
  ModelSpec spec = withDevice(model());
  const Result<Model> alone = loadOn("cuda", spec, "alone.so");
  ASSERT_EQ(spec.kernels[1].name, "linear");
  spec.kernels[1].launches[2] = {manifest::LaunchUnit::Caller, 64, 128, 0, 0, 0, 0, 0, 0};
  const Result<Model> together = loadOn("cuda", spec, "together.so");
  ASSERT_TRUE(alone.ok() && together.ok());
  const Result<std::vector<float>> expected = embedTwo(*alone);
  EmulatedGpu::get().record();
  const Result<std::vector<float>> found = embedTwo(*together);
  ASSERT_TRUE(expected.ok() && found.ok()) << found.status().message();
  EXPECT_EQ(*found, *expected);
  // As many blocks as two multiprocessors hold: pieces of blocks are smaller than those of threads.
  const std::vector<std::string> launches = EmulatedGpu::get().calls("cuLaunchKernel");
  EXPECT_NE(std::find(launches.begin(), launches.end(), "cuLaunchKernel(linear, 2 x 64)"),
            launches.end());
}
