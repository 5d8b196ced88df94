// SPDX-License-Identifier: Apache-2.0
///
/// Expands functions of f32 scalars and vectors to arithmetic, with at most 4 ulp of error over the
/// whole range; arithmeticOf() lists them. Polynomials are minimax fits made for this file with
/// 40-digit arithmetic (Lawson iteration on Chebyshev nodes) of the functions named beside them.
///
/// Before:
///   %y = math.exp2 %x : vector<16xf32>
/// After:
///   rounding to n + f with f in [-1/2, 1/2], a polynomial in f, a scaling by 2^n
///
/// Tested by tests/compiler/Target/expand-math.mlir and tests/EndToEnd/MathFunctionsTest.cpp.
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <limits>

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Passes.h.inc"

namespace {
/// Arithmetic on values of one type, f32, f64, or a vector of them.
struct Arithmetic {
  OpBuilder &builder;
  Location location;
  Type type;
  bool hasScale;

  Type integers() const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(builder.getI32Type())) : Type(builder.getI32Type());
  }
  /// Returns a constant, which must be exact in the type.
  Value number(double value) const {
    FloatAttr attribute = builder.getFloatAttr(getElementTypeOrSelf(type), value);
    auto vector = dyn_cast<VectorType>(type);
    return arith::ConstantOp::create(
        builder, location, type,
        vector ? TypedAttr(DenseElementsAttr::get(vector, Attribute(attribute)))
               : TypedAttr(attribute));
  }
  Value integer(int32_t value) const {
    auto vector = dyn_cast<VectorType>(integers());
    TypedAttr attribute = vector ? TypedAttr(DenseElementsAttr::get(vector, value))
                                 : TypedAttr(builder.getI32IntegerAttr(value));
    return arith::ConstantOp::create(builder, location, integers(), attribute);
  }
  Value add(Value a, Value b) const { return arith::AddFOp::create(builder, location, a, b); }
  Value subtract(Value a, Value b) const { return arith::SubFOp::create(builder, location, a, b); }
  Value multiply(Value a, Value b) const { return arith::MulFOp::create(builder, location, a, b); }
  Value divide(Value a, Value b) const { return arith::DivFOp::create(builder, location, a, b); }
  Value fma(Value a, Value b, Value c) const {
    return math::FmaOp::create(builder, location, a, b, c);
  }
  Value less(Value a, Value b) const {
    return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) const {
    return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, location, condition, a, b);
  }
  /// Bound a value; NaN stays NaN.
  Value atMost(Value a, float bound) const {
    return select(less(number(bound), a), number(bound), a);
  }
  Value atLeast(Value a, float bound) const {
    return select(less(a, number(bound)), number(bound), a);
  }
  Value absolute(Value a) const { return math::AbsFOp::create(builder, location, a); }
  Value copySign(Value a, Value sign) const {
    return math::CopySignOp::create(builder, location, a, sign);
  }
  Value bits(Value a) const { return arith::BitcastOp::create(builder, location, integers(), a); }
  Value fromBits(Value a) const { return arith::BitcastOp::create(builder, location, type, a); }
  Value addBits(Value a, Value b) const { return arith::AddIOp::create(builder, location, a, b); }
  Value subtractBits(Value a, Value b) const {
    return arith::SubIOp::create(builder, location, a, b);
  }
  Value shiftLeft(Value a, int32_t by) const {
    return arith::ShLIOp::create(builder, location, a, integer(by));
  }
  /// An arithmetic shift.
  Value shiftRight(Value a, int32_t by) const {
    return arith::ShRSIOp::create(builder, location, a, integer(by));
  }
  Value andBits(Value a, int32_t mask) const {
    return arith::AndIOp::create(builder, location, a, integer(mask));
  }
  /// Flips the sign of a number if the highest bit of `sign` is set.
  Value flipSign(Value a, Value sign) const {
    Value flipped = arith::XOrIOp::create(builder, location, bits(a), andBits(sign, kSignBit));
    return fromBits(flipped);
  }
  static constexpr int32_t kSignBit = std::numeric_limits<int32_t>::min();
  /// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
  Value polynomial(Value x, ArrayRef<float> coefficients) const {
    Value sum = number(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back())) {
      sum = fma(sum, x, number(coefficient));
    }
    return sum;
  }
};

