// SPDX-License-Identifier: Apache-2.0
///
/// Reduces a failing program: removes sequences, results and operations, shrinks sizes and
/// simplifies weights as long as it fails in the same way, until nothing more can be removed.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H

#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include <chrono>
#include <functional>

namespace heddle {

/// Returns whether a program still fails in the expected way. Called with valid programs only.
using Fails = std::function<bool(const TestProgram &)>;

/// Returns the smallest program found within the time; the given one if there is none.
TestProgram reduceProgram(const TestProgram &program, const Fails &fails,
                          std::chrono::seconds time);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H
