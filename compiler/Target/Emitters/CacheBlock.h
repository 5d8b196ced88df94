// SPDX-License-Identifier: Apache-2.0
///
/// Where a block of a cache has what it keeps (heddle/Abi.h): numbers, or codes with scales.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H

#include "compiler/Target/Emitters/VectorCode.h"
#include "dialects/Dataflow/Dataflow.h"

namespace heddle {

/// The places of a block. A position is counted within its block, an element within its position.
struct CacheBlock {
  CacheBlock() = default;
  explicit CacheBlock(dataflow::CacheType type);

  /// What an element is stored as: a number, or a code of i8.
  mlir::Type element = {};
  /// Elements from one of a position to the next, and from a position to the next.
  int64_t elementStride = 1, positionStride = 1;
  /// Elements of a position that share a scale; 0: they are numbers.
  int64_t group = 0;

  bool hasScales() const { return group != 0; }
  /// The address of an element.
  mlir::Value elementAt(VectorCode &code, mlir::Value block, mlir::Value position,
                        mlir::Value number) const;
  /// The address of the scale of an element, in f32. Keys have those of neighbouring positions side
  /// by side.
  mlir::Value scaleAt(VectorCode &code, mlir::Value block, mlir::Value position,
                      mlir::Value number) const;

private:
  /// Bytes before the first element, and scales from one of a position to the next, and from a
  /// position to the next.
  int64_t firstElement = 0, scaleStride = 1, positionScales = 1;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CACHEBLOCK_H
