// SPDX-License-Identifier: Apache-2.0
///
/// Computes the logits of one sequence, by `heddle run` with files of tensors.
#ifndef HEDDLE_TESTS_ENDTOEND_RUNLOGITS_H
#define HEDDLE_TESTS_ENDTOEND_RUNLOGITS_H

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle {

/// Returns the logits of a binary for one sequence of each input, [rows, vocabulary]. A failure
/// fails the test.
inline std::vector<float> runLogits(const std::string &binary,
                                    const std::map<std::string, std::vector<int32_t>> &inputs,
                                    size_t rows, size_t vocabulary) {
  const TemporaryFolder folder;
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, ids] : inputs) {
    tensors.push_back({name,
                       ElementType::I32,
                       {1, static_cast<int64_t>(ids.size())},
                       std::as_bytes(std::span(ids))});
  }
  EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
  const tools::Outcome outcome =
      tools::runHeddle({"run", binary, "--inputs", folder / "in.safetensors", "--outputs",
                        folder / "out.safetensors"});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  auto file = Checkpoint::open(folder / "out.safetensors");
  EXPECT_TRUE(file.ok());
  std::vector<float> values(rows * vocabulary);
  EXPECT_TRUE(file->readF32("logits", values).ok());
  return values;
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RUNLOGITS_H
