// SPDX-License-Identifier: Apache-2.0
///
/// The phases of a compilation and what can be chosen about it: one definition for the library, for
/// heddlec and for the pipeline. Needs no header of LLVM.
#ifndef HEDDLE_COMPILER_COMPILEOPTIONS_H
#define HEDDLE_COMPILER_COMPILEOPTIONS_H

#include "Parameters/Precision.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The phases, in order.
enum class Phase : uint8_t {
#define HEDDLE_PHASE(Name, text, summary) Name,
#include "Phases.def"
};

/// "model", "fused", ...
constexpr std::string_view phaseName(Phase phase) {
  switch (phase) {
#define HEDDLE_PHASE(Name, text, summary)                                                          \
  case Phase::Name:                                                                                \
    return text;
#include "Phases.def"
  }
  return "unknown";
}

/// The phase of that name, if there is one.
constexpr std::optional<Phase> parsePhase(std::string_view name) {
#define HEDDLE_PHASE(Name, text, summary)                                                          \
  if (name == text) {                                                                              \
    return Phase::Name;                                                                            \
  }
#include "Phases.def"
  return std::nullopt;
}

/// All names, for messages.
inline std::string phaseNames() {
  std::string names;
#define HEDDLE_PHASE(Name, text, summary) (names += names.empty() ? "" : ", ") += text;
#include "Phases.def"
  return names;
}

/// The phase before or after another; there must be one, and the analyser cannot see that there is.
constexpr Phase phaseBefore(Phase phase) { return Phase(static_cast<int>(phase) - 1); } // NOLINT
constexpr Phase phaseAfter(Phase phase) { return Phase(static_cast<int>(phase) + 1); }  // NOLINT

/// What the binary is to be, and how the program is taken there.
struct CompileOptions {
  /// Instruction sets that the binary has code for, "x86-64-v3" for example, or "native" for the
  /// best one of this machine. Empty: the default ones, or those of the kernels that a program in
  /// text already has. "x86-64-v3:24" stores the matrices of products for that target in panels of
  /// 24 columns, for measurements; results do not change by a bit, and where targets differ the
  /// binary has the matrices once for each.
  std::vector<std::string> targets;
  /// A name that findPrecision() knows. Empty: f32 or, for a model whose files have codes, theirs.
  std::string precision;
  /// A name that findCachePrecision() knows. With f32 the caches of a program in text stay what it
  /// says they are.
  std::string cache{f32Precision};
  /// Layers whose weights, and products with them, have another precision: LAYERS=PRECISION, where
  /// LAYERS is one pattern or several with commas between, "layer.4,layer.5=int8". A pattern
  /// matches every tensor whose name has its dotted parts side by side, each whole; `*` is any one
  /// part. A matrix that is made of several tensors has the finest of their precisions.
  std::vector<std::string> keep;
  /// Layers that are to share their attention: sizes of blocks by kind, "self:1,5,cross:4,2".
  /// Empty: only those that are proved equal.
  std::string sharing;
  /// Passes left out, by the names of optionalPasses().
  std::vector<std::string> disabledPasses;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_COMPILEOPTIONS_H
