// SPDX-License-Identifier: Apache-2.0
///
/// Prompts of an oracle, Transformers' results for them, and those of a compiled model.
#ifndef HEDDLE_TESTS_ENDTOEND_CONTINUEDPROMPTS_H
#define HEDDLE_TESTS_ENDTOEND_CONTINUEDPROMPTS_H

#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle {

/// Returns a tensor of floats or of ids in a file.
template <typename Number>
std::vector<Number> readTensor(const std::string &path, const std::string &name) {
  const auto file = Checkpoint::open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok() || file->find(name) == nullptr) {
    ADD_FAILURE() << path << " has no tensor " << name;
    return {};
  }
  size_t count = 1;
  for (const auto dimension : file->find(name)->shape) {
    count *= static_cast<size_t>(dimension);
  }
  std::vector<Number> values(count);
  if constexpr (std::is_same_v<Number, float>) {
    EXPECT_TRUE(file->readF32(name, values).ok());
  } else {
    EXPECT_TRUE(file->readI32(name, values).ok());
  }
  return values;
}

/// Returns the logits that `heddle run` computes for the prompts of an oracle.
inline std::vector<float> logitsFor(const std::string &binary, const std::string &oracle,
                                    const std::string &isa) {
  const TemporaryFolder folder;
  const std::string output = folder / "outputs.safetensors";
  const tools::Outcome outcome =
      tools::runHeddle({"run", binary, "--inputs", oracle + "/expected.safetensors", "--outputs",
                        output, "--isa", isa, "--device", anyDevice});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.code == 0 ? readTensor<float>(output, "logits") : std::vector<float>();
}

/// Returns the rows of a tensor of ids.
inline std::vector<Tokens> rowsOf(const std::string &oracle, const std::string &name,
                                  size_t count) {
  const Tokens all = readTensor<int32_t>(oracle + "/expected.safetensors", name);
  std::vector<Tokens> rows;
  for (size_t row = 0; row < count; ++row) {
    const auto width = static_cast<std::ptrdiff_t>(all.size() / count);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * width;
    rows.emplace_back(begin, begin + width);
  }
  return rows;
}

/// Returns the prompts without their padding.
inline std::vector<Tokens> promptsOf(const std::string &oracle, size_t count) {
  std::vector<Tokens> prompts = rowsOf(oracle, "input_ids", count);
  const std::vector<Tokens> seen = rowsOf(oracle, "attention_mask", count);
  for (size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].resize(static_cast<size_t>(std::count(seen[i].begin(), seen[i].end(), 1)));
  }
  return prompts;
}

inline std::string linesOf(const std::vector<Tokens> &prompts) {
  std::string lines;
  for (const Tokens &prompt : prompts) {
    lines += fmt::format("{}\n", fmt::join(prompt, " "));
  }
  return lines;
}

/// Returns the rows of an oracle's tensor without their padding, and without the prompt at their
/// beginning; each prompt has `copies` rows.
inline std::vector<Tokens> generatedBy(const std::string &oracle, const std::string &name,
                                       const std::vector<Tokens> &prompts, size_t copies,
                                       const Tokens &ends) {
  std::vector<Tokens> rows = rowsOf(oracle, name, prompts.size() * copies);
  for (size_t i = 0; i < rows.size(); ++i) {
    Tokens &row = rows[i];
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(prompts[i / copies].size()));
    const auto end = std::find_first_of(row.begin(), row.end(), ends.begin(), ends.end());
    if (end != row.end()) {
      row.erase(end + 1, row.end());
    }
    while (!row.empty() && row.back() == -1) {
      row.pop_back();
    }
  }
  return rows;
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_CONTINUEDPROMPTS_H
