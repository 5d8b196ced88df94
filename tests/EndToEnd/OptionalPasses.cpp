// SPDX-License-Identifier: Apache-2.0
///
/// The only file of these tests that includes headers of the compiler.
#include "tests/EndToEnd/OptionalPasses.h"

#include "compiler/Compile.h"

#include <gtest/gtest.h>

namespace heddle {

static constexpr const char *kFlag = "--disable-pass=";

std::vector<std::string> passNames() { return optionalPasses(); }

std::vector<std::string> withoutPasses() {
  std::vector<std::string> flags = optionalPasses();
  for (std::string &flag : flags) {
    flag.insert(0, kFlag);
  }
  return flags;
}

/// Returns the text of a model's dispatches. No optional pass runs after them.
static std::string dispatchesOf(const std::string &model, std::vector<std::string> disabled) {
  CompileRequest request;
  request.path = model;
  request.disabledPasses = std::move(disabled);
  for (const KnownTarget &target : knownTargets()) {
    request.targets.push_back(target.name);
  }
  request.stopAfter = Phase::Dataflow;
  request.texts = {Phase::Dataflow};
  CompileResult result = compile(request);
  EXPECT_EQ(result.status.message(), "") << model;
  return result.texts.empty() ? "" : std::move(result.texts.front().second);
}

std::vector<std::string> withoutPassesOf(const std::string &model) {
  const std::string all = dispatchesOf(model, {});
  std::vector<std::string> flags;
  for (const OptionalPass &pass : describePasses()) {
    EXPECT_LE(pass.phase, Phase::Dataflow) << pass.name;
    if (dispatchesOf(model, {pass.name}) != all) {
      flags.push_back(kFlag + pass.name);
    }
  }
  return flags;
}

} // namespace heddle
