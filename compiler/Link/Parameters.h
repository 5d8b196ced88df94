// SPDX-License-Identifier: Apache-2.0
///
/// Weight algebra, evaluated when the binary is written: one tensor at a time, so that memory does
/// not grow with the model.
#ifndef HEDDLE_COMPILER_LINK_PARAMETERS_H
#define HEDDLE_COMPILER_LINK_PARAMETERS_H

#include "compiler/Link/Manifest.h"
#include "compiler/Parameters/ParameterHash.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

class CompensatedValues;

/// Where the tensors of a checkpoint come from: fills values of an element type in row-major order.
/// Any type of a checkpoint is read as f32; else it is the one that the checkpoint has.
class ParameterSource {
public:
  using Read =
      std::function<Status(llvm::StringRef name, ElementType element, std::span<std::byte> values)>;

  template <std::convertible_to<Read> Function>
  ParameterSource(Function read, const CompensatedValues *compensated = nullptr)
      : read(std::move(read)), known(compensated) {}

  Status operator()(llvm::StringRef name, ElementType element, std::span<std::byte> values) const {
    return read(name, element, values);
  }
  /// Parameters whose codes are chosen already, which takes long; may be null.
  const CompensatedValues *compensated() const { return known; }

private:
  Read read;
  const CompensatedValues *known;
};

/// A parameter of a binary and its place in the weights.
struct PlacedParameter {
  mutable transformer::ParameterOp parameter; // a handle, its accessors are not const
  ParameterPlace place;
};

/// The weights of a binary: what the graphs of a module use, in the order in which they use it, so
/// that a pass over the model reads them from front to back.
class Weights {
public:
  /// Places every parameter; equal contents are stored once. Evaluates each parameter once, to see
  /// its content.
  static Result<Weights> place(mlir::ModuleOp module, ParameterSource source);

  const std::vector<PlacedParameter> &parameters() const { return placed; }
  uint64_t size() const { return bytes; }

  /// Gives the section's bytes to `sink`, in order. Evaluates each stored parameter again.
  Status write(const std::function<Status(std::span<const std::byte>)> &sink) const;

private:
  Weights(mlir::ModuleOp module, ParameterSource source)
      : module(module), source(std::move(source)) {}

  mlir::ModuleOp module;
  ParameterSource source;
  std::vector<PlacedParameter> placed;
  std::vector<size_t> stored; // those of `placed` whose bytes are in the file, in order
  uint64_t bytes = 0;
};

/// The values of a parameter, row major.
Result<std::vector<float>> evaluateParameter(mlir::ModuleOp module,
                                             transformer::ParameterOp parameter,
                                             const ParameterSource &source);

/// Reads parameters for the passes that judge their values: the whole parameter is evaluated, and
/// no other is kept. What cannot be read has no values; linking says why.
ParameterReader parameterReader(ParameterSource source);

/// Hashes rows of parameters for the passes that compare them: the whole parameter is evaluated,
/// and no other is kept. What cannot be read has no hash; linking says why.
ParameterHasher parameterHasher(ParameterSource source);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERS_H
