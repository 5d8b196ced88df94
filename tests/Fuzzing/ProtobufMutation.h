// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of protobuf's wire format: numbers, lengths, field numbers and wire types, with the
/// enclosing lengths usually corrected; duplicate, missing or moved fields.
#ifndef HEDDLE_TESTS_FUZZING_PROTOBUFMUTATION_H
#define HEDDLE_TESTS_FUZZING_PROTOBUFMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes one message, or one inside it at any depth.
void mutateProtobuf(std::string &message, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_PROTOBUFMUTATION_H
