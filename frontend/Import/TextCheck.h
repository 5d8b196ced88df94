// SPDX-License-Identifier: Apache-2.0
///
/// The text of a program before MLIR reads it. MLIR's parser, its printer and what walks attributes
/// recurse, so that ten kilobytes of brackets would end the process.
#ifndef HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H
#define HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H

#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// Levels of brackets, regions and operators of an affine expression, those of the aliases that a
/// place names included. Programs have some twenty; clang takes as many brackets.
inline constexpr unsigned deepestNesting = 256;

/// Checks that a program is text, and how deep it nests. Brackets in strings and comments do not
/// count, and an alias counts as deep as what it stands for. InvalidArgument otherwise, with
/// `path:line:column` where the text is too deep.
Status checkProgramText(std::string_view text, std::string_view path);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H
