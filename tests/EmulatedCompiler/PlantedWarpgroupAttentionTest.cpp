// SPDX-License-Identifier: Apache-2.0
///
/// The emulated GPU reports attention by warpgroups with one defect each, planted in the code
/// between the emitter and the code generator; defects that no device can detect give wrong
/// results.
#include "tests/EmulatedCompiler/LaunchedAttention.h"
#include "tests/EmulatedCompiler/PlantedWarpgroupDefects.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

/// More spans than stages, and rows of both warpgroups of a tile.
const AttentionShape kShape = {.heads = 1,
                               .keySize = 64,
                               .valueSize = 48,
                               .visibility = transformer::Visibility::band(350, 0),
                               .products = FloatProducts::Bf16};
constexpr int64_t kLength = 400;

/// Waits in the order of their code: the producer's, then those for the first span and for later
/// ones.
constexpr size_t kLaterWait = 1, kFirstWait = 2, kProducerWait = 3;

SmallVector<LLVM::InlineAsmOp> assemblies(LLVM::LLVMFuncOp function, StringRef instruction) {
  SmallVector<LLVM::InlineAsmOp> found;
  for (LLVM::InlineAsmOp each : all<LLVM::InlineAsmOp>(function)) {
    if (each.getAsmString().contains(instruction)) {
      found.push_back(each);
    }
  }
  return found;
}
size_t registersOf(LLVM::InlineAsmOp op) {
  return cast<LLVM::LLVMStructType>(op.getRes().getType()).getBody().size();
}
bool isOfWords(LLVM::InlineAsmOp product) { return product.getAsmString().contains("}, {"); }
LLVM::InlineAsmOp lastProduct(LLVM::LLVMFuncOp function, bool isOfValues) {
  LLVM::InlineAsmOp last;
  for (LLVM::InlineAsmOp each : assemblies(function, "wgmma.mma_async")) {
    last = isOfWords(each) == isOfValues ? each : last;
  }
  return last;
}

/// Replaces the results of an instruction by the registers that it takes, and erases it.
void passedBy(LLVM::InlineAsmOp op) {
  for (Operation *user : llvm::make_early_inc_range(op.getRes().getUsers())) {
    auto each = cast<LLVM::ExtractValueOp>(user);
    each.getRes().replaceAllUsesWith(op->getOperand(static_cast<unsigned>(each.getPosition()[0])));
    each->erase();
  }
  op->erase();
}

/// Waits that hand registers over, in the order of their code: for the first products of keys; in
/// the loop for the values of the span before and for the next products of keys; for the last
/// values.
enum class Handover : uint8_t { FirstKeys, Values, Keys, LastValues };
LLVM::InlineAsmOp handover(LLVM::LLVMFuncOp function, Handover which) {
  return assemblies(function, "wgmma.wait_group")[static_cast<size_t>(which)];
}
template <Handover which> void notAwaited(LLVM::LLVMFuncOp function) {
  passedBy(handover(function, which));
}

void noFences(LLVM::LLVMFuncOp function) {
  allMissing<NVVM::WgmmaFenceAlignedOp>(function);
  for (LLVM::InlineAsmOp fence : assemblies(function, "wgmma.fence")) {
    passedBy(fence);
  }
}

/// Begins the first product of weights and values before the fence.
void weightsBeforeFence(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp fence = assemblies(function, "wgmma.fence").front(), first;
  for (LLVM::InlineAsmOp each : assemblies(function, "wgmma.mma_async")) {
    first = !first && isOfWords(each) ? each : first;
  }
  for (OpOperand &operand : first->getOpOperands()) {
    auto of = operand.get().getDefiningOp<LLVM::ExtractValueOp>();
    if (of && of.getContainer() == fence.getRes()) {
      operand.set(fence->getOperand(static_cast<unsigned>(of.getPosition()[0])));
    } else if (Operation *const other = operand.get().getDefiningOp()) {
      // Descriptors are sums of a constant and one that is computed after the fence.
      SmallVector<Operation *> chain = {other};
      while (!chain.empty()) {
        Operation *const each = chain.pop_back_val();
        if (each->getBlock() == fence->getBlock() && fence->isBeforeInBlock(each)) {
          each->moveBefore(fence);
          for (Value input : each->getOperands()) {
            if (Operation *const before = input.getDefiningOp()) {
              chain.insert(chain.begin(), before);
            }
          }
        }
      }
    }
  }
  first->moveBefore(fence);
}

