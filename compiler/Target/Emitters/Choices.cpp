// SPDX-License-Identifier: Apache-2.0
///
/// Rows that choose among columns, and rows that are their choices. The choices are integers that
/// another kernel wrote to memory; for any contents, no access is out of bounds.
#include "compiler/Target/Emitters/Emitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;

namespace heddle {

// The number of vectors of a row that are processed together.
static constexpr int64_t kUnrolledChoices = 4;

Value chosenNumber(VectorCode &code, Value numbers, Value row, Value last) {
  // In an unsigned comparison, negative numbers are above all others.
  return arith::MinUIOp::create(code.builder, code.location, code.loadIndex(numbers, row), last);
}
Value chosenNumber(VectorCode &code, Value numbers, Value row, int64_t limit) {
  return chosenNumber(code, numbers, row, code.integer(limit - 1));
}

void storeIndex(VectorCode &code, Value index, Value address) {
  Value narrow = arith::TruncIOp::create(code.builder, code.location, code.i32, index);
  LLVM::StoreOp::create(code.builder, code.location, narrow, address, /*alignment=*/4);
}

// --- top_k -----------------------------------------------------------------------------------

template <> KernelScratch scratchOf(dataflow::TopKAttr) { return {}; }

// Returns an integer that orders elements as choices are ordered: its upper half grows with the
// element, its lower half decreases with the column. It is never the largest integer.
static Value rankOf(VectorCode &code, Value row, Value column) {
  OpBuilder &builder = code.builder;
  Location location = code.location;
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, location, code.i32, value);
  };
  Value element = code.loadScalar(code.at(row, column));
  Value isNan =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, element, element);
  // Adding 0 turns -0 into 0.
  Value bits = arith::BitcastOp::create(builder, location, code.i32,
                                        code.addFloat(element, code.number(0.0f)));
  // Among negative numbers, larger bit patterns are smaller numbers.
  Value sign = arith::ShRSIOp::create(builder, location, bits, number(31));
  Value flips =
      arith::AndIOp::create(builder, location, sign, number(std::numeric_limits<int32_t>::max()));
  Value ordered = arith::XOrIOp::create(builder, location, bits, flips);
  ordered = code.select(isNan, number(std::numeric_limits<int32_t>::max()), ordered);
  Value upper = arith::ShLIOp::create(builder, location,
                                      arith::ExtSIOp::create(builder, location, code.i64, ordered),
                                      code.integer(32));
  return code.add(upper, code.subtract(code.integer(std::numeric_limits<int32_t>::max()), column));
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::TopKAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Value input = body.operand(code, 0);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  KernelResult values = KernelResult::load(code, arguments);
  KernelResult choices = KernelResult::load(code, arguments, 1);
  Value most = code.integer(std::numeric_limits<int64_t>::max());
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value from = code.at(input, code.multiply(row, stride));
    Value first = code.multiply(row, computes.getCount());
    // Each pass finds one choice: the largest rank below the previous one.
    code.loop(
        code.integer(0), code.integer(computes.getCount()), 1, {most},
        [&](Value choice, ValueRange last) {
          Value none = code.integer(std::numeric_limits<int64_t>::min());
          Value best = code.loop(code.ownElement(), code.integer(computes.getColumns()),
                                 code.elementStep(), {none}, [&](Value column, ValueRange carried) {
                                   Value rank = rankOf(code, from, column);
                                   Value isNext = code.both(code.less(rank, last[0]),
                                                            code.less(carried[0], rank));
                                   return SmallVector<Value>{code.select(isNext, rank, carried[0])};
                                 })[0];
          best = code.combineTeam(best, [&](Value a, Value b) { return code.larger(a, b); });
          Value lower = arith::AndIOp::create(code.builder, code.location, best,
                                              code.integer(std::numeric_limits<uint32_t>::max()));
          Value column = code.subtract(code.integer(std::numeric_limits<int32_t>::max()), lower);
          code.once([&] {
            code.storeScalar(code.loadScalar(code.at(from, column)), values.at(code, row, choice));
            storeIndex(code, column, choices.at(code, code.add(first, choice), code.integer(0)));
          });
          return SmallVector<Value>{best};
        });
  });
}

