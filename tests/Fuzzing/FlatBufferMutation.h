// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of FlatBuffers by their schema, as flatc writes it with --schema: numbers in tables
/// and structures, texts, lengths of lists, and offsets that are redirected to another table of the
/// same kind.
#ifndef HEDDLE_TESTS_FUZZING_FLATBUFFERMUTATION_H
#define HEDDLE_TESTS_FUZZING_FLATBUFFERMUTATION_H

#include "tests/Fuzzing/Mutation.h"

#include <string>
#include <string_view>

namespace heddle::fuzzing {

/// Changes a buffer of the schema's root type, which must have passed the verifier of that type.
/// `schema` is the content of a .bfbs file.
void mutateFlatBuffer(std::string &buffer, std::string_view schema, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_FLATBUFFERMUTATION_H
