// SPDX-License-Identifier: Apache-2.0
///
/// heddle tokenize: texts to token ids, on standard output.
#ifndef HEDDLE_RUNTIME_TOOLS_TOKENIZE_TOKENIZECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_TOKENIZE_TOKENIZECOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct TokenizeOptions : SubcommandOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, TokenizeOptions &options);
Status execute(const TokenizeOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TOKENIZE_TOKENIZECOMMAND_H
