// SPDX-License-Identifier: Apache-2.0
///
/// The precisions of weights, products and caches: one table for the library, for heddlec and for
/// the passes that implement them. Does not include headers of LLVM.
#ifndef HEDDLE_COMPILER_PARAMETERS_PRECISION_H
#define HEDDLE_COMPILER_PARAMETERS_PRECISION_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle {

/// How exactly f32 products are computed, the most exact first. Targets with matrix units for
/// rounded numbers may use them for the inexact kinds; all other targets compute in f32.
enum class FloatProducts : uint8_t {
  /// Every product is an f32 product.
  Exact,
  /// Each factor is split into two tf32 numbers with 11-bit significands: three products.
  Tf32x3,
  /// Factors are rounded to tf32.
  Tf32,
  /// Factors are rounded to bf16, with 8-bit significands.
  Bf16
};

/// How weights are stored, and in which type products are computed.
struct Precision {
  std::string_view name;
  /// One line, for the help.
  std::string_view summary;
  /// Bits of a weight and, for codes, how many elements of a matrix row share a scale; 0: the whole
  /// row.
  unsigned bits = 32;
  int64_t group = 0;
  /// Whether products round rows to the type of the weights and compute in that type.
  bool narrowsRows = false;
  /// The most capable default target of a binary: the one with instructions for the products.
  std::string_view target = "x86-64-v4";
  /// Whether weights that are quantised in the model's files keep their codes; all others are
  /// stored in `bits`.
  bool keepsCodes = false;
  /// How products with f32 weights may be computed.
  FloatProducts products = FloatProducts::Exact;
  /// How products of rows with rows, those of attention, may be computed.
  FloatProducts attention = FloatProducts::Exact;
  /// An additional default target with tile units for the products; empty: none.
  std::string_view tileTarget = {};

  /// Returns whether a target is a default target of a binary.
  constexpr bool isFor(std::string_view name) const {
    return name == target || (!tileTarget.empty() && name == tileTarget);
  }
};

/// The baseline target, which every binary has by default.
inline constexpr std::string_view leastTarget = "x86-64-v3";
/// The target with tile units for products of bf16 and of 8-bit integers.
inline constexpr std::string_view amxTarget = "x86-64-v4-amx";

inline constexpr std::string_view f32Precision = "f32";
inline constexpr std::string_view int4Precision = "int4";
/// The values of CompileOptions::precision.
inline constexpr Precision precisions[] = {
    {f32Precision, "weights and arithmetic in f32"},
    {"tf32x3", "f32, products on tensor cores of GPUs: each of three of tf32, near to f32", 32, 0,
     false, "sm_80", false, FloatProducts::Tf32x3, FloatProducts::Tf32x3},
    {"tf32", "f32, products on tensor cores of GPUs: factors rounded to tf32, 11 bits", 32, 0,
     false, "sm_80", false, FloatProducts::Tf32, FloatProducts::Tf32},
    {"bf16-weights", "weights stored in bf16, half of the file; arithmetic in f32", 16},
    {"int8-weights",
     "weights stored in 8 bits with scales, a quarter of the file; arithmetic in f32", 8, 64},
    {"bf16", "weights in bf16, products of bf16 with sums in f32", 16, 0, true, "x86-64-v4-bf16",
     false, FloatProducts::Exact, FloatProducts::Bf16, amxTarget},
    {"int8", "weights in 8 bits with a scale a row, products of integers", 8, 0, true,
     "x86-64-v4-vnni", false, FloatProducts::Exact, FloatProducts::Exact, amxTarget},
    {"int8-g128", "the same with a scale for every 128 elements, nearer to f32", 8, 128, true,
     "x86-64-v4-vnni", false, FloatProducts::Exact, FloatProducts::Exact, amxTarget},
    {int4Precision,
     "matrices in 4 bits with a scale and a zero for every 32 elements, or N of int4-gN, tables in "
     "8; products of integers",
     4, 32, true, "x86-64-v4-vnni"},
};

/// Returns the default precision: codes of the files are kept, and all other weights are f32.
/// Products quantise rows to 8 bits if the files request it.
constexpr Precision precisionOfFiles(bool quantisesRows) {
  Precision precision{.name = "", .summary = "as the model's files say", .keepsCodes = true};
  if (quantisesRows) {
    precision.narrowsRows = true;
    precision.target = "x86-64-v4-vnni";
    precision.tileTarget = amxTarget;
  }
  return precision;
}

/// Returns the precision with a name: for an empty name that of the files, which may quantise rows;
/// one of `precisions`; or "int4-g64", int4 with another group size: a multiple of 8 up to 65,536.
/// Returns nothing for other names.
constexpr std::optional<Precision> findPrecision(std::string_view name,
                                                 bool filesQuantiseRows = false) {
  if (name.empty()) {
    return precisionOfFiles(filesQuantiseRows);
  }
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

/// Returns whether weights lose less in one precision than in another: it has more bits, or does
/// not narrow rows, or multiplies more exactly, or has smaller groups.
constexpr bool isFiner(const Precision &a, const Precision &b) {
  if (a.bits != b.bits || a.narrowsRows != b.narrowsRows) {
    return a.bits != b.bits ? a.bits > b.bits : b.narrowsRows;
  }
  if (a.products != b.products) {
    return a.products < b.products;
  }
  return a.group != 0 && (b.group == 0 || a.group < b.group);
}

/// Returns whether both lose the same, under any names: int4 and int4-g32.
constexpr bool isAsFine(const Precision &a, const Precision &b) {
  return !isFiner(a, b) && !isFiner(b, a);
}

/// Returns its name in messages; that of the files has no name of its own.
constexpr std::string_view shownName(const Precision &precision) {
  return precision.name.empty() ? "that of its files" : precision.name;
}

/// How caches store the rows of earlier runs.
struct CachePrecision {
  std::string_view name;
  /// One line, for the help.
  std::string_view summary;
  /// Bits of an element.
  unsigned bits;
};
/// The values of CompileOptions::cache.
inline constexpr CachePrecision cachePrecisions[] = {
    {f32Precision, "keys and values as they are computed", 32},
    {"bf16", "keys and values rounded to bf16, half of the memory; arithmetic in f32", 16},
    {"int8", "the same in 8 bits, with a scale for each head and position", 8},
};

/// Returns the one with a name; nothing if there is none.
constexpr std::optional<CachePrecision> findCachePrecision(std::string_view name) {
  for (const CachePrecision &cache : cachePrecisions) {
    if (cache.name == name) {
      return cache;
    }
  }
  return std::nullopt;
}

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_PRECISION_H
