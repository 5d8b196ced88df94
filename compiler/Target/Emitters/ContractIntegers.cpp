// SPDX-License-Identifier: Apache-2.0
///
/// Quantises rows, and emits the inner loop over their codes. One VNNI instruction multiplies four
/// codes of a row with four of each column of a vector. Without VNNI, vpmaddubsw is used, which
/// sums two products in 16 bits: codes of rows are made signed, their magnitudes of at most 128 are
/// multiplied with weights that take over their signs, and 2 * 128 * 127 fits. Both instructions
/// need one unsigned factor: 4-bit codes of weights are unsigned, and 2 * 15 * 127 fits anyway.
/// Files may contain weights of -128, whose products do not fit: without VNNI, their codes are
/// widened. Machines with neither instruction multiply 32-bit integers, with the same codes as for
/// VNNI.
#include "compiler/Target/Emitters/ContractIntegers.h"

#include "compiler/Target/Emitters/RowQuantizer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

// The offset that makes codes signed where products are added in pairs.
static constexpr int64_t kSignedOffset = 128;
// Codes are padded so that their last vector can be stored whole.
static constexpr int64_t kCodePadding = 16;
// A scale, and the code of zero or the sum of codes.
static constexpr int64_t kFactorBytes = kScaleBytes + int64_t(sizeof(int32_t));

// --- integers in vectors ---------------------------------------------------------------------

namespace {
/// Vectors with lanes of 32 bits, of four codes each.
struct Words {
  explicit Words(VectorCode &code)
      : code(code), words(VectorType::get({code.lanes}, code.i32)),
        bytes(VectorType::get({codesTogether * code.lanes}, code.builder.getI8Type())) {}

  Value splat(int32_t value) const {
    return arith::ConstantOp::create(code.builder, code.location,
                                     DenseElementsAttr::get(words, value));
  }
  Value load(Value address) const {
    return LLVM::LoadOp::create(code.builder, code.location, words, address, sizeof(int32_t));
  }
  /// Loads one word into all lanes.
  Value broadcast(Value address) const {
    Value word =
        LLVM::LoadOp::create(code.builder, code.location, code.i32, address, sizeof(int32_t));
    return vector::BroadcastOp::create(code.builder, code.location, words, word);
  }
  Value add(Value a, Value b) const {
    return arith::AddIOp::create(code.builder, code.location, a, b);
  }
  Value subtract(Value a, Value b) const {
    return arith::SubIOp::create(code.builder, code.location, a, b);
  }
  Value multiply(Value a, Value b) const {
    return arith::MulIOp::create(code.builder, code.location, a, b);
  }
  Value inBytes(Value value) const {
    return LLVM::BitcastOp::create(code.builder, code.location, bytes, value);
  }
  Value call(StringRef intrinsic, Type result, ValueRange arguments) const {
    return LLVM::CallIntrinsicOp::create(code.builder, code.location, result,
                                         code.builder.getStringAttr(intrinsic), arguments)
        .getResults();
  }
  /// Returns the lower 8 bits of each lane.
  Value narrowed(Value value) const {
    auto narrow = VectorType::get({code.lanes}, code.builder.getI8Type());
    return arith::TruncIOp::create(code.builder, code.location, narrow, value);
  }

  VectorCode &code;
  VectorType words, bytes;
};

/// Four codes of a row, in every lane, as operands of products.
struct RowCodes {
  Value codes;
  /// The magnitudes of the codes, if products are added in pairs.
  Value magnitudes = {};
};
} // namespace

static RowCodes loadCodes(const Words &words, Value address, bool isSigned) {
  VectorCode &code = words.code;
  Value codes = words.inBytes(words.broadcast(address));
  if (code.target.integerProducts != IntegerProducts::Pairs || isSigned) {
    return {codes};
  }
  return {codes, LLVM::AbsOp::create(code.builder, code.location, words.bytes, codes,
                                     /*is_int_min_poison=*/false)};
}

