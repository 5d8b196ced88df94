// SPDX-License-Identifier: Apache-2.0
///
/// The groups of operators, each in a file of its own, and the parts that composed ones are made
/// of: an operator that stands for several is written as these, for passes to find again.
#ifndef HEDDLE_FRONTEND_ONNX_OPERATORS_H
#define HEDDLE_FRONTEND_ONNX_OPERATORS_H

#include "frontend/Onnx/Evaluation.h"

namespace heddle::onnx {

std::vector<OperatorInfo> scalarOperators();
std::vector<OperatorInfo> choiceOperators();
std::vector<OperatorInfo> indexOperators();
std::vector<OperatorInfo> layoutOperators();
std::vector<OperatorInfo> sliceOperators();
std::vector<OperatorInfo> productOperators();
std::vector<OperatorInfo> normOperators();
std::vector<OperatorInfo> activationOperators();
std::vector<OperatorInfo> attentionOperators();
std::vector<OperatorInfo> einsumOperators();
std::vector<OperatorInfo> convolutionOperators();

// --- ScalarOperators.cpp -------------------------------------------------------------------------

/// Whether a formula is rows of a table; a bias of pairs of rows is none.
bool isTable(Evaluation &evaluation, const Symbolic &value);
/// The shape of both, where axes of size 1 are repeated.
Result<std::vector<Expr>> broadcastShapes(Evaluation &evaluation, std::vector<Expr> left,
                                          std::vector<Expr> right);
/// An operator of each element: of formulas a formula.
Result<Value> combined(Evaluation &evaluation, Formula formula, const Value &left,
                       const Value &right);
/// The same of rows.
Result<Rows> combinedRows(Evaluation &evaluation, Formula formula, const Value &left,
                          const Value &right);
/// The result of a product that nothing else reads, plus a bias.
Result<Rows> withBias(Evaluation &evaluation, Rows rows, const Value &bias);
/// Scores plus a mask: a formula that is 0 where a key is visible.
Result<Rows> withMask(Evaluation &evaluation, Rows scores, const Symbolic &mask);

// --- Casts.cpp -----------------------------------------------------------------------------------

/// A formula as integers of a type.
Result<Expr> castToInteger(Evaluation &evaluation, Expr value, ElementType type);

// --- ProductOperators.cpp ------------------------------------------------------------------------

/// Rows times a matrix [inputs, outputs] of the file, or [outputs, inputs] if `isTurned`.
Result<Rows> linear(Evaluation &evaluation, Rows rows, const Symbolic &weight, bool isTurned);
/// Rows times a matrix [outputs, inputs].
Result<Rows> linear(Evaluation &evaluation, Rows rows, const Parameter &matrix);
/// Queries times keys, or weights times values.
Result<Rows> product(Evaluation &evaluation, Rows left, Rows right);
/// Weights of scores, over the keys of each row.
Result<Rows> softmaxOfKeys(Evaluation &evaluation, Rows scores);

// --- NormOperators.cpp ---------------------------------------------------------------------------

/// One number of each row along the last axis, which keeps its place with size 1.
Result<Rows> reduced(Evaluation &evaluation, Rows rows, transformer::Reduction method);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_OPERATORS_H
