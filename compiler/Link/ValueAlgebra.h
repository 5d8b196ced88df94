// SPDX-License-Identifier: Apache-2.0
///
/// Values of parameters, and what expressions do with them. Values of a checkpoint stay in the type
/// that it has them in, f32, f16 or bf16, as long as they are only moved; what is computed from
/// them is f64 until the last expression, so that a derived parameter is rounded once. Quantised
/// values stay codes and scales until they are laid out.
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

/// Numbers of f16 or bf16, as their bits.
struct NarrowValues {
  ElementType element;
  std::vector<uint16_t> bits;
};

/// Row major. Bytes are quantised values as they lie in the file.
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

/// Values in another element type, each rounded once; the same bits where they have it.
ParameterValues convertValues(ParameterValues values, ElementType element);
/// Values in the element type of a parameter, of which they may be some rows.
ParameterValues convertTo(mlir::RankedTensorType type, ParameterValues values);
/// The same, as the binary has them.
StoredValues storedValues(mlir::RankedTensorType type, ParameterValues values);
/// In f64, moved where they are that already.
std::vector<double> asExact(ParameterValues values);

/// Those of an expression without operands.
ParameterValues makeValues(transformer::ParameterExpressionAttr expression,
                           mlir::RankedTensorType type);
/// Those of an expression that takes one operand of `shape` and moves its values across rows.
ParameterValues moveValues(transformer::ParameterOp parameter, llvm::ArrayRef<int64_t> shape,
                           ParameterValues values);
/// Rows of so many columns in panels, those of each of `groups` equal parts side by side.
ParameterValues packValues(transformer::ParameterExpressionAttr pack, int64_t groups,
                           int64_t columns, ParameterValues values);
/// Some of the values; of quantised ones whole rows.
ParameterValues cutValues(ParameterValues values, int64_t first, int64_t count);
/// A matrix of so many rows times another, or a vector; sums in f64, in the order of k.
ParameterValues multiplyValues(ParameterValues left, ParameterValues right, int64_t rows);
void addValues(std::vector<double> &sums, ParameterValues values);
/// Puts more rows behind others.
void appendValues(ParameterValues &all, ParameterValues part);
/// Puts a matrix of `count` columns into columns from `first` on of one of `width`, which it makes.
void placeColumns(ParameterValues &to, ParameterValues matrix, int64_t width, int64_t first,
                  int64_t count);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_VALUEALGEBRA_H