// Returns code number `number` of the four of each lane, widened to 32 bits.
static Value codeOfFour(const Words &words, Value codes, int64_t number, bool hasSign) {
  VectorCode &code = words.code;
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < code.lanes; ++lane) {
    lanes.push_back(lane * codesTogether + number);
  }
  Value narrow = vector::ShuffleOp::create(code.builder, code.location, codes, codes, lanes);
  return hasSign
             ? arith::ExtSIOp::create(code.builder, code.location, words.words, narrow).getResult()
             : arith::ExtUIOp::create(code.builder, code.location, words.words, narrow).getResult();
}

// Does the same as addFours() without any instruction for it.
static Value addSingle(const Words &words, Value sums, Value withoutSign, Value withSign) {
  for (int64_t number = 0; number < codesTogether; ++number) {
    Value product = words.multiply(codeOfFour(words, withoutSign, number, /*hasSign=*/false),
                                   codeOfFour(words, withSign, number, /*hasSign=*/true));
    sums = words.add(sums, product);
  }
  return sums;
}

// Adds to `sums`, lane by lane, the products of four unsigned codes with four signed ones. Sums of
// two products must fit in 16 bits.
static Value addFours(const Words &words, Value sums, Value withoutSign, Value withSign) {
  VectorCode &code = words.code;
  const bool isWide = code.lanes == 16;
  if (code.target.integerProducts == IntegerProducts::Single) {
    return addSingle(words, sums, withoutSign, withSign);
  }
  if (code.target.integerProducts == IntegerProducts::Fours) {
    StringRef dot = isWide ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256";
    return words.call(dot, words.words, {sums, withoutSign, withSign});
  }
  auto halves = VectorType::get({2 * code.lanes}, code.builder.getI16Type());
  Value ones = arith::ConstantOp::create(code.builder, code.location,
                                         DenseElementsAttr::get(halves, int16_t(1)));
  Value pairs = words.call(isWide ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw",
                           halves, {withoutSign, withSign});
  Value fours = words.call(isWide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd",
                           words.words, {pairs, ones});
  return words.add(sums, fours);
}

// Does the same for signed codes with weights that may be -128, whose magnitude is not a signed
// 8-bit number: widens the even codes to 16 bits, and then the odd ones. Exact, at half of the
// rate.
static Value addWidened(const Words &words, Value sums, Value codes, Value weights) {
  VectorCode &code = words.code;
  constexpr int16_t bits = 8;
  auto halves = VectorType::get({2 * code.lanes}, code.builder.getI16Type());
  Value shift =
      arith::ConstantOp::create(code.builder, code.location, DenseElementsAttr::get(halves, bits));
  auto inHalves = [&](Value bytes) -> Value {
    return LLVM::BitcastOp::create(code.builder, code.location, halves, bytes);
  };
  auto upper = [&](Value pairs) -> Value {
    return arith::ShRSIOp::create(code.builder, code.location, pairs, shift);
  };
  auto lower = [&](Value pairs) -> Value {
    return upper(arith::ShLIOp::create(code.builder, code.location, pairs, shift));
  };
  const StringRef multiply =
      code.lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  Value row = inHalves(codes), column = inHalves(weights);
  sums = words.add(sums, words.call(multiply, words.words, {lower(row), lower(column)}));
  return words.add(sums, words.call(multiply, words.words, {upper(row), upper(column)}));
}

// Adds to `sums`, lane by lane, the products of four codes of a row with four 8-bit weights.
static Value addProducts(const Words &words, Value sums, const RowCodes &row, Value weights,
                         bool isFull) {
  VectorCode &code = words.code;
  if (code.target.integerProducts != IntegerProducts::Pairs) {
    return addFours(words, sums, row.codes, weights);
  }
  if (isFull) {
    return addWidened(words, sums, row.codes, weights);
  }
  const bool isWide = code.lanes == 16;
  Value withSign;
  if (isWide) {
    Value zeros = arith::ConstantOp::create(code.builder, code.location,
                                            code.builder.getZeroAttr(words.bytes));
    Value isNegative = arith::CmpIOp::create(code.builder, code.location, arith::CmpIPredicate::slt,
                                             row.codes, zeros);
    withSign = code.select(isNegative, words.subtract(zeros, weights), weights);
  } else {
    withSign = words.call("llvm.x86.avx2.psign.b", words.bytes, {weights, row.codes});
  }
  return addFours(words, sums, row.magnitudes, withSign);
}

