// SPDX-License-Identifier: Apache-2.0
///
/// From the regular expressions of tokenizer.json to branches that RE2 and SplitPattern run, with
/// the same matches at every place of every text. What has none is refused.
#ifndef HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H

#include "formats/Tokenizer/CharacterSet.h"
#include "formats/Tokenizer/SplitPattern.h"
#include "heddle/Status.h"

#include <string_view>
#include <vector>

namespace heddle {

/// The branches of a regular expression. Messages have no place before them.
Result<std::vector<SplitBranch>> translatePattern(std::string_view pattern);
/// The branch that matches a text, letter by letter.
std::vector<SplitBranch> literalPattern(std::string_view text);
/// The branch that matches one character.
std::vector<SplitBranch> characterPattern(const CharacterSet &set);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PATTERNIMPORT_H
