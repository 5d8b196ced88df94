// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of templates by their words.
#ifndef HEDDLE_TESTS_FORMATS_TEMPLATE_TEMPLATEMUTATION_H
#define HEDDLE_TESTS_FORMATS_TEMPLATE_TEMPLATEMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a word, an operator or a tag, or encloses a part in a block.
void mutateTemplate(std::string &text, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FORMATS_TEMPLATE_TEMPLATEMUTATION_H
