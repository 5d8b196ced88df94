// SPDX-License-Identifier: Apache-2.0
///
/// The layout of a cache block (heddle/Abi.h): numbers, or codes with scales.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H

#include "compiler/Target/Emitters/VectorCode.h"
#include "dialects/Dataflow/Dataflow.h"

namespace heddle {

/// Addresses in a block. Positions are relative to the block, elements to their position.
struct CacheBlock {
  CacheBlock() = default;
  explicit CacheBlock(dataflow::CacheType type);

  /// The stored type of an element: a float type, or i8 for codes.
  mlir::Type element = {};
  /// The distance between consecutive elements of a position, and between positions, in elements.
  int64_t elementStride = 1, positionStride = 1;
  /// The distance between the scales of consecutive positions, in scales.
  int64_t positionScales = 1;
  /// The number of elements of a position that share a scale; 0 for caches without codes.
  int64_t group = 0;

  bool hasScales() const { return group != 0; }
  /// Returns the address of an element.
  mlir::Value elementAt(VectorCode &code, mlir::Value block, mlir::Value position,
                        mlir::Value number) const;
  /// Returns the address of the scale of an element, in f32. For keys, scales of adjacent positions
  /// are adjacent.
  mlir::Value scaleAt(VectorCode &code, mlir::Value block, mlir::Value position,
                      mlir::Value number) const;

private:
  /// Bytes before the first element, and the distance between consecutive scales of a position, in
  /// scales.
  int64_t firstElement = 0, scaleStride = 1;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H
