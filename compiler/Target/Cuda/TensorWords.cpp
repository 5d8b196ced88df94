// SPDX-License-Identifier: Apache-2.0
///
/// Converts numbers to operands of tensor cores. With tf32x3 each number is split into its rounded
/// value and the rounded rest, and three products are added, the small ones first; the product of
/// both rests is omitted.
#include "compiler/Target/Cuda/TensorWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::transformer::bf16Together;

namespace heddle {

Units unitsFor(FloatProducts products) {
  switch (products) {
  case FloatProducts::Exact:
    return Units::Fma;
  case FloatProducts::Tf32x3:
    return Units::Tf32x3;
  case FloatProducts::Tf32:
    return Units::Tf32;
  case FloatProducts::Bf16:
    return Units::Bf16;
  }
  llvm_unreachable("every kind of products is handled");
}

int64_t numbersOfWord(Units units) { return units == Units::Bf16 ? bf16Together : 1; }

static Value bitsOf(VectorCode &code, Value number) {
  return arith::BitcastOp::create(code.builder, code.location, code.i32, number);
}
static Value numberOf(VectorCode &code, Value bits) {
  return arith::BitcastOp::create(code.builder, code.location, code.f32, bits);
}

SmallVector<Value> TensorProducts::wordsOf(ValueRange numbers) {
  SmallVector<Value> words;
  for (size_t i = 0; i < numbers.size(); i += static_cast<size_t>(numbersOfWord(units))) {
    switch (units) {
    case Units::Bf16:
      words.push_back(block.roundedPair(numbers[i], numbers[i + 1]));
      break;
    case Units::Tf32:
      words.push_back(block.roundedToTf32(numbers[i]));
      break;
    case Units::Tf32x3:
    case Units::Fma:
      words.push_back(bitsOf(block.code, numbers[i]));
      break;
    }
  }
  return words;
}

/// Splits f32 numbers, given as bits, into sums of two tf32 numbers, with an error of 2^-22
/// relative to each. The rest of a number that is not finite is NaN.
Words TensorProducts::split(ValueRange words) {
  VectorCode &code = block.code;
  Words parts;
  for (Value word : words) {
    Value high = block.roundedToTf32(numberOf(code, word));
    // The difference is exact: both numbers have the same leading bits.
    Value rest = arith::SubFOp::create(code.builder, code.location, numberOf(code, word),
                                       numberOf(code, high));
    parts.high.push_back(high);
    parts.low.push_back(block.roundedToTf32(rest));
  }
  return parts;
}

Words TensorProducts::rounded(ValueRange words, bool areRounded) {
  switch (units) {
  case Units::Bf16:
    return {SmallVector<Value>(words), {}};
  case Units::Tf32: {
    Words result;
    for (Value word : words) {
      result.high.push_back(areRounded ? word : block.roundedToTf32(numberOf(block.code, word)));
    }
    return result;
  }
  case Units::Tf32x3:
    return split(words);
  case Units::Fma:
    break;
  }
  llvm_unreachable("tensor cores do not multiply these");
}

SmallVector<Value> TensorProducts::add(const Words &rows, const Words &columns, ValueRange sums) {
  switch (units) {
  case Units::Bf16:
    return block.multiplyBf16(rows.high, columns.high, sums);
  case Units::Tf32:
    return block.multiplyTf32(rows.high, columns.high, sums);
  case Units::Tf32x3: {
    const SmallVector<Value> low = block.multiplyTf32(rows.low, columns.high, sums);
    return block.multiplyTf32(rows.high, columns.high,
                              block.multiplyTf32(rows.high, columns.low, low));
  }
  case Units::Fma:
    break;
  }
  llvm_unreachable("tensor cores do not multiply these");
}

} // namespace heddle