// --- rows ------------------------------------------------------------------------------------

// Returns the bytes of the codes of `k` elements, with room for a whole vector at the end.
static int64_t codeBytes(int64_t k) {
  return static_cast<int64_t>(llvm::alignTo(k, kCodePadding)) + kCodePadding;
}
static Value codeBytes(VectorCode &code, Value k) {
  return code.multiply(code.add(code.divideUp(k, kCodePadding), 1), kCodePadding);
}

// Returns the bytes of the codes of `k` elements, and of the two factors of every `shared` of them.
static int64_t bytesOf(int64_t k, int64_t shared) {
  return codeBytes(k) + llvm::divideCeilSigned(k, shared) * kFactorBytes;
}

static transformer::QuantizedType quantizedOf(dataflow::BufferType weights) {
  return cast<transformer::QuantizedType>(weights.getElementType());
}

QuantizedRows::QuantizedRows(dataflow::BufferType weights, dataflow::ContractAttr computes)
    : PreparedRows(computes,
                   bytesOf(computes.getK(), quantizedOf(weights).getGroupOf(computes.getK()))),
      shared(quantizedOf(weights).getGroupOf(computes.getK())),
      isSigned(quantizedOf(weights).hasZeros()) {}

int64_t QuantizedRows::mostBytes(int64_t k) { return bytesOf(k, codesTogether); }

namespace {
/// Per lane: the smallest and the largest of some numbers and 0. `finite` is zero, or NaN if one of
/// the numbers is infinite or NaN.
struct Extent {
  Value least, largest, finite;
};
} // namespace

static Extent extentOf(VectorCode &code, Value from, int64_t width) {
  // The number of chains of minima and maxima that run side by side.
  constexpr int64_t chains = 4;
  auto take = [&](Value least, Value largest, Value finite, Value x) {
    return SmallVector<Value>{code.minimum(x, least), code.maximum(x, largest),
                              code.fma(x, code.splat(0), finite)};
  };
  const int64_t together = chains * code.lanes, whole = width / together * together;
  SmallVector<Value> carried(3 * chains, code.splat(0));
  carried = code.loop(
      code.integer(0), code.integer(whole), together, carried, [&](Value i, ValueRange before) {
        SmallVector<Value> next;
        for (int64_t c = 0; c < chains; ++c) {
          Value x = code.loadVector(code.at(from, code.add(i, c * code.lanes)));
          llvm::append_range(next, take(before[3 * c], before[3 * c + 1], before[3 * c + 2], x));
        }
        return next;
      });
  for (int64_t column = whole; column < width; column += code.lanes) {
    Value x = code.loadVector(code.at(from, column), std::min(code.lanes, width - column));
    llvm::copy(take(carried[0], carried[1], carried[2], x), carried.begin());
  }
  for (int64_t c = 1; c < chains; ++c) {
    carried[0] = code.minimum(carried[3 * c], carried[0]);
    carried[1] = code.maximum(carried[3 * c + 1], carried[1]);
    carried[2] = code.addFloat(carried[3 * c + 2], carried[2]);
  }
  return {carried[0], carried[1], carried[2]};
}

