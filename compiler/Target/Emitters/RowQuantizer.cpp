// SPDX-License-Identifier: Apache-2.0
///
/// Computes scales with one division each, and rounds to nearest, ties to even.
#include "compiler/Target/Emitters/RowQuantizer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;

namespace heddle {

static VectorType words(const VectorCode &code) { return VectorType::get({code.lanes}, code.i32); }

static Value splat(VectorCode &code, int32_t value) {
  return arith::ConstantOp::create(code.builder, code.location,
                                   DenseElementsAttr::get(words(code), value));
}

/// Rounds numbers between -2^22 and 2^22 to integers, ties to even. The result for NaN is
/// arbitrary.
static Value nearest(VectorCode &code, Value numbers) {
  auto call = [&](StringRef intrinsic, ValueRange arguments) -> Value {
    return LLVM::CallIntrinsicOp::create(code.builder, code.location, words(code),
                                         code.builder.getStringAttr(intrinsic), arguments)
        .getResults();
  };
  if (code.target.integerProducts == IntegerProducts::Single) {
    // Adding 1.5 * 2^23 leaves the integer in the low bits, rounded as sums are.
    constexpr float magic = 12582912.0f;
    Value shifted = code.addFloat(numbers, code.splat(magic));
    Value bits = LLVM::BitcastOp::create(code.builder, code.location, words(code), shifted);
    return arith::SubIOp::create(code.builder, code.location, bits,
                                 splat(code, llvm::bit_cast<int32_t>(magic)));
  }
  if (code.lanes == 8) {
    return call("llvm.x86.avx.cvt.ps2dq.256", {numbers});
  }
  constexpr int32_t asTheProcessorRounds = 4;
  Value all =
      arith::ConstantOp::create(code.builder, code.location, code.builder.getI16IntegerAttr(-1));
  Value rounding = arith::ConstantOp::create(code.builder, code.location,
                                             code.builder.getI32IntegerAttr(asTheProcessorRounds));
  return call("llvm.x86.avx512.mask.cvtps2dq.512", {numbers, splat(code, 0), all, rounding});
}

namespace {
/// A scale and its inverse. Both are zero if the scale is so small that its inverse may be
/// infinite.
struct ScaleAndInverse {
  Value scale, inverse;

  static ScaleAndInverse of(VectorCode &code, Value scale) {
    Value isZero = arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::OLT,
                                         scale, code.number(std::numeric_limits<float>::min()));
    Value inverse = code.divideFloat(code.number(1), scale);
    return {code.select(isZero, code.number(0), scale),
            code.select(isZero, code.number(0), inverse)};
  }
};
} // namespace

RowQuantizer RowQuantizer::withoutSign(VectorCode &code, Value below, Value largest, Value finite) {
  Value codes = code.number(kLargestCode);
  const auto [scale, inverse] = ScaleAndInverse::of(
      code, code.addFloat(code.divideFloat(largest, codes), code.divideFloat(below, codes)));
  return {code.addFloat(scale, finite), code.broadcast(inverse),
          nearest(code, code.broadcast(code.multiplyFloat(below, inverse)))};
}

RowQuantizer RowQuantizer::withSign(VectorCode &code, Value magnitude, Value finite) {
  const auto [scale, inverse] =
      ScaleAndInverse::of(code, code.divideFloat(magnitude, code.number(kLargestSigned)));
  return {code.addFloat(scale, finite), code.broadcast(inverse)};
}

Value RowQuantizer::codesOf(VectorCode &code, Value elements) const {
  Value number = nearest(code, code.multiplyFloat(elements, inverses));
  if (zeros) {
    number = arith::AddIOp::create(code.builder, code.location, number, zeros);
  }
  const int64_t lowest = zeros ? 0 : -kLargestSigned;
  const int64_t highest = zeros ? kLargestCode : kLargestSigned;
  number = arith::MaxSIOp::create(code.builder, code.location, number,
                                  splat(code, static_cast<int32_t>(lowest)));
  return arith::MinSIOp::create(code.builder, code.location, number,
                                splat(code, static_cast<int32_t>(highest)));
}

} // namespace heddle
