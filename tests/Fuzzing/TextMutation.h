// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of texts with words and lines: programs, lists of words, command lines.
#ifndef HEDDLE_TESTS_FUZZING_TEXTMUTATION_H
#define HEDDLE_TESTS_FUZZING_TEXTMUTATION_H

#include "tests/Fuzzing/Mutation.h"

#include <span>

namespace heddle::fuzzing {

/// Changes one word, number, bracket or line. `dictionary` has words that the text may lack.
void mutateText(std::string &text, std::span<const std::string> dictionary, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_TEXTMUTATION_H
