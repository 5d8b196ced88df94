// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of GGUF files: counts and numbers, names and texts with their lengths kept right, keys
/// and tensors twice, missing or moved. A file is read as far as it is well formed.
#ifndef HEDDLE_TESTS_FUZZING_GGUFMUTATION_H
#define HEDDLE_TESTS_FUZZING_GGUFMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a GGUF file. Where a change moves the tensors, the padding before them is mostly made
/// right again.
void mutateGguf(std::string &file, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_GGUFMUTATION_H
