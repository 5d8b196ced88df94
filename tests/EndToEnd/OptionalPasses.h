// SPDX-License-Identifier: Apache-2.0
///
/// The passes that may be left out, as the compiler lists them: a new one is tested by every test
/// that goes through them.
#ifndef HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H
#define HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H

#include <string>
#include <vector>

namespace heddle {

/// The names that --disable-pass knows.
std::vector<std::string> passNames();

/// --disable-pass for each of them.
std::vector<std::string> withoutPasses();

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H
