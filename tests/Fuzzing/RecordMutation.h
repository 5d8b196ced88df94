// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of binary formats made of records: CTranslate2's model.bin and protocol buffers. A
/// file is read as far as it is well formed; a change to a record leaves the lengths around it
/// right, so that readers get as far as the record.
#ifndef HEDDLE_TESTS_FUZZING_RECORDMUTATION_H
#define HEDDLE_TESTS_FUZZING_RECORDMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a model.bin: numbers, names, data; variables and aliases twice, missing, moved.
void mutateCTranslate2(std::string &file, Choice &choice);

/// Changes a message of protocol buffers: a field of it or of a message inside.
void mutateProtobuf(std::string &message, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_RECORDMUTATION_H
