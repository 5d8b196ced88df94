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

// --- AttentionOperators.cpp ----------------------------------------------------------------------

/// [batch, rows, heads * size] to [batch, heads, rows, size].
Result<Rows> splitHeads(Evaluation &evaluation, Rows rows, int64_t heads);
/// The same back.
Result<Rows> joinHeads(Evaluation &evaluation, Rows rows);
/// The operator of opset 23 over tensors of constant sizes.
Status wholeAttention(Evaluation &evaluation, Call &call);

// --- LayoutOperators.cpp -------------------------------------------------------------------------

/// Rows side by side, or in each of them equal parts such as heads.
Status concatRows(Evaluation &evaluation, Call &call, size_t axis);

// --- WholeTensors.cpp ----------------------------------------------------------------------------

/// Brings both into one form, in which what one lacks is repeated.
Status alignWhole(Evaluation &evaluation, Rows &left, Rows &right);
/// A product of matrices, or of batches of them.
Result<Rows> wholeProduct(Evaluation &evaluation, Rows left, Rows right);
/// Tensors joined along any axis.
Result<Rows> wholeConcat(Evaluation &evaluation, const Call &call, size_t axis);
/// One of two where a constant condition holds, elsewhere the other.
Result<Rows> wholeChoice(Evaluation &evaluation, const Symbolic &condition, const Value &then,
                         const Value &otherwise);

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
/// exp(x - max) / sum along an axis of parts of the width.
Result<Rows> rowSoftmax(Evaluation &evaluation, Rows rows, size_t axis);
/// Weights of scores, over the keys of each row.
Result<Rows> softmaxOfKeys(Evaluation &evaluation, Rows scores);

// --- NormOperators.cpp ---------------------------------------------------------------------------

/// One number of each row along these axes, which keep their places with size 1.
Result<Rows> reduced(Evaluation &evaluation, Rows rows, const std::vector<bool> &isReduced,
                     transformer::Reduction method);
/// The same value with the parts of these axes as the columns of its rows.
Result<Rows> withColumns(Evaluation &evaluation, Rows rows, const std::vector<bool> &areColumns);
/// The axes that an operand or attribute "axes" names, counted from the start; none: all.
Result<std::vector<bool>> reducedAxes(Evaluation &evaluation, Call &call, size_t rank);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_OPERATORS_H
