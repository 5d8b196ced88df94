// SPDX-License-Identifier: Apache-2.0
///
/// The precision of each weight: that of the program, or the one that its layers are kept in
/// (--keep). Shared by the passes that narrow weights and rows and by the checks of a request, so
/// that all of them interpret a pattern alike.
#ifndef HEDDLE_COMPILER_LAYERPRECISIONS_H
#define HEDDLE_COMPILER_LAYERPRECISIONS_H

#include "compiler/Parameters/Precision.h"
#include "compiler/Parameters/PrecisionNames.h"
#include "dialects/Transformer/Transformer.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include <string>
#include <vector>

namespace heddle {

/// Tensors of the checkpoint, selected by a pattern, and the precision that they are kept in.
struct KeptLayers {
  std::string pattern;
  std::string precision;

  /// "attention.self=int8".
  std::string text() const { return pattern + "=" + precision; }
};

/// Parses "layer.4,layer.5=int8" into an element for each pattern. InvalidArgument: what was seen
/// and expected, phrased to follow the name of an option.
Result<std::vector<KeptLayers>> parseKept(llvm::StringRef text);

/// Parses the options of a pass: checks the name of the program's precision, and returns the layers
/// with other precisions.
Result<std::vector<KeptLayers>> readPrecisions(llvm::StringRef precision,
                                               llvm::ArrayRef<std::string> keep);

/// Returns whether a name contains the dotted parts of a pattern consecutively, each whole. The
/// part `*` matches any one part.
bool matchesLayer(llvm::StringRef pattern, llvm::StringRef name);

/// The prefix of narrow-weights' errors about patterns that keep nothing. Callers replace it by the
/// name of their own option.
inline constexpr std::string_view keepErrorPrefix = "keep: ";

/// Checks patterns against the tensors that a program reads. InvalidArgument for a pattern that
/// matches none, and for a matrix to which two patterns give different precisions.
Status checkKept(mlir::ModuleOp program, llvm::ArrayRef<KeptLayers> kept);

/// Returns the matrices and tables of the checkpoint that a parameter is made of: itself, or the
/// leaves of its expression. Biases and factors have no influence on the storage of a matrix.
llvm::SmallVector<transformer::ParameterOp> matricesOf(const mlir::SymbolTable &symbols,
                                                       transformer::ParameterOp parameter);

/// The precisions of the parameters of a program.
class LayerPrecisions {
public:
  /// The precision of one parameter.
  struct Choice {
    Precision precision;
    /// The precision by which choices are compared: the same, except that codes of the files count
    /// with their own width and group.
    Precision fineness;
    /// The rule that chose it; null if the program's precision is unchanged.
    const KeptLayers *kept = nullptr;
    /// The first rule that asked for a lower precision of one of its tensors; null if there is
    /// none.
    const KeptLayers *overruled = nullptr;
    /// Whether other tensors of it would be stored in fewer bits.
    bool isMixed = false;

    /// Returns whether it equals the precision that a rule asks for, under any name.
    bool isAsAskedBy(const KeptLayers &rule) const {
      return isAsFine(*findPrecision(rule.precision), fineness);
    }
  };

  /// `base` is the precision of the program. The precisions of `kept` must be known; parseKept()
  /// checks that.
  LayerPrecisions(const mlir::SymbolTable &symbols, const Precision &base,
                  std::vector<KeptLayers> kept)
      : symbols(symbols), base(base), kept(std::move(kept)) {}

  /// Returns the finest precision of the matrices that a parameter is made of: a matrix has one
  /// type, and each of its layers must get at least what was requested. Among equally fine ones,
  /// prefers a requested one.
  Choice of(transformer::ParameterOp parameter) const;
  Choice of(mlir::FlatSymbolRefAttr parameter) const {
    return of(symbols.lookup<transformer::ParameterOp>(parameter.getAttr()));
  }

  llvm::ArrayRef<KeptLayers> rules() const { return kept; }

private:
  /// Returns the precision of a single tensor of the checkpoint.
  Choice ofTensor(transformer::ParameterOp tensor) const;

  const mlir::SymbolTable &symbols;
  Precision base;
  std::vector<KeptLayers> kept;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LAYERPRECISIONS_H
