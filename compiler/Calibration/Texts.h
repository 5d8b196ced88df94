// SPDX-License-Identifier: Apache-2.0
///
/// The texts that a model is calibrated with: those of a file, one a line, read and checked before
/// anything is compiled.
#ifndef HEDDLE_COMPILER_CALIBRATION_TEXTS_H
#define HEDDLE_COMPILER_CALIBRATION_TEXTS_H

#include "heddle/Status.h"

#include <string>
#include <vector>

namespace heddle {

struct CalibrationTexts {
  /// What messages call the file.
  std::string path;
  /// Those that are not blank, in their order.
  std::vector<std::string> texts;
  /// XXH3 128 of the file, 32 hexadecimal digits.
  std::string hash;
};

/// Fewer texts say so little about what products read that rounding would follow these texts.
inline constexpr size_t fewestTexts = 16;

/// Reads a file of texts in UTF-8, one a line or, if its name ends in .jsonl, one an object with a
/// "text". InvalidArgument: the line that is neither, or that there are too few texts.
Result<CalibrationTexts> readCalibrationTexts(const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_TEXTS_H
