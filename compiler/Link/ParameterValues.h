// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates parameters by their expressions: whole, or in slices of rows, so that a large matrix
/// is never in memory as a whole.
#ifndef HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
#define HEDDLE_COMPILER_LINK_PARAMETERVALUES_H

#include "compiler/Link/Compensation.h"
#include "compiler/Link/Parameters.h"
#include "compiler/Link/ValueAlgebra.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Evaluates parameters of a module, whose symbols must not change meanwhile. Uses no recursion,
/// because expressions may be as deep as the module is long.
class ParameterEvaluator {
public:
  /// Matrices of more than `sliceElements` elements are evaluated in slices of about this size, if
  /// their rows depend only on rows of the checkpoint.
  ParameterEvaluator(mlir::ModuleOp module, const ParameterSource &source,
                     int64_t sliceElements = int64_t(1) << 22)
      : module(module), source(source), sliceElements(sliceElements) {}

  /// Returns values widened to f32.
  Result<std::vector<float>> evaluate(transformer::ParameterOp parameter);
  /// The same for `count` rows from `first` on, along the first axis.
  Result<std::vector<float>> evaluateRows(transformer::ParameterOp parameter, int64_t first,
                                          int64_t count);
  /// Returns the rows of a slice: all rows if slices would each cost as much as the whole.
  int64_t rowsOfSlice(transformer::ParameterOp parameter);

  /// Evaluates a parameter in its stored form, in one or several consecutive pieces.
  Status evaluateStored(transformer::ParameterOp parameter,
                        llvm::function_ref<Status(std::span<const std::byte>)> sink);

  /// The codes of a parameter with a `compensate` expression, and the gain of choosing them.
  struct Compensated {
    QuantizedValues values;
    CompensationGain gain;
  };
  Result<Compensated> evaluateCompensated(transformer::ParameterOp parameter);

private:
  struct Step;
  /// A range of a parameter's elements, row major; whole rows of quantised ones.
  struct Window {
    int64_t first;
    int64_t count;
  };

  static Window wholeOf(transformer::ParameterOp parameter);
  Result<ParameterValues> evaluateWindow(transformer::ParameterOp parameter, Window window);
  Window neededOf(Step &step, size_t index, transformer::ParameterOp operand);
  static Window givenOf(transformer::ParameterOp parameter, Window needed);
  bool hasSlices(transformer::ParameterOp parameter);
  int64_t elementsOfSlice(transformer::ParameterOp parameter);
  Result<ParameterValues> read(transformer::ParameterOp parameter, Window window);
  Status readPlain(transformer::ParameterOp parameter, Window window, ElementType element,
                   std::span<std::byte> to);
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol);
  bool isKnown(transformer::ParameterOp parameter) const;
  Result<ParameterValues> valuesOf(Step &step);
  static ParameterValues convertNeeded(const Step &step, transformer::ParameterOp operand,
                                       ParameterValues values);
  void take(Step &step, ParameterValues operand);
  static Result<ParameterValues> finish(Step &step);
  static Result<Compensated> finishCompensated(Step &step);

  mlir::ModuleOp module;
  const ParameterSource &source;
  int64_t sliceElements;
  /// Built for the first expression.
  std::optional<mlir::SymbolTable> symbols;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
