// SPDX-License-Identifier: Apache-2.0
///
/// Calibration texts: those of a file, one per line, read and checked before anything is compiled.
#ifndef HEDDLE_COMPILER_CALIBRATION_TEXTS_H
#define HEDDLE_COMPILER_CALIBRATION_TEXTS_H

#include "heddle/Status.h"

#include <string>
#include <vector>

namespace heddle {

struct CalibrationTexts {
  /// The name of the file in messages.
  std::string path;
  /// The texts that are not blank, in order.
  std::vector<std::string> texts;
  /// XXH3 128 of the file, 32 hexadecimal digits.
  std::string hash;
};

/// With fewer texts, the codes would overfit to them.
inline constexpr size_t fewestTexts = 16;

/// Reads a file of texts in UTF-8, one per line or, if its name ends in .jsonl, one object with a
/// "text" per line. Returns InvalidArgument for an invalid line, or if there are too few texts.
Result<CalibrationTexts> readCalibrationTexts(const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_TEXTS_H
