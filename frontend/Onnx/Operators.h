// SPDX-License-Identifier: Apache-2.0
///
/// The tables of operators, one per file, and the helpers that composite operators are built from.
/// A composite operator is expanded to primitive ones, which passes fuse again.
#ifndef HEDDLE_FRONTEND_ONNX_OPERATORS_H
#define HEDDLE_FRONTEND_ONNX_OPERATORS_H

#include "frontend/Onnx/Evaluation.h"

namespace heddle::onnx {

std::vector<OperatorInfo> scalarOperators();
std::vector<OperatorInfo> choiceOperators();
std::vector<OperatorInfo> indexOperators();
std::vector<OperatorInfo> castOperators();
std::vector<OperatorInfo> constantOperators();
std::vector<OperatorInfo> padOperators();
std::vector<OperatorInfo> rotaryOperators();
std::vector<OperatorInfo> layoutOperators();
std::vector<OperatorInfo> sliceOperators();
std::vector<OperatorInfo> productOperators();
std::vector<OperatorInfo> normOperators();
std::vector<OperatorInfo> reductionOperators();
std::vector<OperatorInfo> activationOperators();
std::vector<OperatorInfo> attentionOperators();
std::vector<OperatorInfo> einsumOperators();
std::vector<OperatorInfo> convolutionOperators();

// --- ScalarOperators.cpp -------------------------------------------------------------------------

/// Returns whether a formula reads rows of a table. A bias over pairs of rows does not count.
bool isTable(Evaluation &evaluation, const Symbolic &value);
/// Returns the broadcast shape of the two, where axes of size 1 are repeated.
Result<std::vector<Expr>> broadcastShapes(Evaluation &evaluation, std::vector<Expr> left,
                                          std::vector<Expr> right);
/// Applies an elementwise operator. The result is a formula if both operands are.
Result<Value> combined(Evaluation &evaluation, Formula formula, const Value &left,
                       const Value &right);
/// Applies an elementwise operator to rows.
Result<Rows> combinedRows(Evaluation &evaluation, Formula formula, const Value &left,
                          const Value &right);
/// Adds a bias to the result of a product that has no other use.
Result<Rows> withBias(Evaluation &evaluation, Rows rows, const Value &bias);
/// Adds a mask to scores: a formula that is 0 where a key is visible.
Result<Rows> withMask(Evaluation &evaluation, Rows scores, const Symbolic &mask);

// --- AttentionOperators.cpp ----------------------------------------------------------------------

/// Reshapes and transposes [batch, rows, heads * size] to [batch, heads, rows, size].
Result<Rows> splitHeads(Evaluation &evaluation, Rows rows, int64_t heads);
/// The inverse of splitHeads().
Result<Rows> joinHeads(Evaluation &evaluation, Rows rows);
/// Evaluates Attention of opset 23 over tensors of constant sizes.
Status wholeAttention(Evaluation &evaluation, Call &call);

// --- LayoutOperators.cpp -------------------------------------------------------------------------

/// Concatenates rows along the width, or equal parts of them, such as heads.
Status concatRows(Evaluation &evaluation, Call &call, size_t axis);

// --- WholeTensors.cpp ----------------------------------------------------------------------------

/// Brings both operands to the same layout and repeats the axes that one of them lacks.
Status alignWhole(Evaluation &evaluation, Rows &left, Rows &right);
/// Emits a product of matrices or of batches of matrices.
Result<Rows> wholeProduct(Evaluation &evaluation, Rows left, Rows right);
/// Concatenates tensors along any axis.
Result<Rows> wholeConcat(Evaluation &evaluation, const Call &call, size_t axis);
/// Selects between two values by a constant condition.
Result<Rows> wholeChoice(Evaluation &evaluation, const Symbolic &condition, const Value &then,
                         const Value &otherwise);

// --- Casts.cpp -----------------------------------------------------------------------------------

/// Casts a formula to an integer type.
Result<Expr> castToInteger(Evaluation &evaluation, Expr value, ElementType type);

// --- ProductOperators.cpp ------------------------------------------------------------------------

/// Multiplies rows by a matrix of the file: [inputs, outputs], or [outputs, inputs] if `isTurned`.
Result<Rows> linear(Evaluation &evaluation, Rows rows, const Symbolic &weight, bool isTurned);
/// Multiplies rows by a matrix [outputs, inputs].
Result<Rows> linear(Evaluation &evaluation, Rows rows, const Parameter &matrix);
/// Multiplies queries by keys, or weights by values.
Result<Rows> product(Evaluation &evaluation, Rows left, Rows right);
/// Computes exp(x - max) / sum along an axis within the width.
Result<Rows> rowSoftmax(Evaluation &evaluation, Rows rows, size_t axis);
/// Computes attention weights from scores: a softmax over the keys of each row.
Result<Rows> softmaxOfKeys(Evaluation &evaluation, Rows scores);

// --- NormOperators.cpp ---------------------------------------------------------------------------

/// Reduces each row along these axes, which are kept with size 1.
Result<Rows> reduced(Evaluation &evaluation, Rows rows, const std::vector<bool> &isReduced,
                     transformer::Reduction method);
/// Returns the same value with these axes as the columns of its rows.
Result<Rows> withColumns(Evaluation &evaluation, Rows rows, const std::vector<bool> &areColumns);
/// Returns the axes that the operand or attribute "axes" selects, normalized to count from the
/// start. Without "axes", all axes are selected.
Result<std::vector<bool>> reducedAxes(Evaluation &evaluation, Call &call, size_t rank);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_OPERATORS_H
