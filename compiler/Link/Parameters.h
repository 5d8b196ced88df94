// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates parameter expressions when the binary is written: one tensor at a time, and a large
/// one in slices of rows, so that memory use does not grow with the model.
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

/// The source of the tensors of a checkpoint.
class ParameterSource {
public:
  /// Fills values of an element type in row-major order. Any type of a checkpoint can be read as
  /// f32; other element types must be the checkpoint's.
  using Values =
      std::function<Status(llvm::StringRef name, ElementType element, std::span<std::byte> values)>;
  /// Returns the codes of a matrix whose elements have this type in the checkpoint.
  using Codes =
      std::function<Result<CodeRows>(llvm::StringRef name, transformer::QuantizedType type)>;

  /// Reads the same values from an element on, and tells which tensors support that.
  struct Parts {
    std::function<bool(llvm::StringRef name)> has;
    std::function<Status(llvm::StringRef name, ElementType element, int64_t first,
                         std::span<std::byte> values)>
        read;
  };

  /// Without `codes`, no parameter with a source has codes. `compensated` holds parameters whose
  /// codes are already chosen; it may be null.
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

  /// Without parts, tensors are read whole.
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

/// The weights of a binary: the parameters that graphs of a module use, in the order of use, so
/// that a run reads them sequentially.
class Weights {
public:
  /// Places every parameter; equal contents are stored once. Evaluates each parameter once, to hash
  /// it.
  static Result<Weights> place(mlir::ModuleOp module, ParameterSource source);

  const std::vector<PlacedParameter> &parameters() const { return placed; }
  uint64_t size() const { return bytes; }

  /// Passes the section's bytes to `sink`, in order. Evaluates each stored parameter again.
  Status write(const std::function<Status(std::span<const std::byte>)> &sink) const;

private:
  Weights(mlir::ModuleOp module, ParameterSource source)
      : module(module), source(std::move(source)) {}

  mlir::ModuleOp module;
  ParameterSource source;
  std::vector<PlacedParameter> placed;
  std::vector<size_t> stored; // indices of `placed` whose bytes are in the file, in order
  uint64_t bytes = 0;
};

/// Returns the values of a parameter, row major.
Result<std::vector<float>> evaluateParameter(mlir::ModuleOp module,
                                             transformer::ParameterOp parameter,
                                             const ParameterSource &source);

/// Returns a reader for passes that inspect values: it evaluates a parameter as a whole and caches
/// nothing. Returns no values for unreadable parameters; linking reports the reason.
ParameterReader parameterReader(ParameterSource source);

/// Returns a hasher of rows for passes that compare parameters; it evaluates large ones in slices.
/// Returns no hash for unreadable parameters; linking reports the reason.
ParameterHasher parameterHasher(ParameterSource source);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERS_H
