// SPDX-License-Identifier: Apache-2.0
///
/// Copies and dequantises slabs of codes. An element has the bits of QuantizedType's description,
/// as in the tiles of processors (Emitters/ContractTile.cpp).
#include "compiler/Target/Cuda/CodeSlab.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Codes of adjacent columns that a thread dequantises at once, and the copies of a line of a
/// panel.
static constexpr int64_t kTogether = 4, kPartsOfLine = sharedPanelColumns / kSharedAlignment;

// --- groups --------------------------------------------------------------------------------------

/// Returns the most groups that steps of a slab belong to.
int64_t CodeSlab::groups() const {
  if (scales() == 1 || shared() % steps == 0) {
    return 1;
  }
  return steps % shared() == 0 ? steps / shared() : llvm::divideCeilSigned(steps - 1, shared()) + 1;
}

/// Returns the group of a step of k.
Value CodeSlab::groupAt(VectorCode &code, Value step) const {
  return scales() == 1 ? code.integer(0) : code.divide(step, shared());
}

/// Returns the group of a step of the slab among the slab's groups.
Value CodeSlab::groupInSlab(VectorCode &code, Value first, Value step) const {
  if (groups() == 1) {
    return code.integer(0);
  }
  // Slabs begin at multiples of their steps.
  if (steps % shared() == 0) {
    return code.divide(step, shared());
  }
  return code.subtract(groupAt(code, code.add(first, step)), groupAt(code, first));
}

// --- copies --------------------------------------------------------------------------------------

/// Returns the place of a panel of the tile in memory.
Value CodeSlab::panelAt(VectorCode &code, const TiledProduct &product, Value panel) const {
  Value last = code.subtract(product.endPanel, 1);
  Value near = code.smaller(code.add(product.firstPanel, panel), last);
  return code.multiply(near, product.panelBytes());
}

void CodeSlab::copyCodes(BlockCode &block, const TiledProduct &product, Value to,
                         Value first) const {
  VectorCode &code = block.code;
  const int64_t ofLine = kPartsOfLine * panels;
  eachOwn(block, lines() * ofLine, [&](Value number) {
    Value line = code.divide(number, ofLine), inLine = code.remainder(number, ofLine);
    Value step = code.add(first, code.multiply(line, stepsOfLine()));
    Value group = groupAt(code, step);
    Value inGroup = code.subtract(step, code.multiply(group, shared()));
    Value from = code.add(code.multiply(group, groupBytes()),
                          code.multiply(code.divide(inGroup, stepsOfLine()), sharedPanelColumns));
    Value part = code.multiply(code.remainder(inLine, kPartsOfLine), kSharedAlignment);
    from = code.add(code.add(from, part), headBytes());
    if (k % steps != 0) {
      // Any bytes of the panel will do for steps past the end.
      from = code.smaller(from, code.integer(product.panelBytes() - kSharedAlignment));
    }
    from = code.add(from, panelAt(code, product, code.divide(inLine, kPartsOfLine)));
    block.copy(block.sharedAt(code.add(to, code.multiply(number, kSharedAlignment))),
               code.bytesAt(product.weights, from), kSharedAlignment);
  });
}

void CodeSlab::copyHeads(BlockCode &block, const TiledProduct &product, Value to,
                         Value first) const {
  VectorCode &code = block.code;
  const int64_t ofPanel = headBytes() / kSharedAlignment, ofGroup = ofPanel * panels;
  eachOwn(block, groups() * ofGroup, [&](Value number) {
    Value group = code.add(groupAt(code, first), code.divide(number, ofGroup));
    group = code.smaller(group, code.integer(scales() - 1));
    Value inGroup = code.remainder(number, ofGroup);
    Value part = code.multiply(code.remainder(inGroup, ofPanel), kSharedAlignment);
    Value from = code.add(code.multiply(group, groupBytes()), part);
    from = code.add(from, panelAt(code, product, code.divide(inGroup, ofPanel)));
    block.copy(block.sharedAt(code.add(to, code.multiply(number, kSharedAlignment))),
               code.bytesAt(product.weights, from), kSharedAlignment);
  });
}

void CodeSlab::copy(BlockCode &block, const TiledProduct &product, Value to, Value first) const {
  copyCodes(block, product, to, first);
  copyHeads(block, product, block.code.add(to, codesBytes()), first);
}

// --- numbers -------------------------------------------------------------------------------------

static Value constant(VectorCode &code, int64_t value) {
  return arith::ConstantIntOp::create(code.builder, code.location, code.i32, value);
}

