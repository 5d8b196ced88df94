// SPDX-License-Identifier: Apache-2.0
///
/// The instruction sets that code for processors is compiled for, and which of them this machine
/// has. The compiler picks from them, the runtime loads by them and the roofline measures them.
#ifndef HEDDLE_BASE_PROCESSORTARGETS_H
#define HEDDLE_BASE_PROCESSORTARGETS_H

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

/// Levels of x86-64 (System V psABI, "Micro-Architecture Levels") and extensions for products of
/// few bits. A processor that has one of them has all before it.
enum class InstructionSet : uint8_t {
  Baseline,
  V2,
  /// x86-64-v3.
  Avx2,
  /// x86-64-v4.
  Avx512,
  /// vpdpbusd: products of four 8-bit integers.
  Vnni,
  /// vdpbf16ps: products of two bf16 numbers.
  Bf16,
  /// Tile registers, for products of bf16 and of 8-bit integers.
  Amx,
};

/// A target whose code runs on a processor.
struct ProcessorTarget {
  std::string_view name;
  InstructionSet newest;

  /// Whether the target's code may use these instructions.
  bool has(InstructionSet instructions) const { return newest >= instructions; }
  /// Whether this processor has the target's instructions and the operating system lets the process
  /// use them. Linux is asked for the tile registers of AMX, which enables them for the process.
  bool isPresent() const;
};

/// All targets, the one with the most instructions first. Empty except on x86-64.
std::span<const ProcessorTarget> processorTargets();

/// Returns null if no processor target has the name.
const ProcessorTarget *findProcessorTarget(std::string_view name);

} // namespace heddle

#endif // HEDDLE_BASE_PROCESSORTARGETS_H
