// SPDX-License-Identifier: Apache-2.0
///
/// Values of parameters, and the operations of expressions on them. Values of a checkpoint keep its
/// type, f32, f16 or bf16, as long as they are only moved; computed values are f64 until the last
/// expression, so that a derived parameter is rounded once. Quantised values remain codes and
/// scales until they are packed.
#ifndef HEDDLE_COMPILER_LINK_VALUEALGEBRA_H
#define HEDDLE_COMPILER_LINK_VALUEALGEBRA_H

#include "compiler/Link/QuantizedValues.h"
#include "dialects/Transformer/Transformer.h"
#include "heddle/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace heddle {

/// f16 or bf16 numbers, as their bits.
struct NarrowValues {
  ElementType element;
  std::vector<uint16_t> bits;
};

/// Row major. Bytes are quantised values in the layout of the file.
using ParameterValues = std::variant<std::vector<float>, std::vector<double>, NarrowValues,
                                     QuantizedValues, std::vector<std::byte>>;

/// The values of a parameter in its element type: f32, the bits of f16 or bf16, or bytes.
class StoredValues {
public:
  using Values = std::variant<std::vector<float>, std::vector<uint16_t>, std::vector<std::byte>>;

  explicit StoredValues(Values values) : values(std::move(values)) {}

  std::span<const std::byte> bytes() const {
    return std::visit([](const auto &each) { return std::as_bytes(std::span(each)); }, values);
  }

private:
  Values values;
};

/// Converts values to another element type, each rounded once; returns the same bits for the same
/// type.
ParameterValues convertValues(ParameterValues values, ElementType element);
/// Converts values, possibly only some rows, to the element type of a parameter.
ParameterValues convertTo(mlir::RankedTensorType type, ParameterValues values);
/// The same, in stored form.
StoredValues storedValues(mlir::RankedTensorType type, ParameterValues values);
/// Returns values in f64, moved if they already are.
std::vector<double> asExact(ParameterValues values);

/// Evaluates an expression without operands.
ParameterValues makeValues(transformer::ParameterExpressionAttr expression,
                           mlir::RankedTensorType type);
/// Evaluates an expression with one operand of `shape` that moves values across rows.
ParameterValues moveValues(transformer::ParameterOp parameter, llvm::ArrayRef<int64_t> shape,
                           ParameterValues values);
/// Packs rows of `columns` elements into panels; each of `groups` equal parts has its own panels.
ParameterValues packValues(transformer::ParameterExpressionAttr pack, int64_t groups,
                           int64_t columns, ParameterValues values);
/// Returns a range of the values; whole rows of quantised ones.
ParameterValues cutValues(ParameterValues values, int64_t first, int64_t count);
/// Multiplies a matrix of `rows` rows by another, or by a vector; sums in f64, in the order of k.
ParameterValues multiplyValues(ParameterValues left, ParameterValues right, int64_t rows);
void addValues(std::vector<double> &sums, ParameterValues values);
/// Appends rows.
void appendValues(ParameterValues &all, ParameterValues part);
/// Copies a matrix of `count` columns into columns from `first` on of a matrix of `width` columns,
/// which it creates if needed.
void placeColumns(ParameterValues &to, ParameterValues matrix, int64_t width, int64_t first,
                  int64_t count);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_VALUEALGEBRA_H