// --- order -----------------------------------------------------------------------------------

// Scratch has a counter for each group.
template <> KernelScratch scratchOf(dataflow::OrderAttr computes) {
  return {.fixed = static_cast<uint64_t>(computes.getGroups()) * sizeof(int64_t)};
}

namespace {
/// A counter for each group, in scratch memory.
struct Counters {
  Value memory;

  Value load(VectorCode &code, Value group) const {
    return LLVM::LoadOp::create(code.builder, code.location, code.i64, at(code, group), 8);
  }
  void store(VectorCode &code, Value count, Value group) const {
    LLVM::StoreOp::create(code.builder, code.location, count, at(code, group), 8);
  }

private:
  Value at(VectorCode &code, Value group) const {
    return code.bytesAt(memory, code.multiply(group, sizeof(int64_t)));
  }
};
} // namespace

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::OrderAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Value numbers = body.operand(code, 0);
  Value rows = body.rows(code).count(code), groups = code.integer(computes.getGroups());
  KernelResult result = KernelResult::load(code, arguments);
  Counters counters{arguments.scratch(code)};
  Value zero = code.integer(0);
  code.loop(zero, groups, 1, [&](Value group) { counters.store(code, zero, group); });
  code.loop(zero, rows, 1, [&](Value row) {
    Value group = chosenNumber(code, numbers, row, computes.getGroups());
    counters.store(code, code.add(counters.load(code, group), 1), group);
  });
  // Prefix sum: turns the count of each group into the index of its first row.
  code.loop(zero, groups, 1, {zero}, [&](Value group, ValueRange before) {
    Value next = code.add(before[0], counters.load(code, group));
    counters.store(code, before[0], group);
    return SmallVector<Value>{next};
  });
  code.loop(zero, rows, 1, [&](Value row) {
    Value group = chosenNumber(code, numbers, row, computes.getGroups());
    Value place = counters.load(code, group);
    counters.store(code, code.add(place, 1), group);
    Value isOwn = code.both(code.less(code.subtract(arguments.rowBegin, 1), place),
                            code.less(place, arguments.rowEnd));
    code.when(isOwn, [&] { storeIndex(code, row, result.at(code, place, zero)); });
  });
}

// --- repeat and place_columns ----------------------------------------------------------------

template <> KernelScratch scratchOf(dataflow::RepeatAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::RepeatAttr computes) {
  Value input = body.operand(code, 0);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  int64_t parts = body.kernel.getRows().parts();
  emitRows(code, body, computes.getWidth(), [&](Value row) {
    Value from = code.at(input, code.multiply(code.divide(row, parts), stride));
    return [&code, from](Value column, int64_t valid) {
      return code.loadVector(code.at(from, column), valid);
    };
  });
}

template <> KernelScratch scratchOf(dataflow::PlaceColumnsAttr) { return {}; }

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::PlaceColumnsAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Value values = body.operand(code, 0), numbers = body.operand(code, 1);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  KernelResult result = KernelResult::load(code, arguments);
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value to = result.at(code, row, code.integer(0));
    code.overRow(computes.getColumns(), kUnrolledChoices, [&](Value column, int64_t valid) {
      code.storeVector(code.splat(0), code.at(to, column), valid);
    });
    Value from = code.at(values, code.multiply(row, stride));
    Value first = code.multiply(row, computes.getCount());
    code.loop(code.integer(0), code.integer(computes.getCount()), 1, [&](Value choice) {
      Value column = chosenNumber(code, numbers, code.add(first, choice), computes.getColumns());
      auto place = [&] {
        code.storeScalar(code.loadScalar(code.at(from, choice)), code.at(to, column));
      };
      if (code.team) {
        // By the member that has stored the zero.
        Value owner = code.remainder(column, code.team->members);
        code.when(code.equal(owner, code.team->own), place);
      } else {
        place();
      }
    });
  });
}

} // namespace heddle
