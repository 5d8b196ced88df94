// SPDX-License-Identifier: Apache-2.0
///
/// The answers of `heddle generate` on the test device to lines of tokens and to tensors, and their
/// comparison with another program's or interface's.
#ifndef HEDDLE_TESTS_ENDTOEND_GENERATEDTOKENS_H
#define HEDDLE_TESTS_ENDTOEND_GENERATEDTOKENS_H

#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {

using Json = nlohmann::json;
using Tokens = std::vector<int32_t>;

/// Returns the hypotheses of every source in the output of `heddle generate --format jsonl`.
inline std::vector<Json> hypothesesOf(const tools::Outcome &outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  std::vector<Json> list;
  std::istringstream stream(outcome.output);
  for (std::string line; std::getline(stream, line);) {
    list.push_back(Json::parse(line, nullptr, false)["hypotheses"]);
  }
  return list;
}

/// Returns the hypotheses of every line that `heddle generate --tokens` reads.
inline std::vector<Json> generateTokens(const std::string &binary, const std::string &lines,
                                        std::vector<std::string> options) {
  options.insert(options.begin(),
                 {"generate", binary, "--input", "-", "--tokens", "--format", "jsonl"});
  return hypothesesOf(tools::runHeddle(withTestDevice(options), {.input = lines}));
}

/// Returns the hypotheses of every source of a file of tensors.
inline std::vector<Json> generateFromFile(const std::string &binary, const std::string &inputs,
                                          std::vector<std::string> options) {
  options.insert(options.begin(),
                 {"generate", binary, "--inputs", inputs, "--tokens", "--format", "jsonl"});
  return hypothesesOf(tools::runHeddle(withTestDevice(options)));
}

/// Compares one hypothesis with the expected one.
inline void expectHypothesis(const Json &list, size_t index, const Tokens &tokens, double score,
                             double bound) {
  ASSERT_LT(index, list.size());
  EXPECT_EQ(list[index]["tokens"].get<Tokens>(), tokens);
  EXPECT_NEAR(list[index]["score"].get<double>(), score, bound);
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_GENERATEDTOKENS_H
