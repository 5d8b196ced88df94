// SPDX-License-Identifier: Apache-2.0
///
/// The emulated GPU reports products with one defect each. Defects are planted in the code between
/// the emitter and the code generator, in the tile for many rows, which is emitted last. Defects of
/// matrices in registers cannot be detected by a device: they give wrong results, and slow code
/// shows in bank counts.
#include "tests/EmulatedCompiler/PlantedDefects.h"
#include "tests/EmulatedCompiler/LaunchedCodes.h"
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

NVVM::CpAsyncWaitGroupOp lastAwait(LLVM::LLVMFuncOp function) {
  return all<NVVM::CpAsyncWaitGroupOp>(function).back();
}
/// Returns the barrier of the loop over slabs.
Operation *barrierOfLoop(LLVM::LLVMFuncOp function) { return lastAwait(function)->getNextNode(); }

// --- defects -----------------------------------------------------------------------------------

void noBarrierInLoop(LLVM::LLVMFuncOp function) { barrierOfLoop(function)->erase(); }

void barrierAfterRefill(LLVM::LLVMFuncOp function) {
  barrierOfLoop(function)->moveAfter(all<NVVM::CpAsyncCommitGroupOp>(function).back());
}

/// Sums are stored in `parts` parts, with a barrier before and after each.
template <size_t parts> void noBarrierBeforeSums(LLVM::LLVMFuncOp function) {
  auto barriers = all<NVVM::Barrier0Op>(function);
  barriers[barriers.size() - 2 * parts]->erase();
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
  // All threads compute the columns of the first lane.
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

void oneBufferOfRows(LLVM::LLVMFuncOp function) {
  // The only subtraction from a constant selects the other one of two places.
  LLVM::SubOp other;
  for (LLVM::SubOp each : all<LLVM::SubOp>(function)) {
    if (each.getLhs().getDefiningOp<LLVM::ConstantOp>()) {
      other = each;
    }
  }
  other.replaceAllUsesWith(other.getRhs());
}

void oneLaneAhead(LLVM::LLVMFuncOp function) {
  // Lane 8 of warp 1 loads no matrix, and multiplies arbitrary values.
  NVVM::LdMatrixOp load = all<NVVM::LdMatrixOp>(function).back();
  Block *const before = load->getBlock();
  Block *const rest = before->splitBlock(load->getNextNode());
  Block *const loading = before->splitBlock(load);
  Value words = rest->addArgument(load.getType(), load.getLoc());
  load.getRes().replaceAllUsesWith(words);
  OpBuilder builder = OpBuilder::atBlockEnd(loading);
  LLVM::BrOp::create(builder, function.getLoc(), ValueRange{load.getRes()}, rest);
  builder.setInsertionPointToEnd(before);
  Value anything = LLVM::UndefOp::create(builder, function.getLoc(), load.getType());
  Value isAhead = threadIs(builder, function, LLVM::ICmpPredicate::eq, 40);
  LLVM::CondBrOp::create(builder, function.getLoc(), isAhead, rest, ValueRange{anything}, loading,
                         ValueRange());
}

template <int32_t bytes> void matrixElsewhere(LLVM::LLVMFuncOp function) {
  NVVM::LdMatrixOp load = all<NVVM::LdMatrixOp>(function).back();
  load.getPtrMutable().assign(moved(load, load.getPtr(), bytes));
}

void wordsBetweenMultiples(LLVM::LLVMFuncOp function) {
  LLVM::LoadOp load;
  for (LLVM::LoadOp each : all<LLVM::LoadOp>(function)) {
    auto type = dyn_cast<VectorType>(each.getType());
    if (type && type.getNumElements() == 4 && type.getElementType().isInteger(32)) {
      load = each;
    }
  }
  load.getAddrMutable().assign(moved(load, load.getAddr(), 4));
}

void otherOrderOfParts(LLVM::LLVMFuncOp function) {
  LLVM::XOrOp order = all<LLVM::XOrOp>(function).back();
  order.replaceAllUsesWith(order.getLhs());
}

void noOrderOfParts(LLVM::LLVMFuncOp function) {
  for (LLVM::XOrOp order : all<LLVM::XOrOp>(function)) {
    order.replaceAllUsesWith(order.getLhs());
  }
}

void transposedMatrix(LLVM::LLVMFuncOp function) {
  all<NVVM::LdMatrixOp>(function).back().setLayout(NVVM::MMALayout::col);
}

/// Exchanges two operands of the last matrix product.
template <unsigned first, unsigned second> void exchanged(LLVM::LLVMFuncOp function) {
  NVVM::MmaOp product = all<NVVM::MmaOp>(function).back();
  Value kept = product->getOperand(first);
  product->setOperand(first, product->getOperand(second));
  product->setOperand(second, kept);
}

/// Omits the rounding to tf32 of the last element of rows, or of weights.
template <bool isOfRows> void notRounded(LLVM::LLVMFuncOp function) {
  NVVM::ConvertFloatToTF32Op rounding;
  for (NVVM::ConvertFloatToTF32Op each : all<NVVM::ConvertFloatToTF32Op>(function)) {
    // Weights are rounded at the product, rows before they are stored.
    if (isOfRows == llvm::none_of(each->getUsers(), llvm::IsaPred<NVVM::MmaOp>)) {
      rounding = each;
    }
  }
  OpBuilder builder(rounding);
  rounding.replaceAllUsesWith(
      LLVM::BitcastOp::create(builder, rounding.getLoc(), rounding.getType(), rounding.getSrc())
          .getResult());
}

/// Omits the second of the last three products.
void restForgotten(LLVM::LLVMFuncOp function) {
  NVVM::MmaOp last = all<NVVM::MmaOp>(function).back();
  constexpr unsigned firstSum = 6, sums = 4;
  auto sum = last->getOperand(firstSum).getDefiningOp<LLVM::ExtractValueOp>();
  auto second = sum.getContainer().getDefiningOp<NVVM::MmaOp>();
  last->setOperands(firstSum, sums, second->getOperands().slice(firstSum, sums));
}

/// Rows of integers are quantised after a barrier that follows the computation of their extents.
void noBarrierAfterExtents(LLVM::LLVMFuncOp function) {
  // The barrier before it begins the tile.
  auto barriers = all<NVVM::Barrier0Op>(function);
  auto inLoop = llvm::find(
      barriers,
      cast<NVVM::Barrier0Op>(all<NVVM::CpAsyncWaitGroupOp>(function).rbegin()[1]->getNextNode()));
  (*std::prev(inLoop))->erase();
}

/// The factors of columns are read before the last group of copies has been awaited.
void columnsNotAwaited(LLVM::LLVMFuncOp function) { lastAwait(function)->erase(); }

/// The factors of all slabs are stored where those of the first slab are.
void oneBufferOfFactors(LLVM::LLVMFuncOp function) {
  for (LLVM::SelectOp each : all<LLVM::SelectOp>(function)) {
    auto isFirst = each.getCondition().getDefiningOp<LLVM::ICmpOp>();
    if (isFirst && isFirst.getPredicate() == LLVM::ICmpPredicate::eq &&
        each.getTrueValue().getDefiningOp<LLVM::ConstantOp>() &&
        each.getFalseValue().getDefiningOp<LLVM::ConstantOp>() && each.getType().isInteger(64)) {
      each.replaceAllUsesWith(each.getTrueValue());
    }
  }
}

/// The first slab of codes is dequantised after a barrier that follows the wait for it.
void noBarrierBeforeFirstSlab(LLVM::LLVMFuncOp function) {
  all<NVVM::CpAsyncWaitGroupOp>(function).rbegin()[1]->getNextNode()->erase();
}

/// All slabs of codes are dequantised to the same place.
void oneBufferOfNumbers(LLVM::LLVMFuncOp function) {
  for (LLVM::URemOp each : all<LLVM::URemOp>(function)) {
    auto of = each.getRhs().getDefiningOp<LLVM::ConstantOp>();
    if (of && cast<IntegerAttr>(of.getValue()).getInt() == 2) {
      OpBuilder builder(each);
      Value zero = LLVM::ZeroOp::create(builder, each.getLoc(), each.getType());
      each.replaceAllUsesWith(zero);
    }
  }
}

/// Returns whether a product adds codes of rows: it multiplies them with ones.
bool sumsCodes(NVVM::MmaOp product) {
  return product->getOperand(4).getDefiningOp<LLVM::ConstantOp>() != nullptr;
}

/// Exchanges the two words of a word of 4-bit codes.
void exchangedHalves(LLVM::LLVMFuncOp function) {
  NVVM::MmaOp last;
  for (NVVM::MmaOp product : all<NVVM::MmaOp>(function)) {
    if (!sumsCodes(product)) {
      last = product;
    }
  }
  Value lower = last->getOperand(4);
  last->setOperand(4, last->getOperand(5));
  last->setOperand(5, lower);
}

/// Omits the sums of codes of signed rows.
void sumsOfCodesForgotten(LLVM::LLVMFuncOp function) {
  for (NVVM::MmaOp product : all<NVVM::MmaOp>(function)) {
    if (sumsCodes(product)) {
      OpBuilder builder(product);
      Value nothing = LLVM::ZeroOp::create(builder, product.getLoc(), product.getType());
      product.replaceAllUsesWith(nothing);
    }
  }
}

/// Either of the two threads may come first.
constexpr char kRaceOfTwoThreads[] =
    "race: (writes byte [0-9]+ of shared memory, which thread.* read|reads byte [0-9]+ of shared "
    "memory, which thread [0-9]+ has written) since the last barrier";

struct Defect {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
  unsigned sharedLess = 0;
};
constexpr char kNotWritten[] = "reads byte [0-9]+ of shared memory, which nobody has written";
constexpr char kNotThereYet[] =
    "reads byte [0-9]+ of shared memory, which (nobody has written|thread [0-9]+ has written since "
    "the last barrier)";
constexpr char kRefilled[] =
    "race: (begins to copy to byte [0-9]+ of shared memory, which threads? .*(have|has) read since "
    "the last barrier|reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is "
    "under way)";
constexpr char kNotAwaited[] =
    "race: reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is under way, "
    "which is not awaited";
constexpr char kNotCommitted[] =
    "race: reads byte [0-9]+ of shared memory while a copy of thread [0-9]+ to it is under way, "
    "which was never committed";
constexpr char kOutside[] = "(copies|reads) [0-9]+ bytes that are in no allocation of the GPU";
constexpr char kHalfWaits[] = "deadlock: 64 threads wait at a barrier, which 64 never reach";
constexpr char kTooLittle[] =
    "uses [0-9]+ bytes from byte [0-9]+ of shared memory on, of which the block has [0-9]+";

/// Defects of products on FMA units.
const Defect kDefects[] = {
    {"noBarrierInLoop", noBarrierInLoop, kNotWritten},
    {"barrierAfterRefill", barrierAfterRefill, kRefilled},
    {"noBarrierBeforeSums", noBarrierBeforeSums<2>, kRaceOfTwoThreads},
    {"noBarrierAfterSums", noBarrierAfterSums, kRaceOfTwoThreads},
    {"oneGroupTooFew", oneGroupTooFew, kNotAwaited},
    {"nothingCommitted", nothingCommitted, kNotCommitted},
    {"oneCopyMissing", oneCopyMissing, kNotWritten},
    {"noEdges", noEdges, kOutside},
    {"wrongLanes", wrongLanes,
     "race: writes byte [0-9]+ of shared memory, which thread [0-9]+ has written since the last "
     "barrier"},
    {"halfLeavesEarly", halfLeavesEarly, kHalfWaits},
    {"tooLittleShared", nothing, kTooLittle, 4096}};

/// Returns defects that may occur in any product on tensor cores, whose sums are stored in so many
/// parts, and others.
template <size_t parts> std::vector<Defect> onTensorCores(const std::vector<Defect> &others) {
  std::vector<Defect> defects = {
      {"noBarrierInLoop", noBarrierInLoop, kNotThereYet},
      {"barrierAfterRefill", barrierAfterRefill, kRefilled},
      {"noBarrierBeforeSums", noBarrierBeforeSums<parts>, kRaceOfTwoThreads},
      {"noBarrierAfterSums", noBarrierAfterSums, kRaceOfTwoThreads},
      {"oneGroupTooFew", oneGroupTooFew, kNotAwaited},
      {"nothingCommitted", nothingCommitted, kNotCommitted},
      {"oneCopyMissing", oneCopyMissing, kNotWritten},
      {"noEdges", noEdges, kOutside},
      {"oneBufferOfRows", oneBufferOfRows, kRaceOfTwoThreads},
      {"halfLeavesEarly", halfLeavesEarly, kHalfWaits},
      {"tooLittleShared", nothing, kTooLittle, 4096}};
  defects.insert(defects.end(), others.begin(), others.end());
  return defects;
}
const std::vector<Defect> kTensorDefects = onTensorCores<4>(
    {{"oneLaneElsewhere", oneLaneElsewhere<NVVM::LdMatrixOp>,
      "deadlock: 31 threads of warp 1 wait at ldmatrix, which 1 never reach"},
     {"oneLaneAhead", oneLaneAhead,
      "comes to (mma.m16n8k16 while lanes of its warp wait at ldmatrix|ldmatrix while lanes of its "
      "warp wait at mma.m16n8k16)"},
     {"rowBetweenMultiples", matrixElsewhere<8>,
      "loads a row of a matrix at an address that is no multiple of 16"},
     {"rowElsewhere", matrixElsewhere<1 << 20>,
      "loads a row of a matrix that is not in shared memory"},
     {"wordsBetweenMultiples", wordsBetweenMultiples,
      "reads [0-9]+ bytes at an address that is no multiple of 16"}});

/// Expects the GPU to report a defect in a product.
void expectFound(const ProductShape &shape, const Defect &defect) {
  CompiledProduct product(shape);
  defect.plant(product.body());
  KernelLaunch launch = product.launchOfAll();
  launch.shared -= defect.sharedLess;
  const KernelOutcome result = product.run(ProductOperands(shape, 1), launch);
  expectReported(result, "product", defect.report);
}

class PlantedDefects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedDefects, IsFound) { expectFound({97, 77, 70}, GetParam()); }