// Quantises `width` elements that share a scale to signed codes at `to`; stores the scale and the
// sum of codes at `factors`.
static void quantizeSigned(VectorCode &code, Value from, Value to, Value factors, int64_t width) {
  Words words(code);
  Extent extent = extentOf(code, from, width);
  Value below = code.subtractFloat(code.splat(0), extent.least);
  Value largest = code.maximumOfLanes(code.maximum(below, extent.largest));
  const RowQuantizer quantizer =
      RowQuantizer::withSign(code, largest, code.sumOfLanes(extent.finite));
  auto quantizeVector = [&](Value column, int64_t valid, Value sums) {
    Value number = quantizer.codesOf(code, code.loadVector(code.at(from, column), valid));
    LLVM::StoreOp::create(code.builder, code.location, words.narrowed(number),
                          code.bytesAt(to, column), /*alignment=*/1);
    return words.add(sums, number);
  };
  const int64_t whole = width / code.lanes * code.lanes;
  SmallVector<Value> sums =
      code.loop(code.integer(0), code.integer(whole), code.lanes, words.splat(0),
                [&](Value column, ValueRange before) {
                  return SmallVector<Value>{quantizeVector(column, code.lanes, before.front())};
                });
  Value sum = sums.front();
  if (whole < width) {
    sum = quantizeVector(code.integer(whole), width - whole, sum);
  }
  // f32 represents the sum of so few codes exactly, in any order.
  Value exact = arith::SIToFPOp::create(code.builder, code.location, code.vector, sum);
  code.storeScalar(quantizer.scale, factors);
  code.storeScalar(code.sumOfLanes(exact), code.bytesAt(factors, code.integer(kScaleBytes)));
}

// Quantises `width` elements that share a scale to codes at `to`; stores the scale and the code of
// zero at `factors`.
static void quantize(VectorCode &code, Value from, Value to, Value factors, int64_t width) {
  Words words(code);
  Extent extent = extentOf(code, from, width);
  Value below = code.maximumOfLanes(code.subtractFloat(code.splat(0), extent.least));
  Value largest = code.maximumOfLanes(extent.largest);
  const RowQuantizer quantizer =
      RowQuantizer::withoutSign(code, below, largest, code.sumOfLanes(extent.finite));
  const bool hasSigns = code.target.integerProducts == IntegerProducts::Pairs;
  auto quantizeVector = [&](Value column, int64_t valid) {
    Value number = quantizer.codesOf(code, code.loadVector(code.at(from, column), valid));
    number = hasSigns ? words.subtract(number, words.splat(kSignedOffset)) : number;
    LLVM::StoreOp::create(code.builder, code.location, words.narrowed(number),
                          code.bytesAt(to, column), /*alignment=*/1);
  };
  constexpr int64_t unroll = 4;
  code.overRow(width, unroll, quantizeVector);
  code.storeScalar(quantizer.scale, factors);
  Value zero =
      hasSigns ? words.subtract(quantizer.zeros, words.splat(kSignedOffset)) : quantizer.zeros;
  Value lane = vector::ExtractOp::create(code.builder, code.location, zero, ArrayRef<int64_t>{0});
  LLVM::StoreOp::create(code.builder, code.location, lane,
                        code.bytesAt(factors, code.integer(kScaleBytes)), sizeof(int32_t));
}

void QuantizedRows::emitGroup(VectorCode &code, Value from, Value to) const {
  Value factors = code.bytesAt(to, code.integer(codeBytes(k)));
  auto quantizePart = [&](Value number, int64_t width) {
    Value first = code.multiply(number, shared);
    const auto quantizeElements = isSigned ? quantizeSigned : quantize;
    quantizeElements(code, code.at(from, first), code.bytesAt(to, first),
                     code.bytesAt(factors, code.multiply(number, kFactorBytes)), width);
  };
  const int64_t whole = k / shared;
  code.loop(code.integer(0), code.integer(whole), 1,
            [&](Value number) { quantizePart(number, shared); });
  if (k % shared != 0) {
    quantizePart(code.integer(whole), k % shared);
  }
}

// --- tiles -----------------------------------------------------------------------------------

