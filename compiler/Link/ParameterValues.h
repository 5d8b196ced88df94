// SPDX-License-Identifier: Apache-2.0
///
/// Values of parameters by their expressions. Values of a checkpoint stay in the type that it has
/// them in, f32, f16 or bf16, as long as they are only moved; what is computed from them is f64
/// until the last expression, so that a derived parameter is rounded once. Quantised values stay
/// codes and scales until they are laid out.
#ifndef HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
#define HEDDLE_COMPILER_LINK_PARAMETERVALUES_H

#include "compiler/Link/Compensation.h"
#include "compiler/Link/Parameters.h"
#include "compiler/Link/QuantizedValues.h"

#include "mlir/IR/SymbolTable.h"

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace heddle {

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

/// Evaluates parameters of a module, whose symbols do not change meanwhile. Expressions may be as
/// deep as the module is long: there is no recursion.
class ParameterEvaluator {
public:
  ParameterEvaluator(mlir::ModuleOp module, const ParameterSource &source)
      : module(module), source(source) {}

  /// Widened to f32, for who asks about values.
  Result<std::vector<float>> evaluate(transformer::ParameterOp parameter);
  /// As the binary has them.
  Result<StoredValues> evaluateStored(transformer::ParameterOp parameter);

  /// The codes of a parameter whose expression is `compensate`, and what choosing them gained.
  struct Compensated {
    QuantizedValues values;
    CompensationGain gain;
  };
  Result<Compensated> evaluateCompensated(transformer::ParameterOp parameter);

  /// Numbers of f16 or bf16, as their bits.
  struct Narrow {
    ElementType element;
    std::vector<uint16_t> bits;
  };
  /// Bytes are quantised values as they lie in the file.
  using Values = std::variant<std::vector<float>, std::vector<double>, Narrow, QuantizedValues,
                              std::vector<std::byte>>;

private:
  struct Step;

  Result<Values> evaluateAll(transformer::ParameterOp parameter);
  Result<Values> read(transformer::ParameterOp parameter);
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol);
  Result<Values> valuesOf(Step &step);
  void take(Step &step, Values operand);
  static Result<Values> finish(Step &step);
  static Result<Compensated> finishCompensated(Step &step);

  mlir::ModuleOp module;
  const ParameterSource &source;
  /// Made with the first expression.
  std::optional<mlir::SymbolTable> symbols;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
