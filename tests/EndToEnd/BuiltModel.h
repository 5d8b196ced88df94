// SPDX-License-Identifier: Apache-2.0
///
/// Compilation, with the compiler's library, of programs that a test has written itself.
#ifndef HEDDLE_TESTS_ENDTOEND_BUILTMODEL_H
#define HEDDLE_TESTS_ENDTOEND_BUILTMODEL_H

#include "compiler/Compile.h"
#include "heddle/Status.h"

#include <string>
#include <vector>

namespace heddle {

/// Returns a request for usualTargets() that caches the code of functions for later requests of the
/// same test program: models of tests share most functions.
CompileRequest cachedRequest();

/// Returns a request for a binary at `path` of a program in text. A failure of `text` fails the
/// test.
CompileRequest requestFor(const std::string &path, const Result<std::string> &text);

/// Compiles a program in text with these tensors to a binary at `path`, and returns the path. A
/// failure fails the test.
std::string compileText(const std::string &path, const Result<std::string> &text,
                        std::vector<TensorValues> tensors,
                        const std::vector<std::string> &disabledPasses = {});

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_BUILTMODEL_H
