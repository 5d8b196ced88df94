// SPDX-License-Identifier: Apache-2.0
///
/// Mutations of JSON by its tokens and nesting: values, keys, members and depths change, the rest
/// of the document is preserved. Formats that contain JSON use it on that part.
#ifndef HEDDLE_TESTS_FUZZING_JSONMUTATION_H
#define HEDDLE_TESTS_FUZZING_JSONMUTATION_H

#include "tests/Fuzzing/Mutation.h"

namespace heddle::fuzzing {

/// Changes a document, which need not be valid.
void mutateJson(std::string &text, Choice &choice);

/// Changes one of several documents with a NUL between them.
void mutateJsonDocuments(std::string &text, Choice &choice);

/// Changes a safetensors file: its header by tokens, the header's length, or the tensors' bytes.
void mutateSafetensors(std::string &file, Choice &choice);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_JSONMUTATION_H
