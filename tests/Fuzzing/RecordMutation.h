// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of binary formats that consist of records: CTranslate2's model.bin and protocol
/// buffers. Only the well-formed part of a file is parsed; a change to a record preserves the
/// lengths around it, so that readers reach the record.
#ifndef HEDDLE_TESTS_FUZZING_RECORDMUTATION_H
#define HEDDLE_TESTS_FUZZING_RECORDMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a model.bin: numbers, names, data; duplicate, missing or moved variables and aliases.
void mutateCTranslate2(std::string &file, Choice &choice);

/// Changes a message of protocol buffers: a field of it or of a message inside.
void mutateProtobuf(std::string &message, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_RECORDMUTATION_H
