// SPDX-License-Identifier: Apache-2.0
///
/// The records that `heddle generate` writes for a source or a prompt, with or without an answer.
#ifndef HEDDLE_RUNTIME_TOOLS_GENERATE_ANSWERRECORDS_H
#define HEDDLE_RUNTIME_TOOLS_GENERATE_ANSWERRECORDS_H

#include "heddle/Generation.h"
#include "runtime/Tools/Commands.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

/// Refers to the options and the generator of a run.
class AnswerRecords {
public:
  AnswerRecords(const GenerateOptions &options, const Generator &generator)
      : options(options), generator(generator) {}

  std::string emptyRecord(std::string_view source) const;
  std::string errorRecord(std::string_view source, const Status &failure) const;
  Result<std::string> generationRecord(std::string_view source,
                                       const GenerationResult &result) const;

private:
  Result<std::string> textOf(const Hypothesis &hypothesis, std::span<const int32_t> tokens) const;
  Json hypothesisRecord(const Hypothesis &hypothesis, std::span<const int32_t> tokens,
                        const std::string &text) const;
  /// Returns the field name of the request's text.
  const char *asked() const { return generator.hasSources() ? "source" : "prompt"; }

  const GenerateOptions &options;
  const Generator &generator;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_GENERATE_ANSWERRECORDS_H