/// More slabs than stages, and all rows of a tile.
constexpr ProductShape kTensorShape = {97, 200, 128, 0, true, true};
class PlantedTensorDefects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedTensorDefects, IsFound) { expectFound(kTensorShape, GetParam()); }

// The lanes of a warp meet between the loads of rows that are not aligned.
TEST(PlantedUnalignedDefects, AreFound) {
  constexpr ProductShape shape = {97, 199, 128, 0, true, true};
  expectFound(shape, {"noBarrierInLoop", noBarrierInLoop, kNotThereYet});
  expectFound(shape, {"oneBufferOfRows", oneBufferOfRows, kRaceOfTwoThreads});
}

/// Defects that only occur with tf32.
const Defect kTf32Defects[] = {
    {"rowsNotRounded", notRounded</*isOfRows=*/true>,
     "multiplies a number that is not rounded to tf32, in the first matrix"},
    {"weightsNotRounded", notRounded</*isOfRows=*/false>,
     "multiplies a number that is not rounded to tf32, in the second matrix"},
    {"oneLaneAhead", oneLaneAhead,
     "comes to (mma.m16n8k8 while lanes of its warp wait at ldmatrix|ldmatrix while lanes of its "
     "warp wait at mma.m16n8k8)"},
    {"oneBufferOfRows", oneBufferOfRows, kRaceOfTwoThreads},
    {"barrierAfterRefill", barrierAfterRefill, kRefilled}};