/// Returns the codes of 4 bits at byte `codes` of shared memory, minus their codes of zero, which
/// begin at byte `zeros` and exist if the type has them: adjacent columns, from `column` of a panel
/// on, of one step and then of the next.
SmallVector<Value> CodeSlab::halvesAt(BlockCode &block, Value codes, Value zeros,
                                      Value column) const {
  constexpr int64_t bits = 4, largest = 0xF, inWord = 8;
  VectorCode &code = block.code;
  auto shifted = [&](Value word, Value by) -> Value {
    return arith::ShRUIOp::create(code.builder, code.location, word, by);
  };
  auto half = [&](Value word, int64_t number) -> Value {
    return arith::AndIOp::create(code.builder, code.location,
                                 shifted(word, constant(code, bits * number)),
                                 constant(code, largest));
  };
  Value word = block.loadWords(block.sharedAt(codes), 1).front(), ofZero;
  if (type.hasZeros()) {
    Value at = code.multiply(code.divide(column, inWord), sizeof(uint32_t));
    Value inOrder = code.multiply(code.remainder(column, inWord), bits);
    ofZero = shifted(block.loadWords(block.sharedAt(code.add(zeros, at)), 1).front(),
                     arith::TruncIOp::create(code.builder, code.location, code.i32, inOrder));
  }
  SmallVector<Value> numbers;
  for (int64_t step = 0; step < stepsOfLine(); ++step) {
    for (int64_t i = 0; i < kTogether; ++i) {
      Value number = half(word, stepsOfLine() * i + step);
      if (ofZero) {
        number = arith::SubIOp::create(code.builder, code.location, number, half(ofZero, i));
      }
      numbers.push_back(arith::SIToFPOp::create(code.builder, code.location, code.f32, number));
    }
  }
  return numbers;
}

/// Returns the numbers of the codes at byte `codes` of shared memory, in the order of halvesAt().
/// `head` is the place of their group's factors.
SmallVector<Value> CodeSlab::numbersAt(BlockCode &block, Value codes, Value head,
                                       Value column) const {
  VectorCode &code = block.code;
  auto factorsAt = [&](Value begin) {
    Value at = code.add(begin, code.multiply(column, type.getScaleBytes()));
    return block.load(block.sharedAt(at), kTogether, type.getScales());
  };
  Value after = code.add(head, sharedPanelColumns * type.getScaleBytes());
  SmallVector<Value> numbers = type.hasHalves()
                                   ? halvesAt(block, codes, after, column)
                                   : block.load(block.sharedAt(codes), kTogether, type.getCodes());
  const SmallVector<Value> scales = factorsAt(head);
  const SmallVector<Value> minimums = type.getMinimums() ? factorsAt(after) : SmallVector<Value>();
  for (auto [i, number] : llvm::enumerate(numbers)) {
    const size_t own = i % kTogether;
    number = type.getMinimums() ? code.fma(number, scales[own], minimums[own])
                                : code.multiplyFloat(number, scales[own]);
  }
  return numbers;
}

void CodeSlab::dequantise(BlockCode &block, Value from, Value to, Value first) const {
  VectorCode &code = block.code;
  const int64_t ofPanel = sharedPanelColumns / kTogether, ofLine = ofPanel * panels;
  Value heads = code.add(from, codesBytes());
  eachOwn(block, lines() * ofLine, [&](Value word) {
    Value inLine = code.remainder(word, ofLine);
    Value step = code.multiply(code.divide(word, ofLine), stepsOfLine());
    Value panel = code.divide(inLine, ofPanel);
    Value column = code.multiply(code.remainder(inLine, ofPanel), kTogether);
    Value number = code.add(code.multiply(groupInSlab(code, first, step), panels), panel);
    const SmallVector<Value> numbers =
        numbersAt(block, code.add(from, code.multiply(word, kTogether)),
                  code.add(heads, code.multiply(number, headBytes())), column);
    Value inStep = code.multiply(inLine, kTogether * kFloatBytes);
    for (int64_t i = 0; i < stepsOfLine(); ++i) {
      Value own = code.add(step, i);
      SmallVector<Value> four(
          ArrayRef(numbers).slice(static_cast<size_t>(i * kTogether), kTogether));
      if (k % steps != 0) {
        Value isThere = code.less(code.add(first, own), code.integer(k));
        for (Value &each : four) {
          each = code.select(isThere, each, code.number(0));
        }
      }
      Value place = code.add(code.multiply(own, pitch()), inStep);
      block.store(four, block.sharedAt(code.add(to, place)));
    }
  });
}

} // namespace heddle