/// Awaits one group less than are in flight where the next products of keys are needed.
void oneGroupTooFew(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp wait = handover(function, Handover::Keys);
  addTo(wait->getOpOperand(static_cast<unsigned>(registersOf(wait))), 1);
}

/// Erases the last store of 16 bytes to shared memory of the producer, or of a warpgroup with
/// queries.
template <bool isLast> void oneStoreMissing(LLVM::LLVMFuncOp function) {
  SmallVector<LLVM::StoreOp> stores;
  for (LLVM::StoreOp store : all<LLVM::StoreOp>(function)) {
    auto vector = dyn_cast<VectorType>(store.getValue().getType());
    if (vector && vector.getNumElements() == 4) {
      stores.push_back(store);
    }
  }
  (isLast ? stores.back() : stores.front())->erase();
}

/// Flips a bit of a descriptor: of keys or values, the last operand that is one.
template <bool isOfValues, int bit> void otherBit(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp product = lastProduct(function, isOfValues);
  const size_t before = registersOf(product) + (isOfValues ? 4 : 1);
  OpOperand &descriptor = product->getOpOperand(static_cast<unsigned>(before));
  OpBuilder builder(product);
  Value bits = LLVM::ConstantOp::create(builder, product.getLoc(), builder.getI64Type(),
                                        builder.getI64IntegerAttr(int64_t(uint64_t(1) << bit)));
  descriptor.set(LLVM::XOrOp::create(builder, product.getLoc(), descriptor.get(), bits));
}
template <bool isOfValues, int32_t bytes> void matrixMoved(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp product = lastProduct(function, isOfValues);
  const size_t before = registersOf(product) + (isOfValues ? 4 : 1);
  addTo(product->getOpOperand(static_cast<unsigned>(before)), bytes / 16);
}

struct Defect {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
  unsigned sharedLess = 0;
};

constexpr char kTooEarly[] = "multiplies byte [0-9]+ of shared memory, which (nobody has written|"
                             "thread [0-9]+ has written since the last barrier)";
/// A wait for a phase that is complete lets a thread go on too early; one for a phase that does not
/// come, never. Threads of a warpgroup may come to it in different phases.
constexpr char kTooEarlyOrNever[] =
    "multiplies byte [0-9]+ of shared memory, which (nobody has written|thread [0-9]+ has written "
    "since the last barrier)|deadlock: 256 threads wait for phase [01] of the mbarrier at byte "
    "[0-9]+ of shared memory, which lacks 128 arrivals|deadlock: [0-9]+ threads of warpgroup [12] "
    "wait at wgmma.fence";
/// A producer that is two phases ahead leaves threads of a warpgroup behind, or both.
constexpr char kRefilledOrLost[] =
    "race: writes byte [0-9]+ of shared memory, which (thread [0-9]+ has read since the last "
    "barrier|a product of warpgroup [12] reads that is not awaited)|deadlock: [0-9]+ threads of "
    "warpgroup [12] wait at wgmma.fence|deadlock: 256 threads wait for phase [01] of the mbarrier "
    "at byte [0-9]+ of shared memory, which lacks 128 arrivals";
constexpr char kUsedEarly[] =
    "(has computed with a sum|reads a sum that was stored) before its product was awaited";