// Computes eight steps of k from `k` on with 4-bit codes: the lower halves of a vector of bytes are
// four of the steps, the upper halves the next four. Bytes are loaded once for each half, because
// full tiles do not have registers for both; the loads are volatile so that LLVM does not merge
// them.
static SmallVector<Value> stepOfHalves(const TileColumns &tile, Value codes, Value inPanel, Value k,
                                       ValueRange sums) {
  VectorCode &code = tile.code;
  Words words(code);
  constexpr int32_t lowerHalves = 0x0F0F0F0F;
  Value row = code.bytesAt(codes, code.multiply(inPanel, tile.layout.rowBytes));
  SmallVector<Value> next(sums);
  for (const bool isUpper : {false, true}) {
    SmallVector<Value> weights;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      int64_t column = tile.first + v * code.lanes;
      Value bytes = LLVM::LoadOp::create(code.builder, code.location, words.words,
                                         code.bytesAt(row, code.integer(column * codesTogether)),
                                         sizeof(int32_t),
                                         /*isVolatile=*/true);
      if (isUpper) {
        bytes = arith::ShRUIOp::create(code.builder, code.location, bytes, words.splat(4));
      }
      weights.push_back(words.inBytes(
          arith::AndIOp::create(code.builder, code.location, bytes, words.splat(lowerHalves))));
    }
    for (size_t r = 0; r < tile.rows.size(); ++r) {
      Value place = code.bytesAt(tile.rows[r], code.add(k, isUpper ? codesTogether : 0));
      const RowCodes rowCodes = loadCodes(words, place, /*isSigned=*/true);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = next[r * tile.vectors + v];
        sum = addFours(words, sum, weights[v], rowCodes.codes);
      }
    }
  }
  return next;
}

// Computes four steps of k from `k` on: a vector of weights for each of the columns times four
// codes of every row.
static SmallVector<Value> step(const TileColumns &tile, Value codes, Value inPanel, Value k,
                               ValueRange sums) {
  VectorCode &code = tile.code;
  Words words(code);
  Value panelRow = code.bytesAt(codes, code.multiply(inPanel, tile.layout.rowBytes));
  SmallVector<Value> weights;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    int64_t column = tile.first + v * code.lanes;
    weights.push_back(
        words.inBytes(words.load(code.bytesAt(panelRow, code.integer(column * codesTogether)))));
  }
  SmallVector<Value> next;
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    RowCodes row = loadCodes(words, code.bytesAt(tile.rows[r], k), /*isSigned=*/false);
    for (int64_t v = 0; v < tile.vectors; ++v) {
      next.push_back(addProducts(words, sums[r * tile.vectors + v], row, weights[v],
                                 tile.layout.quantized.getFull()));
    }
  }
  return next;
}

// Returns the sums of the steps [begin, end) of k; `codes` is the address of the first step's
// weights.
static SmallVector<Value> steps(const TileColumns &tile, Value codes, Value begin, Value end) {
  SmallVector<Value> sums(tile.rows.size() * tile.vectors, Words(tile.code).splat(0));
  return tile.steps(begin, end, sums, [&](Value inPanel, Value k, ValueRange sums) {
    return tile.layout.hasZeros() ? stepOfHalves(tile, codes, inPanel, k, sums)
                                  : step(tile, codes, inPanel, k, sums);
  });
}

namespace {
/// The factors that convert sums of products to f32: the scales of columns, and a second number of
/// each column: their sums of codes in i32, or their negated codes of zero in f32.
struct ColumnFactors {
  SmallVector<Value> scales, others;
};
} // namespace

static ColumnFactors loadFactors(const TileColumns &tile, Value head) {
  VectorCode &code = tile.code;
  Words words(code);
  GroupHead loaded = GroupHead::load(code, tile.layout, head, tile.first, tile.vectors);
  ColumnFactors factors{std::move(loaded.scales), {}};
  for (Value zeros : loaded.zeros) {
    factors.others.push_back(arith::SIToFPOp::create(code.builder, code.location, code.vector,
                                                     words.subtract(words.splat(0), zeros)));
  }
  if (tile.layout.hasZeros()) {
    return factors;
  }
  const int64_t scaleBytes = tile.layout.columns * tile.layout.quantized.getScaleBytes();
  Value sums = code.bytesAt(head, code.integer(scaleBytes));
  for (int64_t v = 0; v < tile.vectors; ++v) {
    factors.others.push_back(words.load(code.at(sums, tile.first + v * code.lanes)));
  }
  return factors;
}

