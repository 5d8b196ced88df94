// SPDX-License-Identifier: Apache-2.0
///
/// Counts what layers of a precision of their own keep: the tensors and bytes that the binary says,
/// and whether there are any.
#ifndef HEDDLE_COMPILER_KEPTWEIGHTS_H
#define HEDDLE_COMPILER_KEPTWEIGHTS_H

#include "compiler/Parameters/LayerPrecisions.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace heddle {

class KeptWeights {
public:
  KeptWeights(const mlir::SymbolTable &symbols, const LayerPrecisions &precisions);

  /// Counts a parameter that is stored in the precision of its choice, and takes so many bytes.
  void note(transformer::ParameterOp parameter, const LayerPrecisions::Choice &choice,
            int64_t bytes);

  /// What a report says beside how a parameter is stored: which pattern asked for it, or was
  /// overruled. Empty where no pattern matched.
  static std::string reason(const LayerPrecisions::Choice &choice);

  /// InvalidArgument for a pattern that keeps nothing, and why it does not.
  Status check() const;

  /// The module's transformer.precision, where all else is stored in `base`.
  mlir::DictionaryAttr describe(mlir::MLIRContext *context, llvm::StringRef base) const;

private:
  /// What one pattern keeps.
  struct Count {
    llvm::SetVector<mlir::Operation *> tensors;
    int64_t bytes = 0;
    /// The first parameter of which it wanted less than another part needs, and what that has.
    std::string overruledAt, overruledBy;
  };

  const mlir::SymbolTable &symbols;
  const LayerPrecisions &precisions;
  llvm::MapVector<const KeptLayers *, Count> counts;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_KEPTWEIGHTS_H