const Defect kDefects[] = {
    {"spansNotFenced", missing<NVVM::FenceProxyOp, 2>,
     "multiplies byte [0-9]+ of shared memory, which thread [0-9]+ has written, without a fence "
     "between proxies"},
    {"queriesNotFenced", missing<NVVM::FenceProxyOp, 1>,
     "multiplies byte [0-9]+ of shared memory, which thread [0-9]+ has written, without a fence "
     "between proxies"},
    {"registersNotFenced", noFences,
     "multiplies into registers without wgmma.fence since they were used otherwise"},
    {"weightsBeforeFence", weightsBeforeFence,
     "multiplies words in registers without wgmma.fence since they were written"},
    {"firstKeysNotAwaited", notAwaited<Handover::FirstKeys>, kUsedEarly},
    {"valuesNotAwaited", notAwaited<Handover::Values>, kUsedEarly},
    {"oneGroupTooFew", oneGroupTooFew, kUsedEarly},
    {"lastValuesNotAwaited", notAwaited<Handover::LastValues>,
     "which a product of warpgroup [12] reads that is not awaited|"
     "ends while products of warpgroup [12] are under way that it has not awaited"},
    {"laterSpanInWrongPhase", wrongPhase<kLaterWait>, kTooEarlyOrNever},
    {"firstSpanInWrongPhase", wrongPhase<kFirstWait>, kTooEarlyOrNever},
    {"producerInWrongPhase", wrongPhase<kProducerWait>,
     "deadlock: .*128 threads wait for phase 0 of the mbarrier at byte [0-9]+ of shared memory, "
     "which lacks [48] arrivals and 0 bytes"},
    {"laterSpanNotAwaited", noWait<kLaterWait, /*isErased=*/true>, kTooEarly},
    {"firstSpanNotAwaited", noWait<kFirstWait, /*isErased=*/true>, kTooEarly},
    {"producerDoesNotWait", noWait<kProducerWait, /*isErased=*/true>, kRefilledOrLost},
    {"oneArrivalMore", otherArrivals</*isFull=*/true, 1>,
     "deadlock: [0-9]+ threads wait for .*, which lacks 1 arrivals and 0 bytes"},
    {"oneArrivalFewer", otherArrivals</*isFull=*/true, -1>,
     "arrives 1 times at the mbarrier at byte [0-9]+ of shared memory, which expects 0 more "
     "arrivals in this phase|multiplies byte [0-9]+"},
    {"emptyAfterOneWarpTooFew", otherArrivals</*isFull=*/false, -1>,
     "race: writes byte [0-9]+ of shared memory, which (thread [0-9]+ has read since the last "
     "barrier|a product of warpgroup [12] reads that is not awaited)|arrives 1 times at the "
     "mbarrier|invalidates the mbarrier at byte [0-9]+ of shared memory in the middle of a phase"},
    {"mbarriersNotDestroyed", allMissing<NVVM::MBarrierInvalOp>,
     "initialises the mbarrier at byte [0-9]+ of shared memory, which is valid already"},
    {"oneStoreOfSpansMissing", oneStoreMissing</*isLast=*/false>, kTooEarly},
    {"oneStoreOfQueriesMissing", oneStoreMissing</*isLast=*/true>, kTooEarly},
    {"matrixOfNothing", otherBit</*isOfValues=*/true, 14>,
     "multiplies a matrix whose descriptor has bits that must be zero"},
    {"keysElsewhere", matrixMoved</*isOfValues=*/false, 131072>,
     "multiplies byte [0-9]+ of shared memory|uses 16 bytes from byte [0-9]+ of shared memory on"},
    {"oneThreadElsewhere", oneThreadElsewhere,
     "deadlock: 127 threads of warpgroup 2 wait at wgmma.fence, which 1 never reach"},
    {"tooLittleShared", nothing,
     "uses [0-9]+ bytes from byte [0-9]+ of shared memory on, of which the block has [0-9]+", 64}};

class PlantedWarpgroupAttention : public testing::TestWithParam<Defect> {};

TEST_P(PlantedWarpgroupAttention, IsFound) {
  const CompiledAttention attention(kShape, "sm_90a");
  GetParam().plant(attention.body());
  expectReported(attention.runAlone(kLength, GetParam().sharedLess), "attention",
                 GetParam().report);
}

const auto kName = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Attention, PlantedWarpgroupAttention, testing::ValuesIn(kDefects), kName);

/// Exchanges two words of the last product with values.
void weightsExchanged(LLVM::LLVMFuncOp function) {
  LLVM::InlineAsmOp product = lastProduct(function, /*isOfValues=*/true);
  const auto first = static_cast<unsigned>(registersOf(product));
  Value kept = product->getOperand(first + 1);
  product->setOperand(first + 1, product->getOperand(first + 2));
  product->setOperand(first + 2, kept);
}

/// Defects that no device can detect.
const Defect kWrongNumbers[] = {{"otherPermutation", otherBit</*isOfValues=*/true, 63>, ""},
                                {"otherStepOfKeys", matrixMoved</*isOfValues=*/false, -32>, ""},
                                {"otherStepOfValues", matrixMoved</*isOfValues=*/true, -32>, ""},
                                {"weightsExchanged", weightsExchanged, ""}};

class PlantedWrongWarpgroups : public testing::TestWithParam<Defect> {};

TEST_P(PlantedWrongWarpgroups, Differs) {
  const CompiledAttention attention(kShape, "sm_90a"), right(kShape, "sm_90a");
  GetParam().plant(attention.body());
  const KernelOutcome outcome = attention.runAlone(kLength);
  ASSERT_EQ(outcome.report, "");
  EXPECT_NE(outcome.values, right.runAlone(kLength).values);
}

INSTANTIATE_TEST_SUITE_P(Attention, PlantedWrongWarpgroups, testing::ValuesIn(kWrongNumbers),
                         kName);

} // namespace
} // namespace heddle
