// SPDX-License-Identifier: Apache-2.0
///
/// The generating test model, loaded.
#ifndef HEDDLE_TESTS_RUNTIME_SESSION_DECODERMODEL_H
#define HEDDLE_TESTS_RUNTIME_SESSION_DECODERMODEL_H

#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Session/DecodedLogits.h"
#include "tests/runtime/Session/TestDevice.h"

#include <memory>
#include <string>

namespace heddle {

/// The bytes of one block of these models, both of the memory and of the history.
inline constexpr uint64_t blockBytes = 2 * fixture::width * HEDDLE_BLOCK * sizeof(float);
/// The bytes of the states of one hypothesis, in models with states.
inline constexpr uint64_t stateRowBytes = fixture::width * sizeof(float);

/// Writes a model and loads it.
inline Model loadModel(const fixture::ModelSpec &spec, const std::string &name) {
  const std::string path = fixture::temporaryPath(name);
  EXPECT_EQ(fixture::write(fixture::withDevice(spec), path).message(), "");
  Result<Model> model = Model::load(path, onTestDevice());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

inline Model generatingModel() {
  static const Model model = loadModel(fixture::generatingModel(), "generating.so");
  return model;
}

inline Model averagingModel() {
  static const Model model = loadModel(fixture::averagingModel(), "averaging.so");
  return model;
}

inline Model historylessModel() {
  static const Model model = loadModel(fixture::historylessModel(), "historyless.so");
  return model;
}

inline Model continuingModel() {
  static const Model model = loadModel(fixture::continuingModel(), "continuing.so");
  return model;
}

inline std::unique_ptr<PagedDecoder> makeDecoder(const SessionOptions &options = {},
                                                 const Model &model = generatingModel()) {
  Result<std::unique_ptr<PagedDecoder>> decoder = PagedDecoder::create(model, options);
  EXPECT_EQ(decoder.status().message(), "");
  return *std::move(decoder);
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_SESSION_DECODERMODEL_H
