// SPDX-License-Identifier: Apache-2.0
///
/// Makes a failing program small: leaves out sequences, results and operations, shrinks sizes and
/// simplifies weights as long as it fails in the same way, until nothing more can go.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H

#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include <chrono>
#include <functional>

namespace heddle {

/// Whether a program still fails in the way that is looked for. It is valid when it is asked for.
using Fails = std::function<bool(const TestProgram &)>;

/// The smallest program that was found within the time; the one that was given if none.
TestProgram reduceProgram(const TestProgram &program, const Fails &fails,
                          std::chrono::seconds time);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_REDUCER_H