/// x split into n, an integer, and f = x - n in [-1/2, 1/2]; n also as an integer whose low bits
/// are correct (the others are those of the rounding constant). Needs |x| < 2^22.
struct Rounded {
  Value whole, rest, lowBits;
};
} // namespace

// 1.5 * 2^23: adding it leaves the rounded integer in the low bits of the sum.
static constexpr float kRoundingConstant = 12582912.0f;

static Rounded roundToWhole(const Arithmetic &a, Value x) {
  Value magic = a.number(kRoundingConstant);
  Value shifted = a.add(x, magic);
  Value whole = a.subtract(shifted, magic);
  return {whole, a.subtract(x, whole), a.bits(shifted)};
}

// 2^f for f in [-1/2, 1/2].
static Value exp2OfFraction(const Arithmetic &a, Value f) {
  static const float coefficients[] = {1.0f,
                                       0.6931471824645996f,
                                       0.24022647738456726f,
                                       0.05550336837768555f,
                                       0.009618443436920643f,
                                       0.0013397530419752002f,
                                       0.00015350071771536022f};
  return a.polynomial(f, coefficients);
}

// Returns whether the type is supported by AVX-512's instructions on exponents.
static bool isScalable(const Arithmetic &a) {
  auto vector = dyn_cast<VectorType>(a.type);
  return a.hasScale && vector && vector.getNumElements() == 16;
}

static Value callIntrinsic(const Arithmetic &a, StringRef name, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(a.builder, a.location, a.type, a.builder.getStringAttr(name),
                                       arguments)
      .getResult(0);
}

static Value maskOfAll(const Arithmetic &a) {
  return arith::ConstantIntOp::create(a.builder, a.location, a.builder.getIntegerType(16), -1);
}

static Value number32(const Arithmetic &a, int32_t value) {
  return arith::ConstantIntOp::create(a.builder, a.location, a.builder.getI32Type(), value);
}

// The current rounding mode, for intrinsics with a rounding operand.
static constexpr int32_t kCurrentRounding = 4;

// p * 2^n for p near 1, if the result may leave the normal range.
static Value scale(const Arithmetic &a, Value p, const Rounded &n) {
  if (isScalable(a)) {
    // One instruction, which rounds subnormal results correctly.
    return callIntrinsic(a, "llvm.x86.avx512.mask.scalef.ps.512",
                         {p, n.whole, p, maskOfAll(a), number32(a, kCurrentRounding)});
  }
  // In two steps, because 2^n itself may be out of range.
  Value number = arith::FPToSIOp::create(a.builder, a.location, a.integers(), n.whole);
  Value half = a.shiftRight(number, 1);
  Value other = a.subtractBits(number, half);
  auto power = [&](Value exponent) {
    return a.fromBits(a.shiftLeft(a.addBits(exponent, a.integer(127)), 23));
  };
  return a.multiply(a.multiply(p, power(half)), power(other));
}

// p * 2^n if p, 2^n and the result are normal: an addition to the exponent's bits.
static Value scaleNormal(const Arithmetic &a, Value p, Value lowBitsOfN) {
  return a.fromBits(a.addBits(a.bits(p), a.shiftLeft(lowBitsOfN, 23)));
}

static Value emitExp2(const Arithmetic &a, Value x) {
  if (isScalable(a)) {
    // x - round(x) in one instruction, which also handles infinities.
    Value zero = number32(a, 0);
    Value rest = callIntrinsic(a, "llvm.x86.avx512.mask.reduce.ps.512",
                               {x, zero, x, maskOfAll(a), number32(a, kCurrentRounding)});
    return scale(a, exp2OfFraction(a, rest), {a.subtract(x, rest), rest, {}});
  }
  Rounded n = roundToWhole(a, a.atLeast(a.atMost(x, 129.0f), -151.0f));
  return scale(a, exp2OfFraction(a, n.rest), n);
}

