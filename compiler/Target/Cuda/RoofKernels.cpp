// SPDX-License-Identifier: Apache-2.0
///
/// Emits loops that do nothing but the instructions of products, or loads. Each thread stores what
/// it has computed, so that no compiler removes the work, and tests can check it.
///
/// Tested by tests/EmulatedCompiler/RoofKernelsTest.cpp.
#include "compiler/Target/Cuda/RoofKernels.h"

#include "compiler/Target/Cuda/OwnEntries.h"
#include "compiler/Target/Cuda/WarpgroupCode.h"
#include "heddle/Abi.h"
#include "heddle/RoofKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cstddef>

using namespace mlir;

namespace heddle {

/// Multiply-adds of f32: chains that hide their latency, and the links of each in a round, so many
/// that counting rounds takes 2 % of the instructions.
static constexpr int64_t kChains = 8, kLinks = 16;
/// Products of a warp in a round, each with sums of its own.
static constexpr int64_t kProducts = 8;
/// A product of warpgroups, as in products of many rows (WarpgroupTile.cpp), and those of a round.
static constexpr int64_t kWarpgroups = 2, kColumns = 192, kGroupProducts = 4;
/// Loads of a thread in a round, all of which are under way together.
static constexpr int64_t kLoads = 8;

static constexpr int64_t operationsOf(int64_t rows, int64_t columns, int64_t steps) {
  return 2 * rows * columns * steps;
}

// What the runtime computes rates from.
static_assert(infoOf(Roof::MultiplyF32).work ==
              infoOf(Roof::MultiplyF32).threads * kChains * kLinks * 2);
static_assert(infoOf(Roof::MultiplyBf16).work ==
              infoOf(Roof::MultiplyBf16).threads / kWarpLanes * kProducts *
                  operationsOf(kMatrixRows, kMatrixColumns, 2 * kMatrixWords));
static_assert(infoOf(Roof::MultiplyTf32).work ==
              infoOf(Roof::MultiplyTf32).threads / kWarpLanes * kProducts *
                  operationsOf(kMatrixRows, kMatrixColumns, kMatrixWords));
static_assert(infoOf(Roof::MultiplyIntegers).work ==
              infoOf(Roof::MultiplyIntegers).threads / kWarpLanes * kProducts *
                  operationsOf(kMatrixRows, kMatrixColumns, codesTogether *kMatrixWords));
static_assert(infoOf(Roof::WarpgroupsMultiplyBf16).work ==
              kWarpgroups * kGroupProducts *
                  operationsOf(kWarpgroupRows, kColumns, kWarpgroupSteps));
static_assert(infoOf(Roof::WarpgroupsMultiplyBf16).threads == kWarpgroups * kWarpgroupThreads);
static_assert(infoOf(Roof::Read).work == infoOf(Roof::Read).threads * kLoads * roofPartBytes);

namespace {
/// The body of such a kernel.
class RoofCode {
public:
  RoofCode(const BlockCode &block, const LaunchRecord &launch)
      : code(block.code), block(block), launch(launch) {}

  void emit(Roof roof);

private:
  FixedRecord numbers() { return {code, launch.operand(1)}; }
  /// Returns the word of a factor, as f32.
  Value factor(size_t offset) { return code.loadScalar(numbers().at(offset)); }
  Value first() { return factor(offsetof(HeddleRoofNumbers, first)); }
  Value second() { return factor(offsetof(HeddleRoofNumbers, second)); }
  Value wordOf(Value number) {
    return arith::BitcastOp::create(code.builder, code.location, code.i32, number);
  }
  /// Returns the number of the thread in the grid.
  Value caller() { return Callers::load(code).own; }
  SmallVector<Value> overRounds(ValueRange initial, VectorCode::CarriedBody body) {
    Value rounds = code.subtract(launch.integer(offsetof(HeddleDeviceLaunch, column_end)),
                                 launch.integer(offsetof(HeddleDeviceLaunch, column_begin)));
    return code.loop(code.integer(0), rounds, 1, initial, body);
  }
  void storeSum(ValueRange numbers);

  void multiplyF32();
  SmallVector<Value> multiplyByWarp(Roof roof, ValueRange rows, ValueRange columns,
                                    ValueRange sums);
  void multiplyByWarps(Roof roof);
  void multiplyByWarpgroups();
  void readParts();

