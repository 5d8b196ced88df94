// SPDX-License-Identifier: Apache-2.0
///
/// The passes that may be left out, as the compiler lists them: every test that iterates over them
/// tests a new pass too.
#ifndef HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H
#define HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H

#include <string>
#include <vector>

namespace heddle {

/// Returns the names that --disable-pass accepts.
std::vector<std::string> passNames();

/// Returns --disable-pass for each of them.
std::vector<std::string> withoutPasses();

/// Returns those of the flags with which a model's dispatches differ, for processors or GPUs.
/// Without another pass the binary is the same. Fails the test if the model does not compile.
std::vector<std::string> withoutPassesOf(const std::string &model);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_OPTIONALPASSES_H
