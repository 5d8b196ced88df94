// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates the parameters of a program whose expression is `compensate`: a second program, with
/// the rows of its products as outputs, runs on texts, the moments of these rows are summed, and
/// codes are chosen by them. In rounds, so that the moments in memory have a limit: more rounds
/// run the texts again.
#ifndef HEDDLE_COMPILER_CALIBRATION_CALIBRATE_H
#define HEDDLE_COMPILER_CALIBRATION_CALIBRATE_H

#include "compiler/Calibration/Texts.h"
#include "compiler/Link/CompensatedValues.h"
#include "compiler/Link/Parameters.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The numbers of the rows whose moments a program needs, each once.
std::vector<int64_t> neededRows(mlir::ModuleOp module);

struct CalibrationOptions {
  /// Moments that are in memory at once; those of one matrix alone may take more.
  uint64_t momentsBytes = uint64_t(1) << 30;
  int threads = 1;
  /// Told what is done next, as CompileRequest::onStep is.
  std::function<void(std::string_view)> onStep = [](std::string_view) {};
};

/// What came of it.
struct Calibration {
  CompensatedValues values;
  /// One line for the user.
  std::vector<std::string> notes;
};

/// Chooses the codes of `module`, whose weights come from `source`. `observed` is a binary of the
/// same program in f32 with the neededRows() as outputs. Reports each matrix as taken by
/// `compensate-weights`, with the error that remains. InvalidArgument: what products read is not
/// finite, by the name of a matrix.
Result<Calibration> calibrate(mlir::ModuleOp module, const ParameterSource &source,
                              const std::string &observed, const CalibrationTexts &texts,
                              const CalibrationOptions &options);

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_CALIBRATE_H