constexpr ProductShape kTf32Shape = {97, 100, 128, 0, false, false, FloatProducts::Tf32};
class PlantedTf32Defects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedTf32Defects, IsFound) { expectFound(kTf32Shape, GetParam()); }

/// Defects of products of integers in groups, and those that only occur if rows have one scale.
const std::vector<Defect> kIntegerDefects = onTensorCores<2>(
    {{"oneBufferOfFactors", oneBufferOfFactors, kRaceOfTwoThreads},
     {"oneLaneAhead", oneLaneAhead,
      "comes to (mma.m16n8k32 while lanes of its warp wait at ldmatrix|ldmatrix while lanes of its "
      "warp wait at mma.m16n8k32)"},
     {"oneLaneElsewhere", oneLaneElsewhere<NVVM::ShflOp>,
      "deadlock: 31 threads of warp 1 wait at shfl.bfly, which 1 never reach"}});
const Defect kExtentDefects[] = {{"noBarrierAfterExtents", noBarrierAfterExtents, kNotThereYet},
                                 {"columnsNotAwaited", columnsNotAwaited, kNotAwaited}};

void expectFound(const CodesShape &shape, const Defect &defect) {
  CompiledCodes product(shape);
  defect.plant(product.body());
  KernelLaunch launch = product.launchOfAll();
  launch.shared -= defect.sharedLess;
  const KernelOutcome result = product.run(CodesOperands(shape, 1), launch);
  expectReported(result, "product", defect.report);
}

