// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle generate` and `heddle score` write for a line.
#ifndef HEDDLE_RUNTIME_TOOLS_GENERATIONRECORD_H
#define HEDDLE_RUNTIME_TOOLS_GENERATIONRECORD_H

#include "heddle/Generation.h"
#include "runtime/Tools/CommandLine.h"

#include <span>
#include <string>
#include <string_view>

namespace heddle::tools {

/// The answer to a source: one line for each text, best first, or one .jsonl line {"source",
/// "hypotheses": [{"text", "tokens", "score"}]}. A text's own line breaks become spaces where a
/// line is a text.
Result<std::string> generationRecord(const GenerateOptions &options, const Generator &generator,
                                     std::string_view source, const GenerationResult &result);

/// The answer to an empty line.
std::string emptyRecord(const GenerateOptions &options, std::string_view source);

/// The answer to a line that cannot be used: as many empty lines as an answer has, or a .jsonl line
/// {"source", "error"}. `source` is what the line says, as far as it does.
std::string errorRecord(const GenerateOptions &options, std::string_view source,
                        const Status &failure);

/// The same of `heddle score`: an empty line, or {"source", "target", "error"}.
std::string errorRecord(const ScoreOptions &options, std::string_view source,
                        std::string_view target, const Status &failure);

/// The score of a line: the sum and every token's, or a .jsonl line {"source", "target", "score",
/// "scores"}.
std::string scoreRecord(const ScoreOptions &options, std::string_view source,
                        std::string_view target, std::span<const float> scores);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_GENERATIONRECORD_H
