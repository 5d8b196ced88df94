// SPDX-License-Identifier: Apache-2.0
///
/// What the emulated GPU says of a product in which one thing is wrong. Defects are planted in the
/// code between emitter and code generator, in the tile for many rows, which is written last.
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/Support/Regex.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

template <typename Op> SmallVector<Op> all(LLVM::LLVMFuncOp function) {
  SmallVector<Op> found;
  function.walk([&](Op op) { found.push_back(op); });
  return found;
}
NVVM::CpAsyncWaitGroupOp lastAwait(LLVM::LLVMFuncOp function) {
  return all<NVVM::CpAsyncWaitGroupOp>(function).back();
}
/// The barrier of the loop over slabs.
Operation *barrierOfLoop(LLVM::LLVMFuncOp function) { return lastAwait(function)->getNextNode(); }

// --- defects -----------------------------------------------------------------------------------

void nothing(LLVM::LLVMFuncOp) {}

void noBarrierInLoop(LLVM::LLVMFuncOp function) { barrierOfLoop(function)->erase(); }

void barrierAfterRefill(LLVM::LLVMFuncOp function) {
  barrierOfLoop(function)->moveAfter(all<NVVM::CpAsyncCommitGroupOp>(function).back());
}

void noBarrierBeforeSums(LLVM::LLVMFuncOp function) {
  // Before and after the sums of both parts are stored.
  auto barriers = all<NVVM::Barrier0Op>(function);
  barriers[barriers.size() - 4]->erase();
}

void noBarrierAfterSums(LLVM::LLVMFuncOp function) {
  all<NVVM::Barrier0Op>(function).back()->erase();
}

void oneGroupTooFew(LLVM::LLVMFuncOp function) {
  NVVM::CpAsyncWaitGroupOp await = lastAwait(function);
  await.setN(await.getN() + 1);
}

void nothingCommitted(LLVM::LLVMFuncOp function) {
  for (NVVM::CpAsyncCommitGroupOp commit : all<NVVM::CpAsyncCommitGroupOp>(function)) {
    commit.erase();
  }
}

void oneCopyMissing(LLVM::LLVMFuncOp function) { all<NVVM::CpAsyncOp>(function).back()->erase(); }

void noEdges(LLVM::LLVMFuncOp function) {
  for (LLVM::SMinOp smaller : all<LLVM::SMinOp>(function)) {
    smaller.replaceAllUsesWith(smaller.getA());
  }
}

void wrongLanes(LLVM::LLVMFuncOp function) {
  // All threads take the columns of the first lane.
  LLVM::URemOp lane = all<LLVM::URemOp>(function).back();
  for (LLVM::URemOp each : all<LLVM::URemOp>(function)) {
    auto lanes = each.getRhs().getDefiningOp<LLVM::ConstantOp>();
    if (lanes && cast<IntegerAttr>(lanes.getValue()).getInt() == 8) {
      lane = each;
    }
  }
  OpBuilder builder(lane);
  Value first = LLVM::ConstantOp::create(builder, lane.getLoc(), lane.getType(),
                                         builder.getIntegerAttr(lane.getType(), 0));
  lane.replaceAllUsesWith(first);
}

void halfLeavesEarly(LLVM::LLVMFuncOp function) {
  auto thread = all<NVVM::ThreadIdXOp>(function).front();
  Block *const entry = thread->getBlock();
  Block *const rest = entry->splitBlock(thread->getNextNode());
  OpBuilder builder(function.getContext());
  Block *const end = builder.createBlock(&function.getBody());
  LLVM::ReturnOp::create(builder, function.getLoc(), ValueRange());
  builder.setInsertionPointToEnd(entry);
  Value half = LLVM::ConstantOp::create(builder, function.getLoc(), thread.getType(),
                                        builder.getI32IntegerAttr(64));
  Value isFirst = LLVM::ICmpOp::create(builder, function.getLoc(), LLVM::ICmpPredicate::ult,
                                       thread.getResult(), half);
  LLVM::CondBrOp::create(builder, function.getLoc(), isFirst, rest, end);
}

/// Which of two threads comes first is chance.
constexpr char kRaceOfTwoThreads[] =
    "race: (writes byte [0-9]+ of shared memory, which thread.* read|reads byte [0-9]+ of shared "
    "memory, which thread [0-9]+ has written) since the last barrier";

struct Defect {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
  unsigned sharedLess = 0;
};
const Defect kDefects[] = {
    {"noBarrierInLoop", noBarrierInLoop,
     "reads byte [0-9]+ of shared memory, which nobody has written"},
    {"barrierAfterRefill", barrierAfterRefill,
     "race: (begins to copy to byte [0-9]+ of shared memory, which threads? .*(have|has) read "
     "since "
     "the last barrier|reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is "
     "under way)"},
    {"noBarrierBeforeSums", noBarrierBeforeSums, kRaceOfTwoThreads},
    {"noBarrierAfterSums", noBarrierAfterSums, kRaceOfTwoThreads},
    {"oneGroupTooFew", oneGroupTooFew,
     "race: reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is under way, "
     "which is not awaited"},
    {"nothingCommitted", nothingCommitted,
     "race: reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is under way, "
     "which was never committed"},
    {"oneCopyMissing", oneCopyMissing,
     "reads byte [0-9]+ of shared memory, which nobody has written"},
    {"noEdges", noEdges, "(copies|reads) [0-9]+ bytes that are in no allocation of the GPU"},
    {"wrongLanes", wrongLanes,
     "race: writes byte [0-9]+ of shared memory, which thread [0-9]+ has written since the last "
     "barrier"},
    {"halfLeavesEarly", halfLeavesEarly,
     "deadlock: 64 threads wait at a barrier, which 64 never reach"},
    {"tooLittleShared", nothing,
     "uses [0-9]+ bytes from byte [0-9]+ of shared memory on, of which the block has [0-9]+",
     4096}};

class PlantedDefects : public testing::TestWithParam<Defect> {};

TEST_P(PlantedDefects, IsFound) {
  const ProductShape shape = {97, 77, 70};
  CompiledProduct product(shape);
  GetParam().plant(product.body());
  ProductLaunch launch = product.launchOfAll();
  launch.shared -= GetParam().sharedLess;
  // The kernel and the place, then what is wrong.
  const ProductResult result = product.run(ProductOperands(shape, 1), launch);
  EXPECT_TRUE(result.values.empty());
  EXPECT_TRUE(llvm::Regex("^product: block [01](, thread [0-9]+)?: ").match(result.report))
      << result.report;
  EXPECT_TRUE(llvm::Regex(GetParam().report).match(result.report)) << result.report;
}

INSTANTIATE_TEST_SUITE_P(Product, PlantedDefects, testing::ValuesIn(kDefects),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace heddle
