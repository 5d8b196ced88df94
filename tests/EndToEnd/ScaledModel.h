// SPDX-License-Identifier: Apache-2.0
///
/// Models that differ from another in one tensor.
#ifndef HEDDLE_TESTS_ENDTOEND_SCALEDMODEL_H
#define HEDDLE_TESTS_ENDTOEND_SCALEDMODEL_H

#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace heddle {

/// Writes a copy of a model folder into `folder`, with one tensor multiplied by a factor.
inline std::string scaledModel(const std::string &model, const std::string &tensor, float factor,
                               const TemporaryFolder &folder) {
  const std::string copy = folder / "scaled";
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(model + "/config.json", copy + "/config.json");
  auto file = SafetensorsFile::open(model + "/model.safetensors");
  EXPECT_TRUE(file.ok());
  std::vector<float> values;
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor each : file->tensors()) {
    if (each.name == tensor) {
      values.resize(each.bytes.size() / sizeof(float));
      std::memcpy(values.data(), each.bytes.data(), each.bytes.size());
      for (float &value : values) {
        value *= factor;
      }
      each.bytes = std::as_bytes(std::span(values));
    }
    tensors.push_back(each);
  }
  EXPECT_FALSE(values.empty()) << tensor;
  EXPECT_TRUE(writeSafetensors(copy + "/model.safetensors", tensors).ok());
  return copy;
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_SCALEDMODEL_H
