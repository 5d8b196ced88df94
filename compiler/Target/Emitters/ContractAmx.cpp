// SPDX-License-Identifier: Apache-2.0
///
/// Tiles of 16 rows on AMX. An instruction multiplies 16 rows of 64 bytes with 16 columns of 64
/// bytes: 32 steps of k in bf16, or 64 with 8-bit codes. The remainder of k uses separate registers
/// with shorter rows, because other memory follows the last row of a panel.
///
/// Sums of codes are the same on every target. For bf16, an instruction adds up the products of
/// even steps and those of odd steps separately, adds both, and then adds the result to the sum. It
/// flushes subnormal numbers to zero.
#include "compiler/Target/Emitters/ContractAmx.h"

#include "compiler/Target/Emitters/ContractIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

// The registers: sums, one for each vector of columns of a tile; rows and weights; and rows and
// weights of the last steps.
static constexpr int64_t kSums = 0;
static constexpr int64_t kMostVectors = 3;
static constexpr int64_t kRows = 3, kWeights = 4, kLastRows = 5, kLastWeights = 6;
// Rows whose sums of codes are scaled side by side.
static constexpr int64_t kTileRowsTogether = 4;

// Returns the steps of k in a row of a register.
static int64_t stepsOf(const PanelLayout &layout) {
  return kAmxRowBytes / 4 * dataflow::elementsTogether(layout.arithmetic);
}

bool runsOnAmx(const TargetDescription &target, const PanelLayout &layout) {
  if (!target.hasAmx || target.tileVectors > kMostVectors) {
    return false;
  }
  switch (layout.arithmetic) {
  case dataflow::Arithmetic::F32:
    return false;
  case dataflow::Arithmetic::Bf16:
    return true;
  case dataflow::Arithmetic::Integers:
    return !layout.hasHalves() && !layout.hasZeros() &&
           (layout.group == PanelLayout::allSteps || layout.group % stepsOf(layout) == 0);
  }
  llvm_unreachable("every arithmetic is handled");
}

void enterAmx(VectorCode &code, func::FuncOp kernel, const PanelLayout &layout, int64_t k) {
  const int64_t together = dataflow::elementsTogether(layout.arithmetic);
  AmxRegisters registers;
  for (int64_t v = 0; v < kMostVectors; ++v) {
    registers.set(kSums + v, kAmxRows, kAmxRowBytes);
  }
  registers.set(kRows, kAmxRows, kAmxRowBytes);
  registers.set(kWeights, kAmxRowBytes / 4, kAmxRowBytes);
  if (const int64_t last = llvm::divideCeilSigned(k % stepsOf(layout), together)) {
    registers.set(kLastRows, kAmxRows, 4 * last);
    registers.set(kLastWeights, last, kAmxRowBytes);
  }
  enterAmx(code, kernel, registers);
}

// --- tiles -----------------------------------------------------------------------------------

namespace {
/// A tile whose code is being emitted.
struct AmxTile {
  const TileColumns &tile;
  VectorCode &code = tile.code;
  const PanelLayout &layout = tile.layout;
  /// Bytes between the rows of a tile, between rows of a panel whose steps are multiplied by one
  /// instruction, and between rows of sums.
  Value rowStride = code.multiply(tile.entry.getArgument(Stride), sizeof(float));
  Value panelStride = code.integer(layout.rowBytes * dataflow::elementsTogether(layout.arithmetic));
  Value sumStride = code.integer(code.target.panelColumns * int64_t(sizeof(float)));

  void clear();
  void multiply(Value codes, Value inPanel, Value k, int64_t rows, int64_t weights);
  void ask(Value k);
  void multiplySteps(Value codes, Value begin, Value end);
  void store(Value memory);
};
} // namespace

void AmxTile::clear() {
  for (int64_t v = 0; v < tile.vectors; ++v) {
    clearAmx(code, kSums + v);
  }
}

// Adds the steps from `k` on, as many as registers `rows` and `weights` hold. Their weights are
// steps from number `inPanel` on of the panel part that begins at `codes`.
void AmxTile::multiply(Value codes, Value inPanel, Value k, int64_t rows, int64_t weights) {
  const bool isBf16 = layout.arithmetic == dataflow::Arithmetic::Bf16;
  const int64_t elementBytes = isBf16 ? sizeof(uint16_t) : sizeof(uint8_t);
  loadAmx(code, rows, code.bytesAt(tile.entry.getArgument(Rows), code.multiply(k, elementBytes)),
          rowStride);
  Value line = code.bytesAt(codes, code.multiply(inPanel, layout.rowBytes));
  for (int64_t v = 0; v < tile.vectors; ++v) {
    loadAmx(code, weights, code.at(line, tile.first + v * code.lanes), panelStride);
    if (isBf16) {
      multiplyAmxBf16(code, kSums + v, rows, weights);
    } else {
      multiplyAmxCodes(code, kSums + v, rows, weights);
    }
  }
}