class PlantedIntegerDefects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedIntegerDefects, IsFound) { expectFound({97, 600, 128, "i8, 64"}, GetParam()); }
class PlantedExtentDefects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedExtentDefects, IsFound) { expectFound({97, 60, 128, "i8, row"}, GetParam()); }

/// Defects of products in f32 with quantised weights.
const Defect kDequantisedDefects[] = {
    {"noBarrierInLoop", noBarrierInLoop, kNotAwaited},
    {"noBarrierBeforeFirstSlab", noBarrierBeforeFirstSlab, kNotThereYet},
    {"barrierAfterRefill", barrierAfterRefill, kRefilled},
    {"oneGroupTooFew", oneGroupTooFew, kNotAwaited},
    {"oneBufferOfNumbers", oneBufferOfNumbers, kRaceOfTwoThreads}};
class PlantedDequantisedDefects : public testing::TestWithParam<Defect> {};
TEST_P(PlantedDequantisedDefects, IsFound) {
  expectFound({97, 200, 128, "i8, 64", /*stride=*/0, /*dequantises=*/true}, GetParam());
}

const auto kName = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Product, PlantedDefects, testing::ValuesIn(kDefects), kName);
INSTANTIATE_TEST_SUITE_P(Product, PlantedTensorDefects, testing::ValuesIn(kTensorDefects), kName);
INSTANTIATE_TEST_SUITE_P(Product, PlantedTf32Defects, testing::ValuesIn(kTf32Defects), kName);
INSTANTIATE_TEST_SUITE_P(Product, PlantedIntegerDefects, testing::ValuesIn(kIntegerDefects), kName);
INSTANTIATE_TEST_SUITE_P(Product, PlantedDequantisedDefects, testing::ValuesIn(kDequantisedDefects),
                         kName);