static Value emitExp(const Arithmetic &a, Value x) {
  // e^r = 1 + r + r^2 P(r) for r in [-ln 2 / 2, ln 2 / 2]; ln 2 in two parts, so that n ln 2 is
  // subtracted exactly (Cody and Waite 1980).
  static const float coefficients[] = {0.4999999403953552f, 0.16666527092456818f,
                                       0.04166826233267784f, 0.008368050679564476f,
                                       0.0013817897997796535f};
  x = a.atLeast(a.atMost(x, 89.0f), -105.0f);
  Rounded n = roundToWhole(a, a.multiply(x, a.number(1.44269504f)));
  Value r = a.fma(n.whole, a.number(-0.693359375f), x);
  r = a.fma(n.whole, a.number(2.12194440e-4f), r);
  Value p = a.fma(a.polynomial(r, coefficients), a.multiply(r, r), r);
  return scale(a, a.add(p, a.number(1.0f)), n);
}

static Value emitErf(const Arithmetic &a, Value x) {
  // |x| < 1: x P(x^2).
  static const float small[] = {
      1.1283791065216064f,   -0.3761262595653534f,    0.11283600330352783f,  -0.026854444295167923f,
      0.005189535208046436f, -0.0008020841050893068f, 7.889119297033176e-05f};
  // Beyond: 1 - 2^-q(|x|), q a fit of -log2(1 - erf); from 4 on that is 1.
  static const float large[] = {
      0.000510307727381587f,  1.6259751319885254f,   0.9207649827003479f,    0.14865151047706604f,
      -0.031458426266908646f, 0.004240957088768482f, -0.0002677267184481025f};
  Value inner = a.multiply(x, a.polynomial(a.multiply(x, x), small));
  Value magnitude = a.absolute(x);
  Value q = a.polynomial(a.atMost(magnitude, 4.0f), large);
  Rounded n = roundToWhole(a, a.subtract(a.number(0), q));
  Value tail = scaleNormal(a, exp2OfFraction(a, n.rest), n.lowBits);
  Value outer = a.copySign(a.subtract(a.number(1.0f), tail), x);
  return a.select(a.less(magnitude, a.number(1.0f)), inner, outer);
}

// 1 + erf(x) = erfc(-x): 2^-q(|x|) for x < 0, and 2 minus that for the others. Rounding 1 + erf(x)
// discards the digits of small x, so one polynomial serves all x, and for negative x it keeps
// digits that the sum would lose. At most 1.5e-7 from the exact sum, whose f32 neighbours are up to
// 1.2e-7 from it.
//
// -q(|x|) = |x| P(|x|) has no constant term, so that its last product can be added to the rounding
// constant and to the resulting integer, each in one instruction with one rounding.
static Value emitOnePlusErf(const Arithmetic &a, Value x) {
  static const float coefficients[] = {-1.6279093027114868f,    -0.9184098243713379f,
                                       -0.14850665628910065f,   0.028301894664764404f,
                                       -0.0008251757826656103f, -0.001460374565795064f,
                                       0.00043694183113984764f, -4.4352524128044024e-05f};
  Value magnitude = a.atMost(a.absolute(x), 4.0f);
  Value sum = a.polynomial(magnitude, coefficients);
  Value magic = a.number(kRoundingConstant);
  Value shifted = a.fma(sum, magnitude, magic);
  Value rest = a.fma(sum, magnitude, a.subtract(magic, shifted));
  Value tail = scaleNormal(a, exp2OfFraction(a, rest), a.bits(shifted));
  return a.select(a.less(x, a.number(0)), tail, a.subtract(a.number(2.0f), tail));
}

static Value emitTanh(const Arithmetic &a, Value x) {
  // |x| < 5/8: x + x^3 P(x^2).
  static const float small[] = {-0.333333283662796f, 0.13332794606685638f, -0.053854070603847504f,
                                0.021010078489780426f, -0.006113188341259956f};
  Value square = a.multiply(x, x);
  Value inner = a.fma(a.multiply(x, square), a.polynomial(square, small), x);
  // Beyond: 1 - 2 / (e^2|x| + 1); from 10 on that is 1.
  Value magnitude = a.absolute(x);
  Value exponent = a.multiply(a.atMost(magnitude, 10.0f), a.number(2.8853900817779268f));
  Rounded n = roundToWhole(a, exponent);
  Value power = scaleNormal(a, exp2OfFraction(a, n.rest), n.lowBits);
  Value fraction = a.divide(a.number(2.0f), a.add(power, a.number(1.0f)));
  Value outer = a.copySign(a.subtract(a.number(1.0f), fraction), x);
  return a.select(a.less(magnitude, a.number(0.625f)), inner, outer);
}