// Prefetches, for the steps from `k` on, the lines that rounds of a vector tile would prefetch.
void AmxTile::ask(Value k) {
  if (tile.first != 0 || tile.linesAsked == 0) {
    return;
  }
  Value ahead = tile.entry.getArgument(Ahead), step = tile.entry.getArgument(TileArgument::Step);
  for (int64_t u = 0; u < stepsOf(layout); u += layout.unroll()) {
    Value line = code.bytesAt(ahead, code.multiply(code.add(k, u), step));
    for (int64_t p = 0; p < tile.linesAsked; ++p) {
      code.prefetch(code.bytesAt(line, code.integer(p * kLineBytes)));
    }
  }
}

// Adds the steps [begin, end) of k; `codes` is the address of the first step's weights.
void AmxTile::multiplySteps(Value codes, Value begin, Value end) {
  const int64_t steps = stepsOf(layout);
  Value count = code.subtract(end, begin);
  Value whole = code.add(begin, code.multiply(code.divide(count, steps), steps));
  code.loop(begin, whole, steps, [&](Value k) {
    ask(k);
    multiply(codes, code.subtract(k, begin), k, kRows, kWeights);
  });
  code.when(code.less(whole, end),
            [&] { multiply(codes, code.subtract(whole, begin), whole, kLastRows, kLastWeights); });
}

void AmxTile::store(Value memory) {
  for (int64_t v = 0; v < tile.vectors; ++v) {
    storeAmx(code, kSums + v, code.at(memory, tile.first + v * code.lanes), sumStride);
  }
}

// --- codes -----------------------------------------------------------------------------------

// Converts the sums of codes at `integers` to f32, using scale number `number` of each row and the
// factors of columns at `head`, and adds them to the sums of the tile, or stores them if `isFirst`.
static void addScaled(const AmxTile &amx, Value integers, Value head, Value number, bool isFirst) {
  VectorCode &code = amx.code;
  const TileColumns &tile = amx.tile;
  auto words = VectorType::get({code.lanes}, code.i32);
  Value rows = tile.entry.getArgument(Rows), stride = tile.entry.getArgument(Stride);
  code.loop(code.integer(0), code.integer(kAmxRows), kTileRowsTogether, [&](Value first) {
    SmallVector<Value> own, exact, before, places;
    for (int64_t r = 0; r < kTileRowsTogether; ++r) {
      Value row = code.add(first, r);
      own.push_back(code.at(rows, code.multiply(row, stride)));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value place =
            code.add(code.multiply(row, code.target.panelColumns), tile.first + v * code.lanes);
        exact.push_back(LLVM::LoadOp::create(code.builder, code.location, words,
                                             code.at(integers, place), sizeof(int32_t)));
        places.push_back(code.at(tile.entry.getArgument(Sums), place));
        if (!isFirst) {
          before.push_back(code.loadVector(places.back()));
        }
      }
    }
    const TileColumns part{code, tile.layout, tile.entry, own, tile.first, tile.vectors, 0};
    for (auto [sum, place] :
         llvm::zip_equal(scaledSums(part, exact, head, number, before), places)) {
      code.storeVector(sum, place);
    }
  });
}

static void emitIntegers(AmxTile &amx) {
  VectorCode &code = amx.code;
  const PanelLayout &layout = amx.layout;
  Block &entry = amx.tile.entry;
  Value weights = entry.getArgument(Weights), k = entry.getArgument(K);
  Value integers =
      code.frame(cast<func::FuncOp>(entry.getParentOp()), kAmxRows * code.target.panelColumns);
  auto ofGroup = [&](Value begin, Value end, Value head, Value number, bool isFirst) {
    amx.clear();
    amx.multiplySteps(code.bytesAt(head, code.integer(layout.headBytes)), begin, end);
    amx.store(integers);
    addScaled(amx, integers, head, number, isFirst);
  };
  Value none = code.integer(0);
  if (layout.group == PanelLayout::allSteps) {
    ofGroup(none, k, weights, none, /*isFirst=*/true);
    return;
  }
  ofGroup(none, code.smaller(code.integer(layout.group), k), weights, none, /*isFirst=*/true);
  code.loop(code.integer(layout.group), k, layout.group, [&](Value begin) {
    Value number = code.divide(begin, layout.group);
    Value head = code.bytesAt(weights, code.multiply(number, layout.groupBytes()));
    ofGroup(begin, code.smaller(code.add(begin, layout.group), k), head, number,
            /*isFirst=*/false);
  });
}

void emitAmxTile(const TileColumns &tile) {
  assert(tile.vectors <= kMostVectors && "there are registers for the sums");
  AmxTile amx{tile};
  if (tile.layout.arithmetic == dataflow::Arithmetic::Integers) {
    emitIntegers(amx);
    return;
  }
  amx.clear();
  amx.multiplySteps(tile.entry.getArgument(Weights), tile.code.integer(0),
                    tile.entry.getArgument(K));
  amx.store(tile.entry.getArgument(Sums));
}

} // namespace heddle
