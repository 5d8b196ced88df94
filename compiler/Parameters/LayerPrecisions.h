// SPDX-License-Identifier: Apache-2.0
///
/// Which precision each weight has: that of the program, or the one that its layers are kept in
/// (--keep). The passes that narrow weights and rows and the checks of a request ask here, so that
/// all of them read a pattern alike.
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

/// Tensors of the checkpoint, by a pattern, and the precision that they are kept in.
struct KeptLayers {
  std::string pattern;
  std::string precision;

  /// "attention.self=int8".
  std::string text() const { return pattern + "=" + precision; }
};

/// Reads "layer.4,layer.5=int8": an element for each pattern. InvalidArgument: what was seen and
/// what was expected, to go on with after the name of an option.
Result<std::vector<KeptLayers>> parseKept(llvm::StringRef text);

/// Reads the options of a pass: the program's precision, whose name is only checked, and the layers
/// of other precisions.
Result<std::vector<KeptLayers>> readPrecisions(llvm::StringRef precision,
                                               llvm::ArrayRef<std::string> keep);

/// Whether the dotted parts of a pattern are in a name, side by side and each whole. The part `*`
/// is any one.
bool matchesLayer(llvm::StringRef pattern, llvm::StringRef name);

/// What an error of narrow-weights about patterns that keep nothing begins with: an option's name
/// for whoever asked by another one.
inline constexpr std::string_view keepErrorPrefix = "keep: ";

/// Checks patterns against the tensors that a program reads. InvalidArgument for a pattern that
/// matches none, and for a matrix that two patterns give different precisions.
Status checkKept(mlir::ModuleOp program, llvm::ArrayRef<KeptLayers> kept);

/// The matrices and tables of the checkpoint that a parameter is made of: itself, or the leaves of
/// its expression. Biases and factors say nothing about how a matrix is stored.
llvm::SmallVector<transformer::ParameterOp> matricesOf(const mlir::SymbolTable &symbols,
                                                       transformer::ParameterOp parameter);

/// The precisions of the parameters of a program.
class LayerPrecisions {
public:
  /// The precision of one parameter.
  struct Choice {
    Precision precision;
    /// The same, or where that is the files' what their codes are: how fine it is.
    Precision fineness;
    /// What asked for it; null where the program's precision was not changed.
    const KeptLayers *kept = nullptr;
    /// What asked for less of some of its tensors, or the first of several; null if nothing did.
    const KeptLayers *overruled = nullptr;
    /// Whether others of its tensors would be stored in fewer bits.
    bool isMixed = false;

    /// Whether it is what a rule asks for, by whatever name.
    bool isAsAskedBy(const KeptLayers &rule) const {
      return isAsFine(*findPrecision(rule.precision), fineness);
    }
  };

  /// `base` is that of the program. The precisions of `kept` are known ones, as parseKept() makes
  /// sure.
  LayerPrecisions(const mlir::SymbolTable &symbols, const Precision &base,
                  std::vector<KeptLayers> kept)
      : symbols(symbols), base(base), kept(std::move(kept)) {}

  /// The finest precision of the matrices that a parameter is made of: a matrix has one type, and
  /// what is asked for is the least that a layer gets. Of those that are as fine it is one that was
  /// asked for.
  Choice of(transformer::ParameterOp parameter) const;
  Choice of(mlir::FlatSymbolRefAttr parameter) const {
    return of(symbols.lookup<transformer::ParameterOp>(parameter.getAttr()));
  }

  llvm::ArrayRef<KeptLayers> rules() const { return kept; }

private:
  /// What one tensor of the checkpoint would have by itself.
  Choice ofTensor(transformer::ParameterOp tensor) const;

  const mlir::SymbolTable &symbols;
  Precision base;
  std::vector<KeptLayers> kept;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LAYERPRECISIONS_H
