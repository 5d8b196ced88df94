// SPDX-License-Identifier: Apache-2.0
///
/// Rounds rows: the threads of all blocks take 16-byte parts of them in turn, so that loads and
/// stores of neighbouring threads are contiguous. Rows past the end are zero.
#include "compiler/Target/Cuda/RowBlocks.h"

#include "heddle/Limits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstddef>

using namespace mlir;

namespace heddle {

/// What rounding saves and takes, in attoseconds, estimated from figures of others for an H200
/// (docs/decisions/0078) and not measured: for each step of a result, for each element of a row,
/// and for the launch of another kernel, twice that.
static constexpr int64_t kSaved = 1'160, kTaken = 1'400'000, kLaunch = 4'000'000'000'000;
/// The fewest columns for which it saves almost twice what it takes, and the fewest rows that fill
/// a GPU with tiles.
static constexpr int64_t kFewestColumns = 2304, kFewestRows = 1024;
/// More columns make no difference, and the products above fit into 64 bits.
static constexpr int64_t kMostColumns = int64_t{1} << 20;

static constexpr BlockWork kRoundWork = {HEDDLE_ROUND_THREADS, kSharedAlignment,
                                         /*many=*/{1, 1},
                                         /*few=*/{1, 1},
                                         /*fewRows=*/0,        kAnyBlocks,
                                         /*findsPieces=*/true};

Value RowBlocks::blockAt(VectorCode &code, Value memory, Value number, Value slabNumber) const {
  Value block = code.add(code.multiply(number, k / slab), slabNumber);
  return code.bytesAt(memory, code.multiply(block, blockBytes()));
}

RoundedLaunches worthRounding(int64_t n, const RowBlocks &blocks) {
  if (n < kFewestColumns || blocks.rowBytes() > largestRoundedBytes) {
    return {};
  }
  const int64_t ofRow = blocks.k * (std::min(n, kMostColumns) * kSaved - kTaken);
  return {std::max(kFewestRows, llvm::divideCeilSigned(kLaunch, ofRow)), blocks};
}

Value isNull(VectorCode &code, Value address) {
  Value bits = LLVM::PtrToIntOp::create(code.builder, code.location, code.i64, address);
  return code.equal(bits, code.integer(0));
}

Value roundedRows(VectorCode &code, const KernelArguments &arguments) {
  Value of = code.bytesAt(arguments.scratch(code),
                          code.integer(int64_t{offsetof(HeddleRoundedRows, rows)}));
  return code.loadPointer(of);
}

namespace {
/// The code of a thread that rounds rows.
class RoundCode {
public:
  RoundCode(VectorCode &code, const KernelBody &body, const RowBlocks &blocks, bool areAligned)
      : code(code), block(code, body.function), warpgroups(block), blocks(blocks),
        from(body.operand(code, 0)), to(roundedRows(code, body.arguments)),
        firstRow(body.arguments.rowBegin),
        count(code.subtract(body.arguments.rowEnd, body.arguments.rowBegin)),
        rowElements(body.kernel.getOperandBuffer(0).getRowElements()), areAligned(areAligned) {}

  void emit();

private:
  SmallVector<Value> wordsOf(Value row, Value part);
  Value placeOf(Value row, Value part);

  VectorCode &code;
  BlockCode block;
  WarpgroupCode warpgroups;
  const RowBlocks blocks;
  const Value from, to, firstRow, count;
  const int64_t rowElements;
  const bool areAligned;
};
} // namespace

/// Returns the words of a part of a row; zeros for rows past the end.
SmallVector<Value> RoundCode::wordsOf(Value row, Value part) {
  return block.choose(
      code.less(row, count),
      [&] {
        Value element = code.add(code.multiply(code.add(firstRow, row), rowElements),
                                 code.multiply(part, kCoreSteps));
        SmallVector<Value> numbers;
        for (int64_t first = 0; first < kCoreSteps; first += kNumbersTogether) {
          Value four = block.loadFour(code.at(from, code.add(element, first)), areAligned);
          llvm::append_range(numbers, elementsOf(code, four));
        }
        return warpgroups.partOf(numbers);
      },
      [&] { return SmallVector<Value>(kCoreRowBytes / sizeof(uint32_t), warpgroups.constant(0)); });
}

Value RoundCode::placeOf(Value row, Value part) {
  const int64_t lineParts = blocks.slab / kCoreSteps;
  Value inBlock = code.remainder(row, RowBlocks::rows), inSlab = code.remainder(part, lineParts);
  Value place = code.add(
      code.multiply(inBlock, blocks.lineBytes()),
      code.multiply(warpgroups.permuted(inBlock, inSlab, blocks.lineBytes()), kCoreRowBytes));
  return code.bytesAt(
      blocks.blockAt(code, to, code.divide(row, RowBlocks::rows), code.divide(part, lineParts)),
      place);
}

void RoundCode::emit() {
  const int64_t parts = blocks.k / kCoreSteps;
  Value rows = code.multiply(code.divideUp(count, RowBlocks::rows), RowBlocks::rows);
  auto caller = [&](Value number) { return code.multiply(number, HEDDLE_ROUND_THREADS); };
  Value own = code.add(caller(LaunchPieces::first(code)), block.thread);
  Value step = caller(LaunchPieces::step(code));
  code.walk(own, code.multiply(rows, parts), [&](Value number) {
    Value row = code.divide(number, parts), part = code.remainder(number, parts);
    block.storeWords(wordsOf(row, part), placeOf(row, part));
    return code.add(number, step);
  });
}

void emitRowBlocks(VectorCode &code, const KernelBody &body, const RowBlocks &blocks,
                   bool areAligned) {
  kRoundWork.note(body.function);
  RoundCode(code, body, blocks, areAligned).emit();
}

} // namespace heddle
