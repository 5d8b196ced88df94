// SPDX-License-Identifier: Apache-2.0
///
/// The emulated GPU reports attention kernels with one defect each; defects that no device can
/// detect give wrong results.
#include "tests/EmulatedCompiler/LaunchedAttention.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

/// Two tiles, two spans of keys, and a window.
AttentionShape shapeWith(FloatProducts products) {
  return {.heads = 1,
          .keySize = 16,
          .valueSize = 16,
          .visibility = transformer::Visibility::band(70, 0),
          .products = products};
}
constexpr int64_t kLength = 100;

// --- defects -----------------------------------------------------------------------------------

/// Barriers of a kernel: the one before the place of the next tile is stored, and in the loop over
/// spans those after keys and after values are stored.
constexpr size_t kBeforePlace = 1, kAfterKeys = 3, kAfterValues = 4;

/// Erases a barrier.
template <size_t number> void noBarrier(LLVM::LLVMFuncOp function) {
  const auto barriers = all<NVVM::Barrier0Op>(function);
  EXPECT_EQ(barriers.size(), 5U);
  barriers[number]->erase();
}

void valuesBeforeScores(LLVM::LLVMFuncOp function) {
  // Keys are stored before the scores of the previous span are complete.
  auto barriers = all<NVVM::Barrier0Op>(function);
  Operation *const second = barriers[kAfterValues];
  second->erase();
  OpBuilder builder(barriers[kAfterKeys]);
  NVVM::Barrier0Op::create(builder, function.getLoc());
}

void noEdges(LLVM::LLVMFuncOp function) {
  for (LLVM::SMinOp smaller : all<LLVM::SMinOp>(function)) {
    smaller.replaceAllUsesWith(smaller.getA());
  }
}

/// Returns the stores of a thread to shared memory that have so many numbers: four of a span, or
/// two of a row between sections.
SmallVector<LLVM::StoreOp> storesOf(LLVM::LLVMFuncOp function, int64_t numbers) {
  SmallVector<LLVM::StoreOp> stores;
  for (LLVM::StoreOp store : all<LLVM::StoreOp>(function)) {
    auto vector = dyn_cast<VectorType>(store.getValue().getType());
    if (vector && vector.getNumElements() == numbers) {
      stores.push_back(store);
    }
  }
  return stores;
}

void oneStoreMissing(LLVM::LLVMFuncOp function) { storesOf(function, 4).back().erase(); }
void noSumBefore(LLVM::LLVMFuncOp function) { storesOf(function, 2).front().erase(); }

template <int32_t bytes> void matrixElsewhere(LLVM::LLVMFuncOp function) {
  NVVM::LdMatrixOp load = all<NVVM::LdMatrixOp>(function).back();
  load.getPtrMutable().assign(moved(load, load.getPtr(), bytes));
}

struct Defect {
  const char *name;
  FloatProducts products;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
  unsigned sharedLess = 0;
};
constexpr char kNotWritten[] =
    "reads byte [0-9]+ of shared memory, which (nobody has written|thread [0-9]+ has written since "
    "the last barrier)";
constexpr char kRace[] =
    "race: (writes byte [0-9]+ of shared memory, which thread.* read|reads byte [0-9]+ of shared "
    "memory, which thread [0-9]+ has written|writes byte [0-9]+ of shared memory, which thread "
    "[0-9]+ has written) since the last barrier";
/// Which of the two is found first depends on the order of threads.
constexpr char kNotAwaited[] =
    "(reads|writes) byte [0-9]+ of shared memory, which .*(nobody has written|since the last "
    "barrier)";
constexpr auto kF32 = FloatProducts::Exact, kBf16 = FloatProducts::Bf16,
               kTf32 = FloatProducts::Tf32;

const Defect kDefects[] = {
    {"keysNotAwaited", kF32, noBarrier<kAfterKeys>, kNotWritten},
    {"valuesNotAwaited", kF32, noBarrier<kAfterValues>, kNotAwaited},
    {"placeStoredEarly", kF32, noBarrier<kBeforePlace>, kRace},
    {"keysStoredEarly", kF32, valuesBeforeScores, kRace},
    {"noEdges", kF32, noEdges, "reads [0-9]+ bytes that are in no allocation of the GPU"},
    {"oneStoreMissing", kF32, oneStoreMissing, kNotWritten},
    {"noSumBeforeTheFirstSection", kF32, noSumBefore, kNotWritten},
    {"oneLaneElsewhere", kF32, oneLaneElsewhere<NVVM::ShflOp>,
     "deadlock: 31 threads of warp 1 wait at shfl.bfly, which 1 never reach"},
    {"tooLittleShared", kF32, nothing,
     "uses [0-9]+ bytes from byte [0-9]+ of shared memory on, of which the block has [0-9]+", 1024},
    {"keysNotAwaitedInBf16", kBf16, noBarrier<kAfterKeys>, kNotWritten},
    {"valuesNotAwaitedInBf16", kBf16, noBarrier<kAfterValues>, kNotAwaited},
    {"oneLaneElsewhereInBf16", kBf16, oneLaneElsewhere<NVVM::MmaOp>,
     "deadlock: 31 threads of warp 1 wait at mma.m16n8k16, which 1 never reach"},
    {"halfLeavesEarly", kBf16, halfLeavesEarly,
     "deadlock: 64 threads wait at a barrier, which 64 never reach"},
    {"rowBetweenMultiples", kBf16, matrixElsewhere<8>,
     "loads a row of a matrix at an address that is no multiple of 16"},
    {"valuesNotAwaitedInTf32", kTf32, noBarrier<kAfterValues>, kNotAwaited}};

