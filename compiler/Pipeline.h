// SPDX-License-Identifier: Apache-2.0
///
/// The passes of each phase, in order. Nothing else orders passes.
#ifndef HEDDLE_COMPILER_PIPELINE_H
#define HEDDLE_COMPILER_PIPELINE_H

#include "compiler/CompileOptions.h"
#include "compiler/Parameters/ParameterHash.h"

#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class MLIRContext;
class OpPassManager;
} // namespace mlir

namespace heddle {

/// What the passes of a compilation are made with.
struct PipelineOptions : CompileOptions {
  /// Reads parameters for the passes that compare them; may be empty.
  ParameterHasher hasher;
  /// Reads parameters for the passes that judge what is made of them; may be empty.
  ParameterReader reader;
  /// Whether the model's files say that products quantise rows.
  bool quantisesRows = false;
  /// Whether codes of weights are chosen by the rows that they are multiplied with.
  bool compensates = false;
  /// The rows of products that become results, by their numbers (compiler/Dataflow/ProductRows.h).
  std::vector<int64_t> observedRows;

  /// The precision that the request and the files ask for.
  Precision chosenPrecision() const { return *findPrecision(precision, quantisesRows); }
};

/// The precisions that weights of the program have: its own, and those that layers are kept in.
std::vector<Precision> precisionsOf(const PipelineOptions &options);

/// What a binary has code for unless somebody chooses, the least capable first: what every one has,
/// and what has instructions for the products of each precision that weights have.
std::vector<std::string> defaultTargets(const PipelineOptions &options);

/// The phase of one of optionalPasses().
Phase phaseOfPass(std::string_view optionalPass);

/// Adds the passes that lead from the phase before `phase` to it. Phases after `llvm` are written
/// by the linker and have none.
void buildPhase(mlir::OpPassManager &manager, Phase phase, const PipelineOptions &options);

/// Registers every dialect and translation a compilation uses.
void registerDialects(mlir::MLIRContext &context);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINE_H
