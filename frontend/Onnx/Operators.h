// SPDX-License-Identifier: Apache-2.0
///
/// The groups of operators, each in a file of its own.
#ifndef HEDDLE_FRONTEND_ONNX_OPERATORS_H
#define HEDDLE_FRONTEND_ONNX_OPERATORS_H

#include "frontend/Onnx/Evaluation.h"

namespace heddle::onnx {

std::vector<OperatorInfo> scalarOperators();
std::vector<OperatorInfo> indexOperators();
std::vector<OperatorInfo> layoutOperators();
std::vector<OperatorInfo> productOperators();

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_OPERATORS_H
