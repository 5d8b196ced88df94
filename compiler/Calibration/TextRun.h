// SPDX-License-Identifier: Apache-2.0
///
/// A compiled model and the texts that it runs on, to see rows inside it. Batches are as large as
/// memory allows; the rows come in the order of the texts, with the same bits, whatever the batches
/// are.
#ifndef HEDDLE_COMPILER_CALIBRATION_TEXTRUN_H
#define HEDDLE_COMPILER_CALIBRATION_TEXTRUN_H

#include "compiler/Calibration/Texts.h"
#include "heddle/Session.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle {

class TextRun {
public:
  /// Loads a binary with outputs of these names, which only one of its entries that read texts has,
  /// or its encoder and its decoder. Turns the texts into tokens; a model that generates also
  /// answers each of them, greedily, so that its decoder has something to read.
  static Result<TextRun> create(const std::string &binary, std::span<const std::string> outputs,
                                const CalibrationTexts &texts, int threads);
  TextRun(TextRun &&other) noexcept;
  ~TextRun();

  /// What was made of the texts: their tokens, those of the answers among them, and how many texts
  /// have as many as the model takes, and may have been cut.
  int64_t tokens() const;
  int64_t textsOfMostTokens() const;

  /// Rows of an output, by its number among those asked for, end to end.
  using RowsSink = std::function<void(size_t output, std::span<const float> rows)>;
  /// Runs all texts and gives the rows of the outputs of these names to `sink`. `onTexts` is told
  /// how many texts are done.
  Status run(std::span<const std::string> outputs, const RowsSink &sink,
             const std::function<void(size_t)> &onTexts);

private:
  struct State;
  explicit TextRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_TEXTRUN_H