  VectorCode &code;
  BlockCode block;
  const LaunchRecord launch;
};
} // namespace

/// Stores the sum of a thread's numbers, in their order, as its result.
void RoofCode::storeSum(ValueRange numbers) {
  Value sum = numbers.front();
  for (Value number : numbers.drop_front()) {
    sum = code.addFloat(sum, number);
  }
  code.storeScalar(sum, code.at(launch.operand(0), caller()));
}

/// Chains begin with different numbers: LLVM computes equal ones once.
void RoofCode::multiplyF32() {
  Value number = arith::SIToFPOp::create(code.builder, code.location, code.f32, block.thread);
  Value multiplied = first(), added = second();
  SmallVector<Value> initial;
  for (int64_t chain = 0; chain < kChains; ++chain) {
    initial.push_back(code.addFloat(number, code.number(static_cast<float>(chain))));
  }
  storeSum(overRounds(initial, [&](Value, ValueRange carried) {
    SmallVector<Value> chains(carried);
    for (int64_t link = 0; link < kLinks; ++link) {
      for (Value &chain : chains) {
        chain = code.fma(chain, multiplied, added);
      }
    }
    return chains;
  }));
}

/// Adds a product of a warp to its sums.
SmallVector<Value> RoofCode::multiplyByWarp(Roof roof, ValueRange rows, ValueRange columns,
                                            ValueRange sums) {
  return roof == Roof::MultiplyBf16   ? block.multiplyBf16(rows, columns, sums)
         : roof == Roof::MultiplyTf32 ? block.multiplyTf32(rows, columns, sums)
                                      : block.multiplyCodes(rows, columns, sums,
                                                            /*areRowsSigned=*/false);
}

/// All elements of a matrix are equal; the sums of a product begin with its number.
void RoofCode::multiplyByWarps(Roof roof) {
  constexpr size_t sums = 4;
  const bool isOfIntegers = roof == Roof::MultiplyIntegers;
  const SmallVector<Value> rows(4, wordOf(first())), columns(2, wordOf(second()));
  SmallVector<Value> initial;
  for (int64_t product = 0; product < kProducts; ++product) {
    Value number =
        isOfIntegers ? arith::ConstantIntOp::create(code.builder, code.location, code.i32, product)
                           .getResult()
                     : code.number(static_cast<float>(product));
    initial.append(sums, number);
  }
  SmallVector<Value> all = overRounds(initial, [&](Value, ValueRange carried) {
    SmallVector<Value> after;
    for (size_t product = 0; product < kProducts; ++product) {
      ValueRange own = carried.slice(product * sums, sums);
      llvm::append_range(after, multiplyByWarp(roof, rows, columns, own));
    }
    return after;
  });
  for (Value &sum : all) {
    sum = isOfIntegers
              ? arith::SIToFPOp::create(code.builder, code.location, code.f32, sum).getResult()
              : sum;
  }
  storeSum(all);
}

/// Two warpgroups multiply the rows of their own with the same columns, all in shared memory as
/// core matrices. While a group of products is under way, the next is begun, as in
/// WarpgroupTile.cpp.
void RoofCode::multiplyByWarpgroups() {
  constexpr int64_t rowsBytes = kWarpgroupRows * kWarpgroupSteps * kBf16Bytes;
  constexpr int64_t columnsBegin = kWarpgroups * rowsBytes;
  constexpr int64_t bytes = columnsBegin + kColumns * kWarpgroupSteps * kBf16Bytes;
  constexpr int64_t wordBytes = sizeof(uint32_t);
  static_assert(infoOf(Roof::WarpgroupsMultiplyBf16).shared == bytes);
  WarpgroupCode warpgroups(block);
  Value ofRows = wordOf(first()), ofColumns = wordOf(second());
  code.loop(block.thread, code.integer(bytes / wordBytes), kWarpgroups * kWarpgroupThreads,
            [&](Value word) {
              Value isOfRows = code.less(word, code.integer(columnsBegin / wordBytes));
              block.storeWords({code.select(isOfRows, ofRows, ofColumns)},
                               block.sharedAt(code.multiply(word, wordBytes)));
            });
  warpgroups.fenceProxies();
  block.barrier();
  constexpr int64_t coreBytes = kCoreRows * kCoreRowBytes;
  Value own = code.multiply(code.divide(block.thread, kWarpgroupThreads), rowsBytes);
  Value rows = warpgroups.descriptor(own, kCoreRowBytes, coreBytes, kWarpgroupRows * kCoreRowBytes);
  Value columns = warpgroups.descriptor(code.integer(columnsBegin), kCoreRowBytes, coreBytes,
                                        kColumns * kCoreRowBytes);
  const SmallVector<Value> initial(kWarpgroupRows * kColumns / kWarpgroupThreads, code.number(0));
  const SmallVector<Value> last = overRounds(initial, [&](Value round, ValueRange carried) {
    // The first product replaces the sums.
    Value isLater = arith::ExtUIOp::create(code.builder, code.location, code.i32,
                                           code.less(code.integer(0), round));
    SmallVector<Value> sums(carried);
    warpgroups.fenceRegisters();
    for (int64_t product = 0; product < kGroupProducts; ++product) {
      sums = warpgroups.add(sums, rows, columns, product == 0 ? isLater : warpgroups.constant(1));
    }
    warpgroups.commit();
    warpgroups.await(1);
    return sums;
  });
  storeSum(warpgroups.awaitSums(last));
}

/// The threads of the grid read adjacent parts, and go on behind all of them; behind the last part
/// comes the first. Loads are volatile: they come from the second-level cache or from memory, as
/// those of weights do in a model's kernels. The result is the exclusive or of all words.
void RoofCode::readParts() {
  Value from = launch.operand(2);
  Value parts = numbers().integer(offsetof(HeddleRoofNumbers, parts));
  const auto wrapped = [&](Value part) {
    return code.subtract(part, code.multiply(code.divide(part, parts), parts));
  };
  Value step = wrapped(
      code.multiply(readRegister<NVVM::GridDimXOp>(code), readRegister<NVVM::BlockDimXOp>(code)));
  auto type = VectorType::get({roofPartBytes / int64_t(sizeof(uint32_t))}, code.i32);
  Value nothing = block.zero(type);
  auto global = LLVM::LLVMPointerType::get(code.builder.getContext(), /*addressSpace=*/1);
  Value base = LLVM::AddrSpaceCastOp::create(code.builder, code.location, global, from);
  const SmallVector<Value> last =
      overRounds({wrapped(caller()), nothing}, [&](Value, ValueRange carried) {
        Value part = carried[0], all = carried[1];
        SmallVector<Value> loaded;
        for (int64_t load = 0; load < kLoads; ++load) {
          Value address =
              LLVM::GEPOp::create(code.builder, code.location, global, code.builder.getI8Type(),
                                  base, ValueRange{code.multiply(part, roofPartBytes)});
          loaded.push_back(LLVM::LoadOp::create(code.builder, code.location, type, address,
                                                roofPartBytes, /*isVolatile=*/true));
          Value next = code.add(part, step);
          part = code.select(code.less(next, parts), next, code.subtract(next, parts));
        }
        for (Value each : loaded) {
          all = arith::XOrIOp::create(code.builder, code.location, all, each);
        }
        return SmallVector<Value>{part, all};
      });
  Value word =
      vector::ReductionOp::create(code.builder, code.location, vector::CombiningKind::XOR, last[1]);
  code.storeScalar(arith::BitcastOp::create(code.builder, code.location, code.f32, word),
                   code.at(launch.operand(0), caller()));
}

void RoofCode::emit(Roof roof) {
  switch (roof) {
  case Roof::MultiplyF32:
    return multiplyF32();
  case Roof::MultiplyBf16:
  case Roof::MultiplyTf32:
  case Roof::MultiplyIntegers:
    return multiplyByWarps(roof);
  case Roof::WarpgroupsMultiplyBf16:
    return multiplyByWarpgroups();
  case Roof::Read:
    return readParts();
  }
}

/// Returns whether products of a target use what a kernel measures.
static bool isOf(Roof roof, const TargetDescription &target) {
  switch (roof) {
  case Roof::MultiplyBf16:
    return !hasWarpgroups(target);
  case Roof::WarpgroupsMultiplyBf16:
    return hasWarpgroups(target);
  case Roof::MultiplyF32:
  case Roof::MultiplyTf32:
  case Roof::MultiplyIntegers:
  case Roof::Read:
    return true;
  }
}

void addRoofKernels(ModuleOp module, const TargetDescription &target) {
  for (size_t number = 0; number < std::size(roofKernels); ++number) {
    const auto roof = static_cast<Roof>(number);
    if (isOf(roof, target)) {
      const RoofKernel &kernel = infoOf(roof);
      // Those of tensor cores have more threads than separate callers.
      const bool areTogether = kernel.threads > target.backend->launchShape().threads();
      addOwnEntry(module, target, {kernel.entry, kernel.threads, kAnyBlocks, areTogether},
                  [&](const BlockCode &block, const LaunchRecord &launch) {
                    RoofCode(block, launch).emit(roof);
                  });
    }
  }
}

} // namespace heddle
