// SPDX-License-Identifier: Apache-2.0
///
/// What code generation needs to know of a machine: registers, lanes, cache sizes, and the names
/// LLVM has for it. Emitters ask this description and never the name of a target.
#ifndef HEDDLE_COMPILER_TARGET_H
#define HEDDLE_COMPILER_TARGET_H

#include "heddle/ElementType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace heddle {

/// One target level of the compiler.
struct TargetDescription {
  /// As --target, the manifest and `heddle --isa` name it.
  llvm::StringRef name;
  /// LLVM's triple and processor.
  llvm::StringRef triple;
  llvm::StringRef processor;
  /// f32 lanes of a vector register.
  int64_t lanes;
  /// The register tile of a matrix product: rows times vectors of accumulators. One register is
  /// left for a broadcast element and `tileVectors` for the weights.
  int64_t tileRows;
  int64_t tileVectors;
  /// Columns of the panels in which a matrix of a product lies: panels of [k][panelColumns], zero
  /// beyond the last column. Every target of one binary has the same.
  int64_t panelColumns;
  /// Whether x * 2^n is one instruction, at any n (AVX-512's vscalefps).
  bool hasScale;
  /// Bytes of second-level cache a core may be assumed to have.
  int64_t cacheBytes;
  /// The element types in which its code reads weights that may be stored in another than f32, and
  /// those of caches that it reads and writes.
  llvm::ArrayRef<ElementType> weightElements;
  llvm::ArrayRef<ElementType> cacheElements;
};

/// Every target, the least capable first.
llvm::ArrayRef<TargetDescription> allTargets();

/// The target of that name, or null.
const TargetDescription *findTarget(llvm::StringRef name);

/// The names of all targets, for messages: "x86-64-v3, x86-64-v4".
std::string targetNames();

/// The most capable target this machine can run, or null when it can run none.
const TargetDescription *nativeTarget();

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_H
