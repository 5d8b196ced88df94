// SPDX-License-Identifier: Apache-2.0
///
/// The phases of a compilation and what can be chosen about it: one definition for the library, for
/// heddlec and for the pipeline. Needs no header of LLVM.
#ifndef HEDDLE_COMPILER_COMPILEOPTIONS_H
#define HEDDLE_COMPILER_COMPILEOPTIONS_H

#include <algorithm>
#include <array>
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

/// How weights are stored, and what products compute with.
struct Precision {
  std::string_view name;
  /// One line, for the help.
  std::string_view summary;
  /// Bits of a weight, and how many elements of a row of a matrix share a scale where it is a code;
  /// 0: all.
  unsigned bits = 32;
  int64_t group = 0;
  /// Whether products round rows to what weights are stored as, and multiply that.
  bool narrowsRows = false;
  /// The most capable target that a binary has code for unless somebody chooses: that which has
  /// instructions for the products.
  std::string_view target = "x86-64-v4";
};
inline constexpr std::string_view f32Precision = "f32";
inline constexpr std::string_view int4Precision = "int4";
/// What CompileOptions::precision may be.
inline constexpr Precision precisions[] = {
    {f32Precision, "weights and arithmetic in f32"},
    {"bf16-weights", "weights stored in bf16, half of the file; arithmetic in f32", 16},
    {"int8-weights",
     "weights stored in 8 bits with scales, a quarter of the file; arithmetic in f32", 8, 64},
    {"bf16", "weights in bf16, products of bf16 with sums in f32", 16, 0, true, "x86-64-v4-bf16"},
    {"int8", "weights in 8 bits with a scale a row, products of integers", 8, 0, true,
     "x86-64-v4-vnni"},
    {"int8-g128", "the same with a scale for every 128 elements, nearer to f32", 8, 128, true,
     "x86-64-v4-vnni"},
    {int4Precision,
     "matrices in 4 bits with a scale and a zero for every 32 elements, or N of int4-gN, tables in "
     "8; products of integers",
     4, 32, true, "x86-64-v4-vnni"},
};

/// The precision of that name: one of `precisions`, or "int4-g64", whose groups have another number
/// of elements than those of int4: a multiple of 8 up to 65,536. None if there is none.
constexpr std::optional<Precision> findPrecision(std::string_view name) {
  for (const Precision &precision : precisions) {
    if (precision.name == name) {
      return precision;
    }
  }
  constexpr std::string_view grouped = "int4-g";
  constexpr size_t mostDigits = 5;
  constexpr int64_t codesInWord = 8, mostInGroup = 65536;
  const std::string_view digits = name.substr(std::min(name.size(), grouped.size()));
  if (!name.starts_with(grouped) || digits.empty() || digits.size() > mostDigits ||
      digits.front() == '0') {
    return std::nullopt;
  }
  Precision precision = *findPrecision(int4Precision);
  precision.name = name;
  precision.group = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') {
      return std::nullopt;
    }
    precision.group = 10 * precision.group + (digit - '0');
  }
  const bool isValid = precision.group % codesInWord == 0 && precision.group <= mostInGroup;
  return isValid ? std::optional(precision) : std::nullopt;
}

/// What a binary has code for unless somebody chooses, the least capable first.
constexpr std::array<std::string_view, 2> defaultTargetsOf(const Precision &precision) {
  return {"x86-64-v3", precision.target};
}

/// What the binary is to be, and how the program is taken there.
struct CompileOptions {
  /// Instruction sets that the binary has code for, "x86-64-v3" for example, or "native" for the
  /// best one of this machine. Empty: the default ones, or those of the kernels that a program in
  /// text already has. "x86-64-v3:24" stores the matrices of products for that target in panels of
  /// 24 columns, for measurements; results do not change by a bit, and where targets differ the
  /// binary has the matrices once for each.
  std::vector<std::string> targets;
  /// A name that findPrecision() knows.
  std::string precision{f32Precision};
  /// Layers that are to share their attention: sizes of blocks by kind, "self:1,5,cross:4,2".
  /// Empty: only those that are proved equal.
  std::string sharing;
  /// Passes left out, by the names of optionalPasses().
  std::vector<std::string> disabledPasses;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_COMPILEOPTIONS_H
