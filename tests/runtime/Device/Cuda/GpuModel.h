// SPDX-License-Identifier: Apache-2.0
///
/// The test models on the emulated GPU.
#ifndef HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_GPUMODEL_H
#define HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_GPUMODEL_H

#include "heddle/Session.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Device/Cuda/EmulatedGpu.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace heddle {

/// Writes a model, and loads it on a device.
inline Result<Model> loadOn(const std::string &device, const fixture::ModelSpec &spec,
                            const std::string &name) {
  const std::string path = fixture::temporaryPath(name);
  EXPECT_EQ(fixture::write(spec, path).message(), "");
  return Model::load(path, {.device = device});
}

/// Returns the output of "embed" for two sequences, with ids up to the last word.
inline Result<std::vector<float>> embedTwo(Session &session) {
  const std::vector<int32_t> lengths = {3, 2};
  const std::vector<int32_t> ids = {1, 49, 7, 30, 2};
  std::vector<float> values(2 * fixture::width);
  const Input input("input_ids", ids);
  const Output output{"embedding", values};
  HEDDLE_TRY(session.run("embed", lengths, {&input, 1}, {&output, 1}));
  return values;
}

/// The same in a separate session.
inline Result<std::vector<float>> embedTwo(const Model &model) {
  HEDDLE_ASSIGN(Session session, Session::create(model));
  return embedTwo(session);
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_GPUMODEL_H
