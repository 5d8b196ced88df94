// SPDX-License-Identifier: Apache-2.0
///
/// Builds the passes of each phase, in order. The order of passes is defined here only.
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

/// Everything that determines the passes of a compilation.
struct PipelineOptions : CompileOptions {
  /// Reads parameters for passes that compare them; may be empty.
  ParameterHasher hasher;
  /// Reads parameters for passes that check the range of derived weights; may be empty.
  ParameterReader reader;
  /// Whether the model's files request quantised rows in products.
  bool quantisesRows = false;
  /// Whether codes of weights are chosen with the rows that multiply them.
  bool compensates = false;
  /// The rows of products that become results, by index (compiler/Dataflow/ProductRows.h).
  std::vector<int64_t> observedRows;

  /// Returns the precision that the request and the files ask for.
  Precision chosenPrecision() const { return *findPrecision(precision, quantisesRows); }
};

/// Returns the precisions of the program's weights: the chosen one, and those of kept layers.
std::vector<Precision> precisionsOf(const PipelineOptions &options);

/// Returns the targets of a binary if the user chooses none, the least capable first: the baseline,
/// and those with instructions for the products of each precision.
std::vector<std::string> defaultTargets(const PipelineOptions &options);

/// Returns the phase of a pass in optionalPasses().
Phase phaseOfPass(std::string_view optionalPass);

/// Adds the passes that lower from the phase before `phase` to it. Phases after `llvm` are written
/// by the linker and have no passes.
void buildPhase(mlir::OpPassManager &manager, Phase phase, const PipelineOptions &options);

/// Returns whether the program is verified after every pass of a phase, instead of once. Kernels
/// are large, and emitters write them, not users: only builds with assertions look for errors of
/// each pass.
bool verifiesEveryPass(Phase phase);

/// Registers every dialect and translation that a compilation uses.
void registerDialects(mlir::MLIRContext &context);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINE_H
