// SPDX-License-Identifier: Apache-2.0
///
/// Weight algebra, evaluated when the binary is written: one tensor at a time, and a large one some
/// rows at a time, so that memory does not grow with the model.
#ifndef HEDDLE_COMPILER_LINK_PARAMETERS_H
#define HEDDLE_COMPILER_LINK_PARAMETERS_H

#include "compiler/Link/Manifest.h"
#include "compiler/Parameters/ParameterHash.h"
#include "formats/Checkpoint/QuantizedTensor.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle {

class CompensatedValues;

/// Where the tensors of a checkpoint come from.
class ParameterSource {
public:
  /// Fills values of an element type in row-major order. Any type of a checkpoint is read as f32;
  /// else it is the one that the checkpoint has.
  using Values =
      std::function<Status(llvm::StringRef name, ElementType element, std::span<std::byte> values)>;
  /// The codes of a matrix whose elements have this type in the checkpoint.
  using Codes =
      std::function<Result<CodeRows>(llvm::StringRef name, transformer::QuantizedType type)>;

  /// Reads tensors from an element on, the same values; and says which can be read so.
  struct Parts {
    std::function<bool(llvm::StringRef name)> has;
    std::function<Status(llvm::StringRef name, ElementType element, int64_t first,
                         std::span<std::byte> values)>
        read;
  };

  /// Without `codes`, no parameter with a source has any. `compensated` are parameters whose codes
  /// are chosen already, which takes long; it may be null.
  template <std::convertible_to<Values> Function>
  ParameterSource(Function values, Codes codes = nullptr, // NOLINT: a function is a source
                  const CompensatedValues *compensated = nullptr)
      : values(std::move(values)), ofCodes(std::move(codes)), known(compensated) {}

  Status operator()(llvm::StringRef name, ElementType element, std::span<std::byte> to) const {
    return values(name, element, to);
  }
  Result<CodeRows> codes(llvm::StringRef name, transformer::QuantizedType type) const {
    return ofCodes ? ofCodes(name, type)
                   : HEDDLE_ERROR(NotFound, "tensor '" + name.str() + "' has no codes");
  }
  const CompensatedValues *compensated() const { return known; }

  /// Without them, tensors are read whole.
  void setParts(Parts some) { parts = std::move(some); }
  bool hasParts(llvm::StringRef name) const { return parts.has && parts.has(name); }
  Status part(llvm::StringRef name, ElementType element, int64_t first,
              std::span<std::byte> to) const {
    return parts.read(name, element, first, to);
  }

private:
  Values values;
  Codes ofCodes;
  const CompensatedValues *known;
  Parts parts;
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

/// Hashes rows of parameters for the passes that compare them, of a large one some rows at a time.
/// What cannot be read has no hash; linking says why.
ParameterHasher parameterHasher(ParameterSource source);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERS_H
