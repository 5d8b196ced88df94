// SPDX-License-Identifier: Apache-2.0
///
/// What messages say of a precision that is not known; for programs without headers of LLVM.
#ifndef HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H
#define HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H

#include <string>
#include <string_view>

namespace heddle {

/// A name that findPrecision() does not know, in quotes, and what was expected instead.
std::string unknownPrecision(std::string_view name);

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_PRECISIONNAMES_H
