// SPDX-License-Identifier: Apache-2.0
///
/// Compilation with the compiler's library.
#include "tests/EndToEnd/BuiltModel.h"

#include "tests/EndToEnd/CompiledModel.h"

#include <gtest/gtest.h>

namespace heddle {

CompileRequest cachedRequest() {
  CompileRequest request;
  request.codeCache = codeOfHeddlec();
  request.targets = usualTargets();
  return request;
}

CompileRequest requestFor(const std::string &path, const Result<std::string> &text) {
  EXPECT_EQ(text.status().message(), "");
  CompileRequest request = cachedRequest();
  request.program = text.ok() ? *text : "";
  request.output = path;
  return request;
}

std::string compileText(const std::string &path, const Result<std::string> &text,
                        std::vector<TensorValues> tensors,
                        const std::vector<std::string> &disabledPasses) {
  CompileRequest request = requestFor(path, text);
  request.tensors = std::move(tensors);
  request.disabledPasses = disabledPasses;
  EXPECT_EQ(compile(request).status.message(), "");
  return path;
}

} // namespace heddle
