// SPDX-License-Identifier: Apache-2.0
///
/// Graphs without inputs: what follows from constants alone is evaluated while a graph is read, and
/// nothing is run.
#ifndef HEDDLE_FRONTEND_ONNX_FOLDING_H
#define HEDDLE_FRONTEND_ONNX_FOLDING_H

#include "heddle/Status.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace heddle {

/// An output of such a graph. Truth values are 0 and 1.
struct FoldedTensor {
  std::string name;
  std::vector<int64_t> shape;
  bool isReal = false;
  /// One of them has the elements.
  std::vector<double> reals = {};
  std::vector<int64_t> integers = {};
};

/// The outputs of a graph without inputs. Unsupported names what does not follow from constants.
Result<std::vector<FoldedTensor>> foldOnnxGraph(mlir::MLIRContext &context,
                                                const std::string &path);

} // namespace heddle

#endif // HEDDLE_FRONTEND_ONNX_FOLDING_H