SmallVector<Value> scaledSums(const TileColumns &tile, ValueRange sums, Value head, Value number,
                              ValueRange before) {
  VectorCode &code = tile.code;
  Words words(code);
  Value factors =
      code.add(codeBytes(code, tile.entry.getArgument(K)), code.multiply(number, kFactorBytes));
  const ColumnFactors columns = loadFactors(tile, head);
  auto toFloat = [&](Value integers) -> Value {
    return arith::SIToFPOp::create(code.builder, code.location, code.vector, integers);
  };
  SmallVector<Value> after;
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    Value factor = code.bytesAt(tile.rows[r], factors);
    Value scale = code.broadcast(code.loadScalar(factor));
    Value second = code.bytesAt(factor, code.integer(kScaleBytes));
    Value other =
        tile.layout.hasZeros() ? code.broadcast(code.loadScalar(second)) : words.broadcast(second);
    for (int64_t v = 0; v < tile.vectors; ++v) {
      const size_t index = r * tile.vectors + v;
      Value exact =
          tile.layout.hasZeros()
              ? code.fma(other, columns.others[v], toFloat(sums[index]))
              : toFloat(words.subtract(sums[index], words.multiply(other, columns.others[v])));
      Value factorOfBoth = code.multiplyFloat(scale, columns.scales[v]);
      after.push_back(before.empty() ? code.multiplyFloat(exact, factorOfBoth)
                                     : code.fma(exact, factorOfBoth, before[index]));
    }
  }
  return after;
}

// Returns the sums over all of k for some rows of a tile.
static SmallVector<Value> multiplyRows(const TileColumns &tile) {
  VectorCode &code = tile.code;
  const PanelLayout &layout = tile.layout;
  Value weights = tile.entry.getArgument(Weights);
  // Codes past the end of k are multiplied with zeros.
  const int64_t together = layout.together();
  Value k = code.multiply(code.divideUp(tile.entry.getArgument(K), together), together);
  if (layout.group == PanelLayout::allSteps) {
    Value codes = code.bytesAt(weights, code.integer(layout.headBytes));
    return scaledSums(tile, steps(tile, codes, code.integer(0), k), weights, code.integer(0), {});
  }
  auto ofGroup = [&](Value begin, ValueRange before) {
    Value number = code.divide(begin, layout.group);
    Value head = code.bytesAt(weights, code.multiply(number, layout.groupBytes()));
    Value codes = code.bytesAt(head, code.integer(layout.headBytes));
    Value end = code.smaller(code.add(begin, layout.group), k);
    return scaledSums(tile, steps(tile, codes, begin, end), head, number, before);
  };
  return code.loop(code.integer(layout.group), k, layout.group, ofGroup(code.integer(0), {}),
                   ofGroup);
}

// Returns the number of rows whose sums, of one group and of all groups, fit in registers beside
// the weights and a row's codes. With only 16 registers, all rows are computed at once with sums in
// memory, which is better than reading the weights again for every row.
static size_t rowsAtOnce(const TileColumns &tile) {
  constexpr int64_t registers = 32, others = 2;
  const bool hasThem = tile.code.lanes == 16 && tile.layout.group > 0;
  return hasThem ? (registers - others - tile.vectors) / (2 * tile.vectors) : tile.rows.size();
}

void emitIntegerTile(const TileColumns &tile) {
  const size_t most = rowsAtOnce(tile);
  for (size_t first = 0; first < tile.rows.size(); first += most) {
    TileColumns part{tile.code,
                     tile.layout,
                     tile.entry,
                     tile.rows.slice(first, std::min(most, tile.rows.size() - first)),
                     tile.first,
                     tile.vectors,
                     first == 0 ? tile.linesAsked : 0};
    SmallVector<Value> ofPart = multiplyRows(part);
    for (size_t i = 0; i < ofPart.size(); ++i) {
      const auto vector = static_cast<int64_t>(i) % tile.vectors;
      tile.code.storeVector(ofPart[i],
                            tile.sumAt(static_cast<int64_t>(first + i / tile.vectors), vector));
    }
  }
}

} // namespace heddle
