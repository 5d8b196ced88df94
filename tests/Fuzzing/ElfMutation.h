// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of an ELF shared library: fields of the header, of program and section headers, of the
/// dynamic section, and names of sections.
#ifndef HEDDLE_TESTS_FUZZING_ELFMUTATION_H
#define HEDDLE_TESTS_FUZZING_ELFMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes one field, or exchanges two headers of a table.
void mutateElf(std::string &file, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_ELFMUTATION_H
