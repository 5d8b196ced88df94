// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates the parameters with a `compensate` expression: runs a second program, whose outputs
/// are the rows of its products, on texts, sums the moments of these rows, and chooses codes by
/// them. Works in rounds to limit the memory of moments: each round runs the texts again.
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

/// Returns the numbers of the rows whose moments a program needs, without duplicates.
std::vector<int64_t> neededRows(mlir::ModuleOp module);

struct CalibrationOptions {
  /// The limit of moments in memory; those of a single matrix may exceed it.
  uint64_t momentsBytes = uint64_t(1) << 30;
  int threads = 1;
  /// Called with the next step, like CompileRequest::onStep.
  std::function<void(std::string_view)> onStep = [](std::string_view) {};
};

/// The result of a calibration.
struct Calibration {
  CompensatedValues values;
  /// Notes for the user, one line each.
  std::vector<std::string> notes;
};

/// Chooses the codes of `module`, whose weights come from `source`. `observed` is an f32 binary of
/// the same program with the neededRows() as outputs. Reports each matrix as taken by
/// `compensate-weights`, with the remaining error. Returns InvalidArgument, with the name of a
/// matrix, if the rows of a product are not finite.
Result<Calibration> calibrate(mlir::ModuleOp module, const ParameterSource &source,
                              const std::string &observed, const CalibrationTexts &texts,
                              const CalibrationOptions &options);

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_CALIBRATE_H
