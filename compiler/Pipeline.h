// SPDX-License-Identifier: Apache-2.0
///
/// The phases of a compilation and the passes of each, in order. Nothing else orders passes.
#ifndef HEDDLE_COMPILER_PIPELINE_H
#define HEDDLE_COMPILER_PIPELINE_H

#include "compiler/Model/Parameters/ParameterHash.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class OpPassManager;
} // namespace mlir

namespace heddle {

/// The phases, in order; --emit, --stop-after and --start-at use these names.
enum class Phase {
#define HEDDLE_PHASE(Name, text, summary) Name,
#include "compiler/Phases.def"
};

/// "model", "fused", ...
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// All names, for messages.
std::string phaseNames();

/// Weights stored in bf16, arithmetic in f32.
inline constexpr llvm::StringLiteral bf16Weights = "bf16-weights";
/// What --precision knows.
inline constexpr llvm::StringLiteral precisions[] = {"f32", bf16Weights};

/// How a model is compiled: parsed once by the tool, read by everything else.
struct CompileOptions {
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  std::string precision = "f32";
  /// Attention to be shared between layers, as SharingPolicy.h has it; empty: none.
  std::string sharing;
  /// Reads parameters for the passes that compare them; may be empty.
  ParameterHasher hasher;
  /// Reads parameters for the passes that judge what is made of them; may be empty.
  ParameterReader reader;
  /// Passes left out, by the name of --disable-pass.
  std::vector<std::string> disabledPasses;

  bool isEnabled(llvm::StringRef pass) const;
};

/// The names --disable-pass knows, in pipeline order.
std::vector<std::string> optionalPasses();
/// The phase of one of them.
Phase phaseOfPass(llvm::StringRef optionalPass);

/// Adds the passes that lead from the phase before `phase` to it. Phases after `llvm` are written
/// by the linker and have none.
void buildPhase(mlir::OpPassManager &manager, Phase phase, const CompileOptions &options);

/// Registers every dialect and translation a compilation uses.
void registerDialects(mlir::MLIRContext &context);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINE_H
