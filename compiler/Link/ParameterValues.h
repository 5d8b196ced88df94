// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates parameters by their expressions: whole, or some rows at a time, so that a large matrix
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

/// Evaluates parameters of a module, whose symbols do not change meanwhile. Expressions may be as
/// deep as the module is long: there is no recursion.
class ParameterEvaluator {
public:
  /// Matrices of more than `sliceElements` elements are evaluated in slices of about as many, where
  /// their rows follow from rows of the checkpoint.
  ParameterEvaluator(mlir::ModuleOp module, const ParameterSource &source,
                     int64_t sliceElements = int64_t(1) << 22)
      : module(module), source(source), sliceElements(sliceElements) {}

  /// Widened to f32, for who asks about values.
  Result<std::vector<float>> evaluate(transformer::ParameterOp parameter);
  /// The same of `count` rows from `first` on, along the first axis.
  Result<std::vector<float>> evaluateRows(transformer::ParameterOp parameter, int64_t first,
                                          int64_t count);
  /// How many rows are a slice: all of them where slices would cost as much as the whole.
  int64_t rowsOfSlice(transformer::ParameterOp parameter);

  /// As the binary has them, in one piece or in several, one after the other.
  Status evaluateStored(transformer::ParameterOp parameter,
                        llvm::function_ref<Status(std::span<const std::byte>)> sink);

  /// The codes of a parameter whose expression is `compensate`, and what choosing them gained.
  struct Compensated {
    QuantizedValues values;
    CompensationGain gain;
  };
  Result<Compensated> evaluateCompensated(transformer::ParameterOp parameter);

private:
  struct Step;
  /// Elements of a parameter, row major; of quantised ones whole rows.
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
  /// Made with the first expression.
  std::optional<mlir::SymbolTable> symbols;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