// log(sum) + rest, for a positive normal number and a small rest.
static Value emitLogOfNormal(const Arithmetic &a, Value sum, Value rest) {
  // log(1 + f) = f - f^2 / 2 + f^3 P(f) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
  static const float coefficients[] = {
      0.3333333134651184f,  -0.250008225440979f,   0.20001225173473358f, -0.16623353958129883f,
      0.14201809465885162f, -0.13160263001918793f, 0.12761220335960388f, -0.07633829116821289f};
  constexpr int32_t bitsOfSquareRootOfHalf = 0x3f3504f3;
  // sum = 2^e (1 + f)
  Value exponent = a.shiftRight(a.subtractBits(a.bits(sum), a.integer(bitsOfSquareRootOfHalf)), 23);
  Value f = a.subtract(a.fromBits(a.subtractBits(a.bits(sum), a.shiftLeft(exponent, 23))),
                       a.number(1.0f));
  Value e = arith::SIToFPOp::create(a.builder, a.location, a.type, exponent);
  Value square = a.multiply(f, f);
  // ln 2 in two parts: the first has few enough bits that its products with e are exact.
  rest = a.fma(a.multiply(f, square), a.polynomial(f, coefficients), rest);
  rest = a.fma(e, a.number(-2.12194440e-4f), rest);
  rest = a.fma(square, a.number(-0.5f), rest);
  return a.fma(e, a.number(0.693359375f), a.add(rest, f));
}

// Replaces the result of a logarithm if its argument is infinite, NaN, or at most `pole`.
static Value selectLogEnds(const Arithmetic &a, Value result, Value x, float pole) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result = a.select(a.less(x, a.number(infinity)), result, x);
  result = a.select(a.equal(x, a.number(pole)), a.number(-infinity), result);
  Value none = a.number(std::numeric_limits<double>::quiet_NaN());
  return a.select(a.less(x, a.number(pole)), none, result);
}

static Value emitLog1p(const Arithmetic &a, Value x) {
  Value one = a.number(1.0f);
  Value sum = a.add(one, x);
  // The rounding error of the sum, divided by the sum: log(1 + x) = log(sum) + lost / sum.
  Value lost = a.divide(a.subtract(x, a.subtract(sum, one)), sum);
  return selectLogEnds(a, emitLogOfNormal(a, sum, lost), x, -1.0f);
}

static Value emitLog(const Arithmetic &a, Value x) {
  // Subnormal numbers are scaled to normal ones first.
  constexpr double scale = 0x1p23, logOfScale = 15.942385152878742;
  Value isSmall = a.less(x, a.number(0x1p-126));
  Value normal = a.select(isSmall, a.multiply(x, a.number(scale)), x);
  Value result = emitLogOfNormal(a, normal, a.number(0));
  Value scaled = a.subtract(result, a.number(static_cast<float>(logOfScale)));
  return selectLogEnds(a, a.select(isSmall, scaled, result), x, 0.0f);
}

namespace {
/// x = (number + rest / (pi / 2)) pi / 2, with `number` the quarter turns as an integer whose two
/// low bits are correct, and `rest` in [-1, 1].
struct QuarterTurns {
  Value number, rest;
};
} // namespace

