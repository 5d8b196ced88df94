// SPDX-License-Identifier: Apache-2.0
///
/// A compiled model and its calibration texts, to observe rows inside the model. Batches are as
/// large as memory allows; the rows arrive in the order of the texts and are bitwise independent of
/// the batches.
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
  /// Loads a binary with outputs of these names, which must belong to a single entry that reads
  /// texts, or to its encoder and decoder. Tokenizes the texts; a generating model also answers
  /// each of them, greedily, to have input for its decoder.
  static Result<TextRun> create(const std::string &binary, std::span<const std::string> outputs,
                                const CalibrationTexts &texts, int threads);
  TextRun(TextRun &&other) noexcept;
  ~TextRun();

  /// Statistics of the texts: their tokens, including those of the answers, and how many texts
  /// reach the model's limit and may have been truncated.
  int64_t tokens() const;
  int64_t textsOfMostTokens() const;

  /// Receives rows of an output, by its index among the requested ones, concatenated.
  using RowsSink = std::function<void(size_t output, std::span<const float> rows)>;
  /// Runs all texts and passes the rows of the outputs with these names to `sink`. `onTexts` is
  /// called with the number of texts done.
  Status run(std::span<const std::string> outputs, const RowsSink &sink,
             const std::function<void(size_t)> &onTexts);

private:
  struct State;
  explicit TextRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_TEXTRUN_H