INSTANTIATE_TEST_SUITE_P(Product, PlantedExtentDefects, testing::ValuesIn(kExtentDefects), kName);

/// Defects that the GPU cannot detect.
struct WrongNumbers {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  /// The products in tf32; Exact selects bf16.
  FloatProducts products = FloatProducts::Exact;
};
const WrongNumbers kWrongNumbers[] = {
    {"otherOrderOfParts", otherOrderOfParts},
    {"transposedMatrix", transposedMatrix},
    {"exchangedRows", exchanged<1, 2>},
    {"exchangedColumns", exchanged<4, 5>},
    {"exchangedSums", exchanged<7, 8>},
    {"exchangedRowsOfTf32", exchanged<1, 2>, FloatProducts::Tf32},
    {"exchangedColumnsOfTf32", exchanged<4, 5>, FloatProducts::Tf32},
    {"restForgotten", restForgotten, FloatProducts::Tf32x3}};
class PlantedWrongNumbers : public testing::TestWithParam<WrongNumbers> {};

TEST_P(PlantedWrongNumbers, Differ) {
  const bool isBf16 = GetParam().products == FloatProducts::Exact;
  const ProductShape shape = {96, 32, 128, 0, isBf16, isBf16, GetParam().products};
  CompiledProduct product(shape);
  GetParam().plant(product.body());
  const ProductOperands operands(shape, 1);
  const KernelOutcome result = product.run(operands, product.launchOfAll());
  ASSERT_EQ(result.report, "");
  EXPECT_GT(operands.countDifferent(result.values), 0);
}

INSTANTIATE_TEST_SUITE_P(Product, PlantedWrongNumbers, testing::ValuesIn(kWrongNumbers), kName);

/// The same with integers.
struct WrongCodes {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  std::string type;
};
const WrongCodes kWrongCodes[] = {{"exchangedRows", exchanged<1, 2>, "i8, row"},
                                  {"exchangedColumns", exchanged<4, 5>, "i8, row"},
                                  {"exchangedSums", exchanged<7, 8>, "i8, row"},
                                  {"exchangedHalves", exchangedHalves, "i4, 32, bf16"},
                                  {"sumsOfCodesForgotten", sumsOfCodesForgotten, "i4, 32, bf16"}};
class PlantedWrongCodes : public testing::TestWithParam<WrongCodes> {};

TEST_P(PlantedWrongCodes, Differ) {
  const CodesShape shape = {96, 64, 128, GetParam().type};
  CompiledCodes product(shape);
  GetParam().plant(product.body());
  const CodesOperands operands(shape, 1);
  const KernelOutcome result = product.run(operands, product.launchOfAll());
  ASSERT_EQ(result.report, "");
  EXPECT_GT(operands.countDifferent(result.values), 0);
}

INSTANTIATE_TEST_SUITE_P(Product, PlantedWrongCodes, testing::ValuesIn(kWrongCodes), kName);

TEST(PlantedSlowness, PartsInOneOrderCostPasses) {
  const ProductShape shape = {96, 32, 70, 0, true, true};
  HeddleBankUses uses[2] = {};
  for (const bool isPlanted : {false, true}) {
    CompiledProduct product(shape);
    if (isPlanted) {
      noOrderOfParts(product.body());
    }
    uses[isPlanted ? 1 : 0] = bankUsesOf([&] {
      EXPECT_EQ(product.run(ProductOperands(shape, 1), product.launchOfAll()).report, "");
    });
  }
  // Each of the four matrices that a warp loads at once takes four passes, for 4 warps, 2 steps,
  // and 4 times 16 rows.
  EXPECT_EQ(uses[0].least, uses[1].least);
  EXPECT_GE(uses[1].passes - uses[0].passes, 4U * 2 * 4 * 4 * 3);
}

} // namespace
} // namespace heddle
