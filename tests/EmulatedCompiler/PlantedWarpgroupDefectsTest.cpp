// SPDX-License-Identifier: Apache-2.0
///
/// The emulated GPU reports products of warpgroups with one defect each, planted in the code
/// between the emitter and the code generator, in the tile for many rows, which is emitted last.
#include "tests/EmulatedCompiler/PlantedWarpgroupDefects.h"
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

/// More slabs than stages, three tiles for two blocks, and rows and panels past the end.
constexpr ProductShape kShape = {140, 384, 257, 0, true, true};

/// The operands of a product that follow the sums.
enum class Operand : unsigned { Rows, Columns, Adds };
OpOperand &operandOf(LLVM::InlineAsmOp product, Operand operand) {
  const size_t sums = cast<LLVM::LLVMStructType>(product.getRes().getType()).getBody().size();
  return product->getOpOperand(static_cast<unsigned>(sums) + static_cast<unsigned>(operand));
}

/// Flips a bit of a descriptor of the last product.
template <Operand operand, int bit> void otherBit(LLVM::LLVMFuncOp function) {
  OpOperand &descriptor = operandOf(lastAssembly(function, "wgmma.mma_async"), operand);
  OpBuilder builder(descriptor.getOwner());
  const Location location = descriptor.getOwner()->getLoc();
  Value bits = LLVM::ConstantOp::create(builder, location, builder.getI64Type(),
                                        builder.getI64IntegerAttr(int64_t(uint64_t(1) << bit)));
  descriptor.set(LLVM::XOrOp::create(builder, location, descriptor.get(), bits));
}

/// Moves a matrix of the last product by a number of bytes.
template <Operand operand, int32_t bytes> void matrixMoved(LLVM::LLVMFuncOp function) {
  addTo(operandOf(lastAssembly(function, "wgmma.mma_async"), operand), bytes / 16);
}

void sumsUsedEarly(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp wait = lastAssembly(function, "wgmma.wait_group");
  for (Operation *user : llvm::make_early_inc_range(wait.getRes().getUsers())) {
    auto sum = cast<LLVM::ExtractValueOp>(user);
    sum.getRes().replaceAllUsesWith(wait->getOperand(static_cast<unsigned>(sum.getPosition()[0])));
  }
}

void oneGroupTooFew(LLVM::LLVMFuncOp function) {
  NVVM::WgmmaWaitGroupSyncOp await = all<NVVM::WgmmaWaitGroupSyncOp>(function).back();
  await.setGroup(await.getGroup() + 1);
}

template <int32_t bytes> void otherBytes(LLVM::LLVMFuncOp function) {
  auto arrive = all<NVVM::MBarrierArriveExpectTxOp>(function).back();
  addTo(arrive.getTxcountMutable(), bytes);
}

template <int32_t bytes> void copyMoved(LLVM::LLVMFuncOp function) {
  auto copy = all<NVVM::CpAsyncBulkGlobalToSharedClusterOp>(function).back();
  copy.getDstMemMutable().assign(moved(copy, copy.getDstMem(), bytes));
}

/// The consumer's wait is emitted after the producer's.
constexpr size_t kConsumerWait = 1, kProducerWait = 2;

constexpr char kRefilled[] = "race: (begins to copy to|writes) byte [0-9]+ of shared memory, which "
                             "a product of warpgroup [12] reads that is not awaited";
constexpr char kTooEarly[] =
    "multiplies byte [0-9]+ of shared memory(, which nobody has written|"
    ", which (thread [0-9]+|a bulk copy) has written since the last barrier|"
    " while a copy of thread [0-9]+ to it is under way)";
/// Lanes of a warp, whichever comes first.
constexpr char kNotInStep[] =
    "race: (reads byte [0-9]+ of shared memory, which thread [0-9]+ has written|writes byte [0-9]+ "
    "of shared memory, which thread [0-9]+ has read) since the last barrier";

