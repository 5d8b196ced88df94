// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of GGUF files: counts and numbers, names and texts with correct lengths, duplicate,
/// missing or moved keys and tensors. Only the well-formed part of a file is parsed.
#ifndef HEDDLE_TESTS_FUZZING_GGUFMUTATION_H
#define HEDDLE_TESTS_FUZZING_GGUFMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a GGUF file. If a change moves the tensors, the padding before them is usually
/// corrected.
void mutateGguf(std::string &file, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_GGUFMUTATION_H
