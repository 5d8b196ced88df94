// SPDX-License-Identifier: Apache-2.0
///
/// Checks the text of a program before MLIR reads it. MLIR's parser, printer and attribute walks
/// recurse, so ten kilobytes of brackets would end the process.
#ifndef HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H
#define HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H

#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// Nesting of brackets, regions and operators of an affine expression, including that of aliases in
/// use. Programs have some twenty levels; clang accepts as many brackets as this.
inline constexpr unsigned deepestNesting = 256;

/// Checks that a program is text and not nested too deeply. Brackets in strings and comments do not
/// count; an alias counts with the depth of its definition. Otherwise returns InvalidArgument, with
/// the `path:line:column` where the text is too deep.
Status checkProgramText(std::string_view text, std::string_view path);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_TEXTCHECK_H
