// SPDX-License-Identifier: Apache-2.0
///
/// Weights are sent to the GPU once, unchanged.
#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <numeric>

using namespace heddle;
using namespace heddle::fixture;

/// Returns the bytes of all copies to the GPU since record().
static uint64_t bytesSent() {
  uint64_t sum = 0;
  for (const std::string &line : EmulatedGpu::get().calls("cuMemcpyHtoDAsync_v2")) {
    sum += std::stoull(line.substr(line.find('(') + 1));
  }
  return sum;
}

static uint64_t weightBytes(const ModelSpec &spec) {
  return std::accumulate(
      spec.parameters.begin(), spec.parameters.end(), uint64_t(0),
      [](uint64_t sum, const ParameterSpec &parameter) { return sum + parameter.size; });
}

TEST(Upload, OncePerModel) {
  const ModelSpec spec = withDevice(model());
  EmulatedGpu::get().record();
  const Result<Model> model = loadOn("cuda", spec, "upload.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Session> one = Session::create(*model);
  Result<Session> other = Session::create(*model);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(bytesSent(), weightBytes(spec));
  EmulatedGpu::get().record();
  const Result<std::vector<float>> first = embedTwo(*one);
  const Result<std::vector<float>> second = embedTwo(*other);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_LT(bytesSent(), weightBytes(spec));
}

TEST(Upload, OnlyWhatTheTargetReads) {
  ModelSpec spec = withDevice(model());
  addParameter(spec, "weight.packed", {width, width});
  spec.actualWeightsSize = spec.weightsSize;
  for (EntrySpec &entry : spec.entries) {
    // CPUs read a copy of the matrix, which is the fifth parameter.
    entry.buffers[4].stored = {4, 4, 2};
  }
  spec.parameters[4].values = spec.parameters[2].values;
  EmulatedGpu::get().record();
  const Result<Model> model = loadOn("cuda", spec, "upload.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(bytesSent(), weightBytes(spec) - spec.parameters[4].size);
  EXPECT_EQ(*embedTwo(*model), *embedTwo(*loadOn("cpu", spec, "upload.so")));
}

TEST(Upload, InPieces) {
  ModelSpec spec;
  spec = withDevice(model());
  // 80 MB of words: three pieces, in two pinned buffers.
  constexpr size_t many = 640 * 1024;
  ParameterSpec &table = spec.parameters[0];
  const size_t old = table.values.size();
  table.shape = {many, width};
  table.values.resize(many * width, 1.0f);
  table.size = table.values.size() * sizeof(float);
  table.values[many * width - 1] = 2.0f;
  const uint64_t more = (table.values.size() - old) * sizeof(float);
  for (size_t i = 1; i < spec.parameters.size(); ++i) {
    spec.parameters[i].offset += more;
  }
  spec.weightsSize += more;
  spec.actualWeightsSize = spec.weightsSize;
  for (EntrySpec &entry : spec.entries) {
    entry.inputs[0].limit = many;
    entry.buffers[2].shape[0] = manifest::Dimension(many, tokensSpace, false);
  }
  EmulatedGpu::get().record();
  const Result<Model> onGpu = loadOn("cuda", spec, "large.so");
  ASSERT_TRUE(onGpu.ok()) << onGpu.status().message();
  EXPECT_EQ(EmulatedGpu::get().calls("cuMemcpyHtoDAsync_v2").size(), 3u + 3u);
  const std::vector<int32_t> lengths = {4};
  const std::vector<int32_t> ids = {0, many / 2, many - 2, many - 1};
  const Input input("input_ids", ids);
  std::vector<std::vector<float>> found;
  for (const char *const device : {"cuda", "cpu"}) {
    Result<Model> model = Model::load(onGpu->path(), {.device = device});
    ASSERT_TRUE(model.ok());
    Result<Session> session = Session::create(*model);
    std::vector<float> &values = found.emplace_back(4 * width);
    const Output output{"last_hidden_state", values};
    ASSERT_EQ(session->run("encode", lengths, {&input, 1}, {&output, 1}).message(), "");
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(Upload, NoRoom) {
  const Setting small("HEDDLE_EMULATOR_MEMORY", "8192");
  const Status status = loadOn("cuda", withDevice(model()), "upload.so").status();
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            temporaryPath("upload.so") +
                ": GPU 0 (emulated): cuMemAlloc_v2 of 10880 bytes for the "
                "weights failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  EXPECT_EQ(EmulatedGpu::get().leaks(), "");
}
