// SPDX-License-Identifier: Apache-2.0
///
/// Messages about unknown precisions, for programs without headers of LLVM.
#ifndef HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H
#define HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H

#include <string>
#include <string_view>

namespace heddle {

/// Returns a name that findPrecision() does not know, in quotes, and the expected names.
std::string unknownPrecision(std::string_view name);

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H
