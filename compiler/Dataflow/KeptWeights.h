// SPDX-License-Identifier: Apache-2.0
///
/// Counts the tensors and bytes of layers that are kept in another precision, for the binary and to
/// check that every pattern keeps something.
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

  /// Counts a parameter that is stored in the precision of its choice with this size.
  void note(transformer::ParameterOp parameter, const LayerPrecisions::Choice &choice,
            int64_t bytes);

  /// Explains in reports how a parameter is stored: the pattern that chose it, or was overruled.
  /// Empty if no pattern matched.
  static std::string reason(const LayerPrecisions::Choice &choice);

  /// Returns InvalidArgument for a pattern that keeps nothing, with the reason.
  Status check() const;

  /// Returns the module's transformer.precision; all other weights are stored in `base`.
  mlir::DictionaryAttr describe(mlir::MLIRContext *context, llvm::StringRef base) const;

private:
  /// The counts of one pattern.
  struct Count {
    llvm::SetVector<mlir::Operation *> tensors;
    int64_t bytes = 0;
    /// The first parameter for which it asked a lower precision than another part needs, and that
    /// precision.
    std::string overruledAt, overruledBy;
  };

  const mlir::SymbolTable &symbols;
  const LayerPrecisions &precisions;
  llvm::MapVector<const KeptLayers *, Count> counts;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_KEPTWEIGHTS_H
