// SPDX-License-Identifier: Apache-2.0
///
/// The calls of one step of a decoder, as they are: a change of their number is seen here.
#include "runtime/Session/PagedDecoder.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

using namespace heddle;
using namespace heddle::fixture;

/// Without the calls that make a context the thread's, and back.
static std::string withoutContexts(const std::string &journal) {
  std::string text;
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    text += line.starts_with("cuCtx") ? "" : line + "\n";
  }
  return text;
}

TEST(Journal, OfAStep) {
  const Result<Model> model = loadOn("cuda", withDevice(generatingModel()), "journal.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<std::unique_ptr<PagedDecoder>> decoder =
      PagedDecoder::create(*model, {.cacheBytes = 1 << 20});
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  const SourceId source = encodeOne(**decoder, {4, 5, 6});
  const HypothesisId hypothesis = *(*decoder)->start(source);
  Recorder recorder;
  const Tokens tokens = {1};
  const Extension extension{hypothesis, tokens};
  // The first steps make events and find pinned memory.
  for (int step = 0; step < 3; ++step) {
    EmulatedGpu::get().record();
    ASSERT_EQ((*decoder)->decode({&extension, 1}, recorder).message(), "");
  }
  // What is sent are the rows, the blocks of their caches, and the records of launches, of which
  // the last is of a piece of the logits; each other piece has a record of its own.
  EXPECT_EQ(withoutContexts(EmulatedGpu::get().journal()), R"(cuEventSynchronize()
cuMemcpyHtoDAsync_v2(640)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(896)
cuEventRecord()
cuEventSynchronize()
cuMemcpyHtoDAsync_v2(1568)
cuEventRecord()
cuLaunchKernel(embed, 1 x 32)
cuLaunchKernel(append_keys, 1 x 32)
cuLaunchKernel(append_rows, 1 x 32)
cuLaunchKernel(attend_history, 1 x 32)
cuLaunchKernel(attend_memory, 1 x 32)
cuLaunchKernel(project, 1 x 32)
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
cuStreamSynchronize()
)");
}

TEST(Journal, OfBlocksThatWorkTogether) {
  ModelSpec spec = withDevice(model());
  const Result<Model> alone = loadOn("cuda", spec, "alone.so");
  ASSERT_EQ(spec.kernels[1].name, "linear");
  spec.kernels[1].launches[2] = {manifest::LaunchUnit::Caller, 64, 128};
  const Result<Model> together = loadOn("cuda", spec, "together.so");
  ASSERT_TRUE(alone.ok() && together.ok());
  const Result<std::vector<float>> expected = embedTwo(*alone);
  EmulatedGpu::get().record();
  const Result<std::vector<float>> found = embedTwo(*together);
  ASSERT_TRUE(expected.ok() && found.ok()) << found.status().message();
  EXPECT_EQ(*found, *expected);
  // As many as two multiprocessors hold: pieces of blocks are smaller than those of threads.
  const std::vector<std::string> launches = EmulatedGpu::get().calls("cuLaunchKernel");
  EXPECT_NE(std::find(launches.begin(), launches.end(), "cuLaunchKernel(linear, 2 x 64)"),
            launches.end());
}
