// SPDX-License-Identifier: Apache-2.0
///
/// heddle embed: texts to embeddings, as JSON lines or as a NumPy matrix.
#ifndef HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDCOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDCOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <cstdint>
#include <string>

namespace heddle::tools {

struct EmbedOptions : SubcommandOptions, ExecutionOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  /// .jsonl, .npy or "-" for standard output.
  std::string output = "-";
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, EmbedOptions &options);
Status execute(const EmbedOptions &options);

/// The header of a float32 matrix in NumPy's .npy format, version 1.0. The values follow, little
/// endian and row major, at a multiple of 64 bytes.
std::string npyHeader(int64_t rows, int64_t columns);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDCOMMAND_H
