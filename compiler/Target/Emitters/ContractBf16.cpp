// SPDX-License-Identifier: Apache-2.0
///
/// Rounds rows to bf16, and emits the inner loop over them. For each lane, vdpbf16ps first adds the
/// product of the second elements of a pair and then that of the first, and rounds each time as FMA
/// does: products of bf16 are exact in f32. It flushes subnormal numbers to zero; code without it
/// does not.
#include "compiler/Target/Emitters/ContractBf16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::transformer::bf16Together;

namespace heddle {

// A bf16 is the upper half of the f32 of the same value.
static constexpr int32_t kUpperHalf = static_cast<int32_t>(0xFFFF0000);
static constexpr int32_t kHalfBits = 16;

static int64_t bytesOf(int64_t k, size_t elementBytes) {
  return static_cast<int64_t>(llvm::alignTo(k, kMostLanes) * elementBytes);
}

namespace {
/// Lanes of 32 bits, each a pair of bf16.
struct Pairs {
  explicit Pairs(VectorCode &code)
      : code(code), words(VectorType::get({code.lanes}, code.i32)),
        halves(VectorType::get({bf16Together * code.lanes}, code.builder.getBF16Type())) {}

  Value splat(int32_t value) const {
    return arith::ConstantOp::create(code.builder, code.location,
                                     DenseElementsAttr::get(words, value));
  }
  Value load(Value address) const {
    return LLVM::LoadOp::create(code.builder, code.location, words, address, sizeof(int32_t));
  }
  /// Loads one pair into all lanes.
  Value broadcast(Value address) const {
    Value pair =
        LLVM::LoadOp::create(code.builder, code.location, code.i32, address, sizeof(int32_t));
    return vector::BroadcastOp::create(code.builder, code.location, words, pair);
  }
  Value as(Type type, Value value) const {
    return LLVM::BitcastOp::create(code.builder, code.location, type, value);
  }
  /// Return the first and second elements of pairs in f32.
  Value first(Value pairs) const {
    return as(code.vector,
              arith::ShLIOp::create(code.builder, code.location, pairs, splat(kHalfBits)));
  }
  Value second(Value pairs) const {
    return as(code.vector,
              arith::AndIOp::create(code.builder, code.location, pairs, splat(kUpperHalf)));
  }
  Value call(StringRef intrinsic, Type result, ValueRange arguments) const {
    return LLVM::CallIntrinsicOp::create(code.builder, code.location, result,
                                         code.builder.getStringAttr(intrinsic), arguments)
        .getResults();
  }

  VectorCode &code;
  VectorType words, halves;
};
} // namespace

// --- rows ------------------------------------------------------------------------------------

RoundedRows::RoundedRows(const TargetDescription &target, dataflow::ContractAttr computes)
    : PreparedRows(computes, bytesOf(computes.getK(), target.hasBf16DotProduct ? sizeof(uint16_t)
                                                                               : sizeof(float))) {}

int64_t RoundedRows::mostBytes(int64_t k) { return bytesOf(k, sizeof(float)); }

void RoundedRows::emitGroup(VectorCode &code, Value from, Value to) const {
  constexpr int64_t unroll = 4;
  code.overRow(k, unroll, [&](Value column, int64_t valid) {
    Value numbers = code.loadVector(code.at(from, column), valid);
    if (!code.target.hasBf16DotProduct) {
      code.storeVector(code.nearestBf16(numbers), code.at(to, column));
      return;
    }
    assert(code.lanes == kMostLanes && "the instruction is that of 512 bits");
    auto halves = VectorType::get({code.lanes}, code.builder.getBF16Type());
    Value narrow = Pairs(code).call("llvm.x86.avx512bf16.cvtneps2bf16.512", halves, {numbers});
    LLVM::StoreOp::create(code.builder, code.location, narrow,
                          code.storedAt(to, column, code.builder.getBF16Type()), sizeof(uint16_t));
  });
}

// --- dot products ----------------------------------------------------------------------------

Value broadcastBf16Pair(VectorCode &code, Value address) {
  Pairs pairs(code);
  return pairs.as(pairs.halves, pairs.broadcast(address));
}

Value addBf16Products(VectorCode &code, Value sum, Value pair, Value words) {
  Pairs pairs(code);
  return pairs.call("llvm.x86.avx512bf16.dpbf16ps.512", code.vector,
                    {sum, pair, pairs.as(pairs.halves, words)});
}

// --- tiles -----------------------------------------------------------------------------------

// Adds the products of the pair of steps of k that begins at `k`: a vector of weights for each of
// the columns times a pair of every row. `weights` are the weights of these steps.
static SmallVector<Value> addPairs(const TileColumns &tile, ArrayRef<Value> weights, Value k,
                                   ValueRange sums) {
  VectorCode &code = tile.code;
  Pairs pairs(code);
  SmallVector<Value> next(sums);
  if (code.target.hasBf16DotProduct) {
    for (size_t r = 0; r < tile.rows.size(); ++r) {
      Value place = code.storedAt(tile.rows[r], k, code.builder.getBF16Type());
      Value row = broadcastBf16Pair(code, place);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = next[r * tile.vectors + v];
        sum = addBf16Products(code, sum, row, weights[v]);
      }
    }
    return next;
  }
  for (const bool isSecond : {true, false}) {
    SmallVector<Value> wide;
    for (Value each : weights) {
      wide.push_back(isSecond ? pairs.second(each) : pairs.first(each));
    }
    Value place = isSecond ? code.add(k, 1) : k;
    for (size_t r = 0; r < tile.rows.size(); ++r) {
      Value factor = code.broadcast(code.loadScalar(code.at(tile.rows[r], place)));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = next[r * tile.vectors + v];
        sum = code.fma(factor, wide[v], sum);
      }
    }
  }
  return next;
}

void emitBf16Tile(const TileColumns &tile) {
  VectorCode &code = tile.code;
  Pairs pairs(code);
  Value weights = tile.entry.getArgument(Weights);
  // An odd k is padded with zeros.
  Value k = code.multiply(code.divideUp(tile.entry.getArgument(K), bf16Together), bf16Together);
  SmallVector<Value> sums(tile.rows.size() * tile.vectors, code.splat(0));
  tile.store(tile.steps(code.integer(0), k, sums, [&](Value inPanel, Value k, ValueRange sums) {
    Value panelRow = code.bytesAt(weights, code.multiply(inPanel, tile.layout.rowBytes));
    SmallVector<Value> loaded;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      loaded.push_back(pairs.load(code.at(panelRow, tile.first + v * code.lanes)));
    }
    return addPairs(tile, loaded, k, sums);
  }));
}

} // namespace heddle
