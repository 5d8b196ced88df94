// SPDX-License-Identifier: Apache-2.0
///
/// Translates the regular expressions of tokenizer.json to branches that RE2 and SplitPattern
/// execute, with the same matches at every place of every text. Other expressions are rejected.
#ifndef HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H

#include "formats/Tokenizer/CharacterSet.h"
#include "formats/Tokenizer/SplitPattern.h"
#include "heddle/Status.h"

#include <string_view>
#include <vector>

namespace heddle {

/// Returns the branches of a regular expression. Messages do not begin with a place.
Result<std::vector<SplitBranch>> translatePattern(std::string_view pattern);
/// Returns the branch that matches a literal text.
std::vector<SplitBranch> literalPattern(std::string_view text);
/// Returns the branch that matches one character.
std::vector<SplitBranch> characterPattern(const CharacterSet &set);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H