// Payne and Hanek, "Radian reduction for trigonometric functions" (1983), in f64: x / (pi / 2)
// modulo 4. 2 / pi is split into parts of 28 bits, so that products with the 24 bits of an f32 are
// exact. For large x the products with the first parts are multiples of 4, and the next four parts
// give the fraction to 2^-58; no f32 is closer than 2^-30 to a multiple of pi / 2.
static QuarterTurns reduceToQuarterTurns(const Arithmetic &a, Value magnitude) {
  static constexpr std::array parts = {0x1.45f306cp-1,  0x1.c9c882ap-29,  0x1.4fe13a8p-59,
                                       0x1.f47d4d0p-86, 0x1.bb81b6cp-113, 0x1.4acc9e0p-143,
                                       0x1.0e41080p-170};
  auto shaped = [&](Type element) {
    auto vector = dyn_cast<VectorType>(a.type);
    return vector ? Type(vector.clone(element)) : element;
  };
  const Arithmetic d{a.builder, a.location, shaped(a.builder.getF64Type()), a.hasScale};
  Value x = arith::ExtFOp::create(a.builder, a.location, d.type, magnitude);
  Value below53 = a.less(magnitude, a.number(0x1p53));
  Value below81 = a.less(magnitude, a.number(0x1p81));
  Value below109 = a.less(magnitude, a.number(0x1p109));
  auto partOf = [&](size_t index) {
    Value late = d.select(below109, d.number(parts[index + 2]), d.number(parts[index + 3]));
    late = d.select(below81, d.number(parts[index + 1]), late);
    return d.select(below53, d.number(parts[index]), late);
  };
  // Adding this rounds to multiples of 4, and a quarter of it to integers.
  constexpr double roundToFours = 0x1.8p54;
  auto withoutFours = [&](Value product) {
    Value magic = d.number(roundToFours);
    return d.subtract(product, d.subtract(d.add(product, magic), magic));
  };
  Value first = withoutFours(d.multiply(x, partOf(0)));
  Value second = withoutFours(d.multiply(x, partOf(1)));
  // Their sum, and its rounding error (Knuth).
  Value sum = d.add(first, second);
  Value secondOfSum = d.subtract(sum, first);
  Value lost =
      d.add(d.subtract(first, d.subtract(sum, secondOfSum)), d.subtract(second, secondOfSum));
  Value magic = d.number(roundToFours / 4);
  Value shifted = d.add(sum, magic);
  Value fraction = d.subtract(sum, d.subtract(shifted, magic));
  fraction = d.add(d.fma(x, partOf(2), fraction), d.fma(x, partOf(3), lost));
  Value angle = d.multiply(fraction, d.number(0x1.921fb54442d18p+0));
  Type longs = shaped(a.builder.getI64Type());
  Value number =
      arith::TruncIOp::create(a.builder, a.location, a.integers(),
                              arith::BitcastOp::create(a.builder, a.location, longs, shifted));
  return {number, arith::TruncFOp::create(a.builder, a.location, a.type, angle)};
}

// The sine of |x|, shifted by `turned` quarter turns.
static Value emitSineOf(const Arithmetic &a, Value x, int32_t turned) {
  // |y| < 0.983: y + y^3 P(y^2), and 1 - y^2 / 2 + y^4 Q(y^2).
  static const float sine[] = {-0.1666666716337204f, 0.008333317935466766f,
                               -0.00019836457795463502f, 2.696858928175061e-06f};
  static const float cosine[] = {0.041666582226753235f, -0.0013884961372241378f,
                                 2.4220946215791628e-05f};
  QuarterTurns turns = reduceToQuarterTurns(a, a.absolute(x));
  Value y = turns.rest;
  Value number = a.addBits(turns.number, a.integer(turned));
  Value square = a.multiply(y, y);
  Value odd = a.fma(a.multiply(y, square), a.polynomial(square, sine), y);
  Value even = a.fma(a.multiply(square, square), a.polynomial(square, cosine),
                     a.fma(square, a.number(-0.5f), a.number(1.0f)));
  Value isOdd = arith::CmpIOp::create(a.builder, a.location, arith::CmpIPredicate::ne,
                                      a.andBits(number, 1), a.integer(0));
  // Two quarter turns change the sign: bit 1 of their number is moved to the highest bit.
  return a.flipSign(a.select(isOdd, even, odd), a.shiftLeft(number, 30));
}

static Value emitSin(const Arithmetic &a, Value x) {
  return a.flipSign(emitSineOf(a, x, 0), a.bits(x));
}

static Value emitCos(const Arithmetic &a, Value x) { return emitSineOf(a, x, 1); }