class PlantedAttentionDefects : public testing::TestWithParam<Defect> {};

TEST_P(PlantedAttentionDefects, IsFound) {
  const AttentionShape shape = shapeWith(GetParam().products);
  const CompiledAttention attention(shape);
  GetParam().plant(attention.body());
  expectReported(attention.runAlone(kLength, GetParam().sharedLess), "attention",
                 GetParam().report);
}

const auto kName = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Attention, PlantedAttentionDefects, testing::ValuesIn(kDefects), kName);

// --- wrong numbers -----------------------------------------------------------------------------

/// Makes each lane keep its own maximum, or its own sum; the two exchanges differ in their
/// position.
template <bool isLast> void notExchanged(LLVM::LLVMFuncOp function) {
  SmallVector<NVVM::ShflOp> exchanges;
  for (NVVM::ShflOp each : all<NVVM::ShflOp>(function)) {
    if (each.getKind() == NVVM::ShflKind::bfly) {
      exchanges.push_back(each);
    }
  }
  NVVM::ShflOp chosen = isLast ? exchanges.back() : exchanges.front();
  chosen.replaceAllUsesWith(chosen.getVal());
}

/// Omits the rescaling of sums of values when the maximum of their row grows.
void notCorrected(LLVM::LLVMFuncOp function) {
  for (LLVM::FMulOp product : all<LLVM::FMulOp>(function)) {
    // Only the rescaled value is a loop-carried argument.
    if (isa<BlockArgument>(product.getLhs()) && !isa<BlockArgument>(product.getRhs())) {
      product.replaceAllUsesWith(product.getLhs());
    }
  }
}

/// Makes keys before the window of a row visible.
void noWindow(LLVM::LLVMFuncOp function) {
  for (LLVM::ICmpOp compare : all<LLVM::ICmpOp>(function)) {
    auto type = dyn_cast<VectorType>(compare.getType());
    if (!type) {
      continue;
    }
    for (Operation *user : compare->getUsers()) {
      auto select = dyn_cast<LLVM::SelectOp>(user);
      if (select && select.getTrueValue().getDefiningOp<LLVM::ConstantOp>()) {
        select.replaceAllUsesWith(select.getFalseValue());
      }
    }
  }
}

/// Exchanges two operands of the last matrix product.
template <unsigned first, unsigned second> void exchanged(LLVM::LLVMFuncOp function) {
  NVVM::MmaOp product = all<NVVM::MmaOp>(function).back();
  Value kept = product->getOperand(first);
  product->setOperand(first, product->getOperand(second));
  product->setOperand(second, kept);
}

void notTransposed(LLVM::LLVMFuncOp function) {
  all<NVVM::LdMatrixOp>(function).back().setLayout(NVVM::MMALayout::row);
}

struct WrongNumbers {
  const char *name;
  FloatProducts products;
  std::function<void(LLVM::LLVMFuncOp)> plant;
};
const WrongNumbers kWrongNumbers[] = {{"maximumNotExchanged", kF32, notExchanged<false>},
                                      {"sumNotExchanged", kF32, notExchanged<true>},
                                      {"notCorrected", kF32, notCorrected},
                                      {"noWindow", kF32, noWindow},
                                      {"valuesNotTransposed", kBf16, notTransposed},
                                      {"weightsExchanged", kBf16, exchanged<1, 2>},
                                      {"valuesExchanged", kTf32, exchanged<4, 5>}};
class PlantedWrongAttention : public testing::TestWithParam<WrongNumbers> {};

TEST_P(PlantedWrongAttention, Differs) {
  const AttentionShape shape = shapeWith(GetParam().products);
  const CompiledAttention attention(shape), right(shape);
  GetParam().plant(attention.body());
  const KernelOutcome outcome = attention.runAlone(kLength);
  ASSERT_EQ(outcome.report, "");
  EXPECT_NE(outcome.values, right.runAlone(kLength).values);
}

INSTANTIATE_TEST_SUITE_P(Attention, PlantedWrongAttention, testing::ValuesIn(kWrongNumbers), kName);

} // namespace
} // namespace heddle
