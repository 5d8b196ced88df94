// SPDX-License-Identifier: Apache-2.0
///
/// The codes of a row's elements in integer products, as the description of #dataflow.contract
/// defines them. All targets compute them with this code, so they give the same bits.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_ROWQUANTIZER_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_ROWQUANTIZER_H

#include "compiler/Target/Emitters/VectorCode.h"

namespace heddle {

/// The largest code of a row that has no sign, and of one that has.
inline constexpr int64_t kLargestCode = 255, kLargestSigned = 127;

/// Quantises elements that share a scale.
struct RowQuantizer {
  /// The scale, in f32: NaN if an element is infinite or NaN.
  mlir::Value scale;
  /// The inverse of the scale in every lane; zero if it may be infinite.
  mlir::Value inverses;
  /// The code of zero in every lane, in i32; null if codes are signed.
  mlir::Value zeros = {};

  /// Returns the quantiser for unsigned codes. `below` is the magnitude of the smallest element, or
  /// 0 if that is larger; `largest` the largest element, or 0; `finite` is zero, or NaN if an
  /// element is infinite or NaN. All are in f32.
  static RowQuantizer withoutSign(VectorCode &code, mlir::Value below, mlir::Value largest,
                                  mlir::Value finite);
  /// Returns the quantiser for signed codes; `magnitude` is the largest magnitude.
  static RowQuantizer withSign(VectorCode &code, mlir::Value magnitude, mlir::Value finite);

  /// Returns the codes of a vector of elements, in i32. Those of NaN are arbitrary.
  mlir::Value codesOf(VectorCode &code, mlir::Value elements) const;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_ROWQUANTIZER_H
