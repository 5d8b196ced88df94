// SPDX-License-Identifier: Apache-2.0
///
/// Checks that an evaluation keeps the range and the digits of the program that it replaces. Uses
/// the values of the weights if they are available, else the constants of the program.
///
/// Composed weights are computed in f64 and rounded once, and |W2 W1| is at most |W2| |W1| element
/// by element. As long as no rounded element leaves the range of f32, the error of the evaluation
/// is within the bound of the program's own rounding. Only numbers at the ends of the range can
/// lose precision.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H

#include "compiler/Model/Branches/Evaluation.h"
#include "compiler/Parameters/ParameterHash.h"

#include <deque>
#include <memory>
#include <string>

namespace heddle {

/// The limit for moving a constant: the spread of the factors that it is moved past.
inline constexpr double largestSpread = 0x1p24;

/// The limit for moving row numbers, which are unknown: the magnitude of the weights that they are
/// moved past.
inline constexpr double largestPassed = 0x1p40;

/// Checks the evaluations of one module in sequence. Reads the tensors of an evaluation one at a
/// time, and caches a few of them.
class EvaluationRange {
public:
  EvaluationRange(const DerivedParameters &parameters, ParameterReader reader)
      : parameters(parameters), reader(std::move(reader)) {}

  /// Returns the first number that would leave the range; empty if none does.
  std::string obstacleOf(const AffineForm &form, const Evaluation &evaluation);

  /// Records what obstacleOf() computed about the weights of the evaluation that is taken now, for
  /// later evaluations with weights composed of them.
  void keepTaken(DerivedParameters &derived);

private:
  /// A block of columns: row major, in f64.
  struct Block {
    int64_t rows = 0;
    int64_t columns = 0;
    std::vector<double> values;
    /// Whether it is one column of ones.
    bool isOnes = false;
  };
  /// Whether to apply a weight itself or its absolute values.
  enum class Signs { Kept, Dropped };
  using Values = std::shared_ptr<const std::vector<float>>;
  /// A composed weight, its absolute row sums, and its values if they were computed.
  struct Judged {
    Weight weight;
    Block sums;
    Values values;
  };

  std::string judgeConstants(const AffineForm &form);
  std::string judgeMoves(const AffineForm &form, const Evaluation &evaluation);
  std::string judgeSizes(const Evaluation &evaluation);
  std::string judgeNode(const Evaluation &evaluation);
  std::string judgeFactor(const Factor &factor);
  bool readsTaken(const Weight &weight) const;
  /// Returns whether the row sums alone prove that no element is too small for f32.
  static bool keepsDigits(const Weight &weight, const Block &sums);
  std::string judgeWeight(const Weight &weight, bool isVector);
  std::optional<Block> judgeAddends(const Weight &weight, std::string &lost);
  std::string judgeElements(Judged &judged, bool isVector);

  /// Returns nothing if a value is unknown.
  Values read(mlir::FlatSymbolRefAttr symbol);
  void keep(mlir::Attribute symbol, const Values &values);
  std::optional<double> numberOf(const Factor &factor);
  double spreadOf(const Factor &factor);
  std::optional<Block> apply(const Weight &weight, const Block &input, Signs signs);
  std::optional<Block> applyStored(const Weight &weight, const Block &input, Signs signs);
  std::optional<Block> applyParts(const Weight &weight, const Block &input, Signs signs);
  std::optional<Block> sumsOf(const Weight &weight);

  const DerivedParameters &parameters;
  ParameterReader reader;
  /// The first parameter of the evaluation whose values the reader does not have.
  mlir::FlatSymbolRefAttr unread;
  std::vector<Judged> judged;
  /// The most recently read tensors, the latest first, and their total size.
  std::deque<std::pair<mlir::Attribute, Values>> recent;
  size_t recentSize = 0;
  llvm::DenseMap<mlir::Attribute, Block> storedSums;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H