struct Defect {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
};
const Defect kDefects[] = {
    {"rowsNotFenced", missing<NVVM::FenceProxyOp, 1>,
     "multiplies byte [0-9]+ of shared memory, which thread [0-9]+ has written, without a fence "
     "between proxies"},
    {"mbarriersNotFenced", missing<NVVM::FenceProxyOp, 2>,
     "begins a bulk copy with the mbarrier at byte [0-9]+ of shared memory, which thread 0 has "
     "initialised, without a fence between proxies"},
    {"registersNotFenced", allMissing<NVVM::WgmmaFenceAlignedOp>,
     "multiplies into registers without wgmma.fence since they were used otherwise"},
    {"nothingCommitted", allMissing<NVVM::WgmmaGroupSyncAlignedOp>, kRefilled},
    {"oneGroupTooFew", oneGroupTooFew, kRefilled},
    {"sumsUsedEarly", sumsUsedEarly, "reads a sum that was stored before its product was awaited"},
    {"consumerInWrongPhase", wrongPhase<kConsumerWait>, kTooEarly},
    {"producerInWrongPhase", wrongPhase<kProducerWait>,
     "deadlock: .*128 threads wait for phase 0 of the mbarrier at byte [0-9]+ of shared memory, "
     "which lacks 8 arrivals and 0 bytes"},
    {"consumerDoesNotWait", noWait<kConsumerWait, /*isErased=*/false>, kTooEarly},
    {"producerDoesNotWait", noWait<kProducerWait, /*isErased=*/true>,
     "race: (begins to copy to|writes) byte [0-9]+ of shared memory(, which .* (read|written) "
     "since the last barrier|, which a product of warpgroup [12] reads that is not awaited| while "
     "a copy)|arrives 1 times at the mbarrier at byte [0-9]+ of shared memory, which expects 0"},
    {"moreBytesExpected", otherBytes<16>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 0 arrivals and 16 bytes"},
    {"fewerBytesExpected", otherBytes<-16>,
     "16 bytes more arrive at the mbarrier at byte [0-9]+ of shared memory than it expects"},
    {"oneArrivalMore", otherArrivals</*isFull=*/true, 1>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 1 arrivals and 0 bytes"},
    {"oneArrivalFewer", otherArrivals</*isFull=*/true, -1>,
     "arrives 1 times at the mbarrier at byte [0-9]+ of shared memory, which expects 0 more "
     "arrivals in this phase|multiplies byte [0-9]+"},
    {"emptyAfterOneWarpTooFew", otherArrivals</*isFull=*/false, -1>,
     "race: (begins to copy to|writes) byte [0-9]+ of shared memory, which (thread [0-9]+ has read "
     "since the last barrier|a product of warpgroup [12] reads that is not awaited)|arrives 1 "
     "times "
     "at the mbarrier"},
    {"copyElsewhere", copyMoved<8>,
     "begins a bulk copy of [0-9]+ bytes, where addresses and sizes must be multiples of 16"},
    {"copyMissing", missing<NVVM::CpAsyncBulkGlobalToSharedClusterOp>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 0 arrivals and 24576 bytes"},
    {"matrixOfNothing", otherBit<Operand::Columns, 14>,
     "multiplies a matrix whose descriptor has bits that must be zero"},
    {"matrixNotAligned", matrixMoved<Operand::Columns, 16>,
     "multiplies a matrix whose descriptor is not aligned to 128 bytes"},
    {"matrixElsewhere", matrixMoved<Operand::Columns, 65536>, kTooEarly},
    {"lastStageNotReleased", missing<NVVM::MBarrierArriveOp>,
     "deadlock: .*128 threads wait for phase [01] of the mbarrier at byte [0-9]+ of shared memory, "
     "which lacks 8 arrivals and 0 bytes"},
    {"mbarriersUsedEarly", missing<NVVM::Barrier0Op>,
     "uses an mbarrier at byte [0-9]+ of shared memory, where there is none"},
    {"sumsReadEarly", missing<NVVM::SyncWarpOp>, kNotInStep},
    {"sumsReplacedEarly", missing<NVVM::SyncWarpOp, 2>, kNotInStep},
    {"oneThreadElsewhere", oneThreadElsewhere,
     "deadlock: 127 threads of warpgroup 2 wait at wgmma.fence, which 1 never reach"},
    {"tooLittleShared", nothing,
     "uses [0-9]+ bytes from byte [0-9]+ of shared memory on, of which the block has [0-9]+"}};

class PlantedWarpgroupDefects : public testing::TestWithParam<Defect> {};

TEST_P(PlantedWarpgroupDefects, IsFound) {
  CompiledProduct product(kShape, "sm_90a");
  GetParam().plant(product.body());
  KernelLaunch launch = product.launchOfAll();
  launch.shared -= StringRef(GetParam().name) == "tooLittleShared" ? 4096 : 0;
  const KernelOutcome result = product.run(ProductOperands(kShape, 1), launch);
  expectReported(result, "product", GetParam().report);
}

const auto kName = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Product, PlantedWarpgroupDefects, testing::ValuesIn(kDefects), kName);

// --- rows that are rounded before ----------------------------------------------------------------

/// A wide product, of which a launch computes a few panels.
constexpr ProductShape kWide = {2304, 384, 257, 0, true, true};

KernelLaunch launchOfRounded(const CompiledProduct &product) {
  KernelLaunch launch = product.launchOfAll();
  launch.columnEnd = 5;
  launch.roundsBefore = true;
  return launch;
}

/// In the tile whose rows are copied, which is emitted last.
const Defect kRoundedDefects[] = {
    {"rowsNotExpected", otherBytes<-16384>,
     "[0-9]+ bytes more arrive at the mbarrier at byte [0-9]+ of shared memory than it expects"},
    {"rowsNotCopied", missing<NVVM::CpAsyncBulkGlobalToSharedClusterOp>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 0 arrivals and 16384 bytes"},
    {"rowsElsewhere", copyMoved<8>,
     "begins a bulk copy of [0-9]+ bytes, where addresses and sizes must be multiples of 16"},
    {"weightsNotCopied", missing<NVVM::CpAsyncBulkGlobalToSharedClusterOp, 2>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 0 arrivals and 24576 bytes"},
    {"arrivalOfEveryThread", otherArrivals</*isFull=*/true, 128>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 128 arrivals and 0 bytes"},
    {"producerInWrongPhase", wrongPhase<kProducerWait>,
     "deadlock: .*32 threads wait for phase 0 of the mbarrier at byte [0-9]+ of shared memory, "
     "which lacks 8 arrivals and 0 bytes"},
    {"producerDoesNotWait", noWait<kProducerWait, /*isErased=*/true>,
     "race: begins to copy to byte [0-9]+ of shared memory, which .*|arrives 1 times at the "
     "mbarrier at byte [0-9]+ of shared memory, which expects 0|begins to copy .* while a copy"},
    {"consumerInWrongPhase", wrongPhase<kConsumerWait>, kTooEarly}};

class PlantedRoundedDefects : public testing::TestWithParam<Defect> {};

TEST_P(PlantedRoundedDefects, IsFound) {
  CompiledProduct product(kWide, "sm_90a");
  GetParam().plant(product.body());
  const KernelOutcome result = product.run(ProductOperands(kWide, 1), launchOfRounded(product));
  expectReported(result, "product", GetParam().report);
}

INSTANTIATE_TEST_SUITE_P(Product, PlantedRoundedDefects, testing::ValuesIn(kRoundedDefects), kName);

/// Defects that no device can detect.
const Defect kWrongNumbers[] = {
    {"otherPermutation", otherBit<Operand::Rows, 63>, ""},
    {"otherRows", matrixMoved<Operand::Rows, 32>, ""},
    {"otherStep", matrixMoved<Operand::Columns, -128>, ""},
    {"sumsReplaced",
     [](LLVM::LLVMFuncOp function) {
       addTo(operandOf(lastAssembly(function, "wgmma.mma_async"), Operand::Adds), -1);
     },
     ""}};

class PlantedWarpgroupNumbers : public testing::TestWithParam<Defect> {};

TEST_P(PlantedWarpgroupNumbers, Differ) {
  constexpr ProductShape shape = {192, 64, 257, 0, true, true};
  CompiledProduct product(shape, "sm_90a");
  GetParam().plant(product.body());
  const ProductOperands operands(shape, 1);
  const KernelOutcome result = product.run(operands, product.launchOfAll());
  ASSERT_EQ(result.report, "");
  EXPECT_GT(operands.countDifferent(result.values), 0);
}

INSTANTIATE_TEST_SUITE_P(Product, PlantedWarpgroupNumbers, testing::ValuesIn(kWrongNumbers), kName);

} // namespace
} // namespace heddle
