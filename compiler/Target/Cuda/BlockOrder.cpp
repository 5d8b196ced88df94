// SPDX-License-Identifier: Apache-2.0
///
/// Sorts rows by group, stably, by counting. The rows are divided into segments, and a thread has
/// one group in one segment: it counts its rows, adds up the counts of all threads that come before
/// it, group by group and within a group segment by segment, and writes its rows from there on. All
/// places are one piece of work, so a block counts once.
///
/// Neighbouring threads have neighbouring groups of the same segment, so they read the same rows at
/// the same time. Shared memory holds the counts: [groups][segments], i32.
#include "compiler/Target/Cuda/BlockOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// One multiprocessor does all the work, so the block is large.
static constexpr int64_t kOrderThreads = 512;
static constexpr int64_t kCountBytes = sizeof(int32_t);
/// Places of a piece of work: all of them, because every block would count all rows.
static constexpr int64_t kPlaces = int64_t(1) << 40;

std::optional<BlockWork> blockOrder(dataflow::OrderAttr computes) {
  if (computes.getGroups() > kOrderThreads) {
    return std::nullopt;
  }
  const BlockPiece all = {kPlaces, 1};
  return BlockWork{kOrderThreads, kOrderThreads * kCountBytes, all, all, /*fewRows=*/0, kAnyBlocks};
}

std::optional<KernelChoice> orderChoice(dataflow::OrderAttr computes) {
  if (blockOrder(computes)) {
    return std::nullopt;
  }
  return KernelChoice{false, "each thread counts all rows: there are " +
                                 std::to_string(computes.getGroups()) +
                                 " groups, expected at most " + std::to_string(kOrderThreads)};
}

namespace {
/// The thread's part of the work.
class OrderCode {
public:
  OrderCode(BlockCode &block, const KernelBody &body);
  void emit();

private:
  using Values = SmallVector<Value>;
  /// Calls `each` with the thread's rows; returns the last of the numbers that are carried.
  Value overRows(Value carried, llvm::function_ref<Value(Value row, Value carried)> each);
  Value countAt(Value number) { return block.sharedAt(code.multiply(number, kCountBytes)); }
  Value firstPlace();

  BlockCode &block;
  VectorCode &code;
  const KernelBody &body;
  dataflow::OrderAttr computes;
  /// The address of the choices of all rows.
  Value chosen;
  /// The thread's group, and its place in the counts; not all threads have one.
  Value group, number, isUsed;
  /// The thread's rows.
  Value begin, end;
};
} // namespace

OrderCode::OrderCode(BlockCode &block, const KernelBody &body)
    : block(block), code(block.code), body(body),
      computes(cast<dataflow::OrderAttr>(body.kernel.getComputes())),
      chosen(body.operand(code, 0)) {
  const int64_t groups = computes.getGroups();
  Value rows = body.rows(code).count(code);
  // A decoder step has a few rows: as many segments, so that few counts are added up.
  Value segments =
      code.larger(code.smaller(rows, code.integer(kOrderThreads / groups)), code.integer(1));
  Value segment = code.divide(block.thread, groups), length = code.divideUp(rows, segments);
  group = code.remainder(block.thread, groups);
  number = code.add(code.multiply(group, segments), segment);
  isUsed = code.less(segment, segments);
  begin = code.multiply(segment, length);
  end = code.select(isUsed, code.smaller(code.add(begin, length), rows), begin);
}

Value OrderCode::overRows(Value carried, llvm::function_ref<Value(Value row, Value carried)> each) {
  return code
      .loop(begin, end, 1, {carried},
            [&](Value row, ValueRange before) {
              Value own = chosenNumber(code, chosen, row, computes.getGroups());
              return block.choose(
                  code.equal(own, group), [&] { return Values{each(row, before.front())}; },
                  [&] { return Values{before.front()}; });
            })
      .front();
}

/// Returns the place of the thread's first row.
Value OrderCode::firstPlace() {
  return code
      .loop(code.integer(0), code.select(isUsed, number, code.integer(0)), 1, {code.integer(0)},
            [&](Value earlier, ValueRange sum) {
              Value count = block.loadWords(countAt(earlier), 1).front();
              Value wide = arith::ExtUIOp::create(code.builder, code.location, code.i64, count);
              return Values{code.add(sum.front(), wide)};
            })
      .front();
}

void OrderCode::emit() {
  Value count = overRows(code.integer(0), [&](Value, Value sum) { return code.add(sum, 1); });
  code.when(isUsed, [&] {
    Value word = arith::TruncIOp::create(code.builder, code.location, code.i32, count);
    block.storeWords({word}, countAt(number));
  });
  block.barrier();
  const KernelResult result = KernelResult::load(code, body.arguments);
  const KernelArguments &arguments = body.arguments;
  overRows(firstPlace(), [&](Value row, Value place) {
    Value isOwn = code.both(code.less(code.subtract(arguments.rowBegin, 1), place),
                            code.less(place, arguments.rowEnd));
    code.when(isOwn, [&] { storeIndex(code, row, result.at(code, place, code.integer(0))); });
    return code.add(place, 1);
  });
}

void emitBlockOrder(VectorCode &code, const KernelBody &body) {
  blockOrder(cast<dataflow::OrderAttr>(body.kernel.getComputes()))->note(body.function);
  BlockCode block(code, body.function);
  OrderCode(block, body).emit();
}

} // namespace heddle
