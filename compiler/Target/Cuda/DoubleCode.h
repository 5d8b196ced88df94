// SPDX-License-Identifier: Apache-2.0
///
/// Emits arithmetic in double precision and on words of 64 bits: the operations of
/// heddle/DoubleMath.h, and others. Without fast-math flags nothing is contracted.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_DOUBLECODE_H
#define HEDDLE_COMPILER_TARGET_CUDA_DOUBLECODE_H

#include "compiler/Target/Emitters/VectorCode.h"
#include "heddle/DoubleMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace heddle {

class DoubleCode {
public:
  using Number = mlir::Value;
  using Word = mlir::Value;

  explicit DoubleCode(VectorCode &code) : f64(code.builder.getF64Type()), code(code) {}

  const mlir::Type f64;

  // --- numbers --------------------------------------------------------------------------------
  Number number(double value) {
    return create<mlir::arith::ConstantOp>(code.builder.getF64FloatAttr(value));
  }
  Number add(Number a, Number b) { return create<mlir::arith::AddFOp>(a, b); }
  Number subtract(Number a, Number b) { return create<mlir::arith::SubFOp>(a, b); }
  Number multiply(Number a, Number b) { return create<mlir::arith::MulFOp>(a, b); }
  Number divide(Number a, Number b) { return create<mlir::arith::DivFOp>(a, b); }
  mlir::Value less(Number a, Number b) { return compare(mlir::arith::CmpFPredicate::OLT, a, b); }
  mlir::Value equal(Number a, Number b) { return compare(mlir::arith::CmpFPredicate::OEQ, a, b); }
  mlir::Value isNan(Number a) { return compare(mlir::arith::CmpFPredicate::UNO, a, a); }
  Number select(mlir::Value condition, Number a, Number b) { return code.select(condition, a, b); }
  /// Converts an f32.
  Number widen(mlir::Value narrow) { return create<mlir::arith::ExtFOp>(f64, narrow); }
  Number exponential(Number x) { return DoubleMath(*this).exponential(x); }
  Number logarithm(Number x) { return DoubleMath(*this).logarithm(x); }

  // --- words ----------------------------------------------------------------------------------
  Word word(int64_t value) { return code.integer(value); }
  Word bitsOf(Number value) { return create<mlir::arith::BitcastOp>(code.i64, value); }
  Number ofBits(Word bits) { return create<mlir::arith::BitcastOp>(f64, bits); }
  Word addWords(Word a, Word b) { return code.add(a, b); }
  Word subtractWords(Word a, Word b) { return code.subtract(a, b); }
  Word shiftLeft(Word a, Word bits) { return create<mlir::arith::ShLIOp>(a, bits); }
  Word shiftLeft(Word a, int64_t bits) { return shiftLeft(a, word(bits)); }
  Word shiftRight(Word a, int64_t bits) { return create<mlir::arith::ShRSIOp>(a, word(bits)); }
  Word bitAnd(Word a, Word b) { return create<mlir::arith::AndIOp>(a, b); }
  Word bitAnd(Word a, int64_t bits) { return bitAnd(a, word(bits)); }
  Word bitOr(Word a, Word b) { return create<mlir::arith::OrIOp>(a, b); }
  /// Converts between these and i32, whose sign is kept.
  mlir::Value narrowed(Word number) { return create<mlir::arith::TruncIOp>(code.i32, number); }
  Word widened(mlir::Value narrow) { return create<mlir::arith::ExtSIOp>(code.i64, narrow); }

  // --- truth ----------------------------------------------------------------------------------
  mlir::Value truth(bool value) {
    return create<mlir::arith::ConstantOp>(code.builder.getBoolAttr(value));
  }
  mlir::Value either(mlir::Value a, mlir::Value b) { return create<mlir::arith::OrIOp>(a, b); }
  mlir::Value isNot(mlir::Value condition) {
    return create<mlir::arith::XOrIOp>(condition, truth(true));
  }
  /// Returns 1 or 0.
  Word count(mlir::Value condition) { return create<mlir::arith::ExtUIOp>(code.i64, condition); }

private:
  template <typename Op, typename... Arguments> mlir::Value create(Arguments &&...arguments) {
    return Op::create(code.builder, code.location, std::forward<Arguments>(arguments)...);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, Number a, Number b) {
    return create<mlir::arith::CmpFOp>(predicate, a, b);
  }

  VectorCode &code;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_DOUBLECODE_H