// Orders the operations of a block by their depth in dependence chains. The functions above are
// long chains of dependent operations; in sequence, the chain of one vector fills the processor's
// scheduler before it reaches the next vector. Interleaved, the chains keep its ports busy. Memory
// accesses keep their order.
static void interleaveChains(Block &block) {
  llvm::DenseMap<Operation *, unsigned> depths;
  unsigned lastMemory = 0;
  struct Place {
    unsigned depth, number;
    Operation *op;
  };
  SmallVector<Place> order;
  for (Operation &op : block.without_terminator()) {
    unsigned depth = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        auto found = depths.find(operand.getDefiningOp());
        depth = std::max(depth, found == depths.end() ? 0 : found->second + 1);
      }
    });
    if (!isMemoryEffectFree(&op)) {
      lastMemory = depth = std::max(depth, lastMemory);
    }
    depths[&op] = depth;
    order.push_back({depth, static_cast<unsigned>(order.size()), &op});
  }
  llvm::sort(order, [](const Place &a, const Place &b) {
    return std::tie(a.depth, a.number) < std::tie(b.depth, b.number);
  });
  for (const Place &place : order) {
    place.op->moveBefore(&block, block.without_terminator().end());
  }
}

/// Emits a function of one number as arithmetic.
using EmitFunction = Value (*)(const Arithmetic &, Value);

/// Returns the expansion of an operation; null if there is none.
static EmitFunction arithmeticOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, EmitFunction>(op)
      .Case([](math::CosOp) { return emitCos; })
      .Case([](math::ErfOp) { return emitErf; })
      .Case([](math::ExpOp) { return emitExp; })
      .Case([](math::Exp2Op) { return emitExp2; })
      .Case([](math::LogOp) { return emitLog; })
      .Case([](math::Log1pOp) { return emitLog1p; })
      .Case([](math::SinOp) { return emitSin; })
      .Case([](math::TanhOp) { return emitTanh; })
      .Default(EmitFunction(nullptr));
}

/// Returns whether an operation is no math function, or one with an instruction on every target.
/// All others would become library calls, and the binary links no library.
static bool hasInstruction(Operation *op) {
  return isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::FmaOp, math::SqrtOp>(op) ||
         !(isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op));
}

namespace {
struct ExpandMath : impl::ExpandMathPassBase<ExpandMath> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> found;
    WalkResult walked = getOperation().walk([&](Operation *op) {
      if (!isInTarget(op)) {
        return WalkResult::advance();
      }
      if (arithmeticOf(op)) {
        found.push_back(op);
      } else if (!hasInstruction(op)) {
        op->emitOpError("has no code for target '")
            << targetOf(op)->name << "', expected maths that it has instructions or arithmetic for";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted()) {
      return signalPassFailure();
    }
    llvm::SetVector<Block *> blocks;
    for (Operation *op : found) {
      blocks.insert(op->getBlock());
      expand(op);
    }
    for (Block *block : blocks) {
      interleaveChains(*block);
    }
  }

private:
  // Epilogue regions of the dataflow level contain maths too; only the kernels' code is expanded.
  static const TargetDescription *targetOf(Operation *op) {
    auto module = op->getParentOfType<ModuleOp>();
    return module && module.getSymName() ? findTarget(*module.getSymName()) : nullptr;
  }
  static bool isInTarget(Operation *op) { return targetOf(op) != nullptr; }

  // Returns the only user of an erf if it adds one, as in gelu.
  static arith::AddFOp onlyAddsOne(Operation *op) {
    auto add = op->hasOneUse() ? dyn_cast<arith::AddFOp>(*op->user_begin()) : nullptr;
    if (!isa<math::ErfOp>(op) || !add) {
      return nullptr;
    }
    Value other = add.getLhs() == op->getResult(0) ? add.getRhs() : add.getLhs();
    FloatAttr one;
    DenseElementsAttr ones;
    if (matchPattern(other, m_Constant(&ones)) && ones.isSplat()) {
      one = dyn_cast<FloatAttr>(ones.getSplatValue<Attribute>());
    } else if (!matchPattern(other, m_Constant(&one))) {
      return nullptr;
    }
    return one && one.getValue().isExactlyValue(1.0) ? add : nullptr;
  }

  static void expand(Operation *op) {
    OpBuilder builder(op);
    Value x = op->getOperand(0);
    Arithmetic arithmetic{builder, op->getLoc(), x.getType(), targetOf(op)->hasScale};
    if (arith::AddFOp add = onlyAddsOne(op)) {
      add.replaceAllUsesWith(emitOnePlusErf(arithmetic, x));
      add.erase();
      op->erase();
      return;
    }
    Value result = arithmeticOf(op)(arithmetic, x);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
};
} // namespace

} // namespace heddle
