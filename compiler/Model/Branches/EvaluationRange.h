// SPDX-License-Identifier: Apache-2.0
///
/// Whether an evaluation keeps the range and the digits of the program that it takes the place of.
/// Where the values of the weights are lent, by these; else by the constants of the program.
///
/// Composed weights are made in f64 and rounded once, and |W2 W1| is at most |W2| |W1| element by
/// element: as long as no rounded element leaves the range of f32, the error of the evaluation is
/// within the bound of the program's own rounding. What can be lost is lost at the ends of the
/// range.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H

#include "compiler/Model/Branches/Evaluation.h"
#include "compiler/Parameters/ParameterHash.h"

#include <deque>
#include <memory>
#include <string>

namespace heddle {

/// A constant may be multiplied in another place than it is written if what is between stays within
/// so much.
inline constexpr double largestSpread = 0x1p24;

/// The same of numbers of rows, which are not known, by the sizes of the weights that they pass.
inline constexpr double largestPassed = 0x1p40;

/// Judges evaluations of one module after each other. Reads the tensors of an evaluation one at a
/// time, and keeps few of them.
class EvaluationRange {
public:
  EvaluationRange(const DerivedParameters &parameters, ParameterReader reader)
      : parameters(parameters), reader(std::move(reader)) {}

  /// The first thing that would leave the range; empty if nothing does.
  std::string obstacleOf(const AffineForm &form, const Evaluation &evaluation);

  /// Keeps what obstacleOf() found out about the weights of an evaluation that is taken now, for
  /// evaluations whose weights are made of these.
  void keepTaken(DerivedParameters &derived);

private:
  /// Columns side by side: row major, in f64.
  struct Block {
    int64_t rows = 0;
    int64_t columns = 0;
    std::vector<double> values;
    /// One column of ones.
    bool isOnes = false;
  };
  /// What a weight does with columns: itself, or its elements without their signs.
  enum class Signs { Kept, Dropped };
  using Values = std::shared_ptr<const std::vector<float>>;
  /// A composed weight, the sums of the sizes of its rows, and its values if they were needed.
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
  /// Whether the row sums alone show that no element is too small for f32.
  static bool keepsDigits(const Weight &weight, const Block &sums);
  std::string judgeWeight(const Weight &weight, bool isVector);
  std::optional<Block> judgeAddends(const Weight &weight, std::string &lost);
  std::string judgeElements(Judged &judged, bool isVector);

  /// Nothing where a value is not known.
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
  /// The first parameter of the evaluation that a reader was asked for and did not give.
  mlir::FlatSymbolRefAttr unread;
  std::vector<Judged> judged;
  /// The last tensors that were read, the latest first, and their size.
  std::deque<std::pair<mlir::Attribute, Values>> recent;
  size_t recentSize = 0;
  llvm::DenseMap<mlir::Attribute, Block> storedSums;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATIONRANGE_H
