// SPDX-License-Identifier: Apache-2.0
///
/// The phases of a compilation and its options, shared by the library, heddlec and the pipeline.
/// Does not include headers of LLVM.
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

/// Returns the phase with the given name, if there is one.
constexpr std::optional<Phase> parsePhase(std::string_view name) {
#define HEDDLE_PHASE(Name, text, summary)                                                          \
  if (name == text) {                                                                              \
    return Phase::Name;                                                                            \
  }
#include "Phases.def"
  return std::nullopt;
}

/// Lists all names, for messages.
inline std::string phaseNames() {
  std::string names;
#define HEDDLE_PHASE(Name, text, summary) (names += names.empty() ? "" : ", ") += text;
#include "Phases.def"
  return names;
}

/// The phase before or after another, which must exist. The static analyser cannot see that.
constexpr Phase phaseBefore(Phase phase) { return Phase(static_cast<int>(phase) - 1); } // NOLINT
constexpr Phase phaseAfter(Phase phase) { return Phase(static_cast<int>(phase) + 1); }  // NOLINT

/// Options that determine the binary, and how the program is lowered to it.
struct CompileOptions {
  /// Instruction sets for which the binary has code, for example "x86-64-v3", or "native" for the
  /// best one of this machine. Empty: the default ones, or those of the kernels in a lowered
  /// program. "x86-64-v3:24" stores the matrices of products for that target in panels of 24
  /// columns, for measurements. Results are bitwise the same; if layouts differ between targets,
  /// the binary stores the matrices once per layout.
  std::vector<std::string> targets;
  /// A name that findPrecision() accepts. Empty: f32 or, for a model with quantised files, their
  /// precision.
  std::string precision;
  /// A name that findCachePrecision() accepts. With f32 the caches of a program in text keep their
  /// types.
  std::string cache{f32Precision};
  /// Layers with another precision of weights and products: LAYERS=PRECISION, where LAYERS is a
  /// comma-separated list of patterns, "layer.4,layer.5=int8". A pattern matches every tensor whose
  /// name contains its dotted components consecutively; `*` matches any one component. A matrix
  /// made of several tensors has the highest of their precisions.
  std::vector<std::string> keep;
  /// Layers that share their attention: block sizes by kind, "self:1,5,cross:4,2". Empty: only
  /// attentions that are proved equal are shared.
  std::string sharing;
  /// Disabled passes, by their names in optionalPasses().
  std::vector<std::string> disabledPasses;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_COMPILEOPTIONS_H
