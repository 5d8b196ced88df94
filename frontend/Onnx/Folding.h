// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates graphs without inputs. Everything that depends only on constants is folded while the
/// graph is read; no program is run.
#ifndef HEDDLE_FRONTEND_ONNX_FOLDING_H
#define HEDDLE_FRONTEND_ONNX_FOLDING_H

#include "heddle/Status.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace heddle {

/// An output of a folded graph. Booleans are 0 and 1.
struct FoldedTensor {
  std::string name;
  std::vector<int64_t> shape;
  bool isReal = false;
  /// Only one of the two vectors is used.
  std::vector<double> reals = {};
  std::vector<int64_t> integers = {};
};

/// Returns the outputs of a graph without inputs. The Unsupported error names the value that does
/// not depend only on constants.
Result<std::vector<FoldedTensor>> foldOnnxGraph(mlir::MLIRContext &context,
                                                const std::string &path);

} // namespace heddle

#endif // HEDDLE_FRONTEND_ONNX_FOLDING_H
