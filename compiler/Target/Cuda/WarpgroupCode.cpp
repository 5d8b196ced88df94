// SPDX-License-Identifier: Apache-2.0
///
/// Implements the operations of warpgroups with the nvvm dialect. Products, and the fences and
/// waits that have their registers as operands, are inline assembly: no intrinsic of LLVM has
/// registers that are read and written later.
#include "compiler/Target/Cuda/WarpgroupCode.h"

#include "base/NvidiaTargets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

static constexpr unsigned kGlobalSpace = 1, kClusterSpace = 7;

bool hasWarpgroups(const TargetDescription &target) {
  // Only this GPU has the instructions, so only code for exactly this one may use them.
  constexpr int hopper = 90;
  const NvidiaTarget *const gpu = findNvidiaTarget(target.name);
  assert(gpu && "all targets of this back end are in the table");
  return gpu->isExact && gpu->capability == hopper;
}

WarpgroupCode::WarpgroupCode(BlockCode &block) : block(block), code(block.code) {
  block.alignShared(kSwizzleAlignment);
}

Value WarpgroupCode::constant(int64_t value) {
  return arith::ConstantIntOp::create(code.builder, code.location, code.i32, value);
}

// --- mbarriers and copies ------------------------------------------------------------------------

void WarpgroupCode::createMbarrier(Value offset, Value arrivals) {
  NVVM::MBarrierInitOp::create(code.builder, code.location, block.sharedAt(offset), arrivals,
                               /*predicate=*/Value());
}

void WarpgroupCode::destroyMbarrier(Value offset) {
  NVVM::MBarrierInvalOp::create(code.builder, code.location, block.sharedAt(offset));
}

void WarpgroupCode::arrive(Value offset) {
  NVVM::MBarrierArriveOp::create(code.builder, code.location, code.i64, block.sharedAt(offset),
                                 /*count=*/Value());
}

void WarpgroupCode::arriveExpecting(Value offset, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(code.builder, code.location, code.i64,
                                         block.sharedAt(offset), constant(bytes),
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                         /*predicate=*/Value());
}

void WarpgroupCode::awaitPhase(Value offset, Value parity) {
  OpBuilder &builder = code.builder;
  Value mbarrier = block.sharedAt(offset);
  auto loop = scf::WhileOp::create(builder, code.location, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&loop.getBefore());
  // The instruction may give up before the phase is complete.
  Value isComplete = NVVM::MBarrierTryWaitOp::create(builder, code.location, builder.getI1Type(),
                                                     mbarrier, parity, /*ticks=*/Value());
  Value yes = arith::ConstantIntOp::create(builder, code.location, builder.getI1Type(), 1);
  scf::ConditionOp::create(builder, code.location,
                           arith::XOrIOp::create(builder, code.location, isComplete, yes),
                           ValueRange());
  builder.createBlock(&loop.getAfter());
  scf::YieldOp::create(builder, code.location);
}

void WarpgroupCode::copyBulk(Value to, Value from, int64_t bytes, Value mbarrier) {
  auto space = [&](Value address, unsigned number) -> Value {
    auto type = LLVM::LLVMPointerType::get(code.builder.getContext(), number);
    return LLVM::AddrSpaceCastOp::create(code.builder, code.location, type, address);
  };
  // The destination is named as in a cluster, here of one block: the other form needs PTX 8.6.
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      code.builder, code.location, space(block.sharedAt(to), kClusterSpace),
      space(from, kGlobalSpace), block.sharedAt(mbarrier), constant(bytes),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
}

void WarpgroupCode::fenceProxies() {
  MLIRContext *const context = code.builder.getContext();
  NVVM::FenceProxyOp::create(code.builder, code.location,
                             NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
}

// --- matrices ------------------------------------------------------------------------------------

Value WarpgroupCode::permuted(Value row, Value part, int64_t rowBytes) {
  const int64_t together = kBankBytes / rowBytes;
  Value order = code.remainder(code.divide(row, together), rowBytes / kCoreRowBytes);
  return arith::XOrIOp::create(code.builder, code.location, part, order);
}

SmallVector<Value> WarpgroupCode::partOf(ValueRange numbers) {
  assert(static_cast<int64_t>(numbers.size()) == kCoreSteps && "a row of a core matrix");
  SmallVector<Value> words;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    words.push_back(block.roundedPair(numbers[i], numbers[i + 1]));
  }
  return words;
}

void WarpgroupCode::storePart(ValueRange numbers, Value offset) {
  block.storeWords(partOf(numbers), block.sharedAt(offset));
}

Value WarpgroupCode::descriptor(Value offset, int64_t rowBytes, int64_t stride, int64_t leading) {
  OpBuilder &builder = code.builder;
  // Offsets are in units of 16 bytes: bits 0 to 13 the address, from 16 on the leading one, from 32
  // on the stride. The last two bits say how parts are permuted.
  constexpr int64_t addressBits = (1 << 18) - 1, unit = 16;
  const int64_t permutation = rowBytes == 128 ? 1 : rowBytes == 64 ? 2 : rowBytes == 32 ? 3 : 0;
  const auto fields = static_cast<int64_t>(static_cast<uint64_t>(permutation) << 62 |
                                           static_cast<uint64_t>(stride / unit) << 32 |
                                           static_cast<uint64_t>(leading / unit) << 16);
  Value address =
      LLVM::PtrToIntOp::create(builder, code.location, code.i64, block.sharedAt(offset));
  Value inWindow =
      arith::AndIOp::create(builder, code.location, address, code.integer(addressBits));
  Value units = arith::ShRUIOp::create(builder, code.location, inWindow, code.integer(4));
  return arith::OrIOp::create(builder, code.location, units, code.integer(fields));
}

Value WarpgroupCode::moved(Value descriptor, int64_t bytes) {
  return code.add(descriptor, bytes / 16);
}

// --- products ------------------------------------------------------------------------------------

SmallVector<Value> WarpgroupCode::changeRegisters(TypeRange types, ValueRange read,
                                                  ValueRange others, const std::string &text,
                                                  llvm::StringRef constraints) {
  OpBuilder &builder = code.builder;
  SmallVector<std::string> all;
  for (Type each : types) {
    all.emplace_back(each.isF32() ? "=f" : "=r");
  }
  for (size_t i = 0; i < read.size(); ++i) {
    all.push_back(std::to_string(i));
  }
  if (!constraints.empty()) {
    all.push_back(constraints.str());
  }
  SmallVector<Value> operands(read);
  llvm::append_range(operands, others);
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(types));
  auto noTail =
      LLVM::TailCallKindAttr::get(builder.getContext(), LLVM::tailcallkind::TailCallKind::None);
  Value changed = LLVM::InlineAsmOp::create(
                      builder, code.location, TypeRange{type}, operands,
                      builder.getStringAttr(text), builder.getStringAttr(llvm::join(all, ",")),
                      /*has_side_effects=*/builder.getUnitAttr(),
                      /*is_align_stack=*/UnitAttr(), noTail, LLVM::AsmDialectAttr(), ArrayAttr())
                      ->getResult(0);
  SmallVector<Value> results;
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(
        LLVM::ExtractValueOp::create(builder, code.location, changed, static_cast<int64_t>(i)));
  }
  return results;
}

SmallVector<Value> WarpgroupCode::fenceRegisters(ValueRange registers) {
  if (registers.empty()) {
    NVVM::WgmmaFenceAlignedOp::create(code.builder, code.location);
    return {};
  }
  // The registers are operands, so that nothing writes them after the fence.
  return changeRegisters(registers.getTypes(), registers, {}, "wgmma.fence.sync.aligned;", "");
}

/// Emits a product with `count` sums for each thread, which it reads if they are given. Rows are a
/// descriptor or four words.
SmallVector<Value> WarpgroupCode::addProduct(size_t count, ValueRange sums, ValueRange rows,
                                             Value columns, Value adds) {
  size_t used = count + sums.size();
  const auto next = [&] { return "$" + std::to_string(used++); };
  const bool areWords = rows.size() > 1;
  const auto listOf = [](ArrayRef<std::string> each) { return "{" + llvm::join(each, ", ") + "}"; };
  SmallVector<std::string> registers, first;
  for (size_t i = 0; i < count; ++i) {
    registers.push_back("$" + std::to_string(i));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    first.push_back(next());
  }
  const std::string second = next(), isAdded = next();
  // Neither matrix is negated or transposed; one in registers cannot be transposed.
  SmallVector<std::string> immediates;
  SmallVector<Value> operands(rows);
  operands.append({columns, adds, constant(1), constant(1), constant(0)});
  if (!areWords) {
    operands.push_back(constant(0));
  }
  for (size_t i = rows.size() + 2; i < operands.size(); ++i) {
    immediates.push_back(next());
  }
  const std::string shape = "m" + std::to_string(kWarpgroupRows) + "n" + std::to_string(2 * count) +
                            "k" + std::to_string(kWarpgroupSteps);
  const std::string text = "{\n.reg .pred adds;\nsetp.ne.b32 adds, " + isAdded +
                           ", 0;\nwgmma.mma_async.sync.aligned." + shape + ".f32.bf16.bf16 " +
                           listOf(registers) + ", " + (areWords ? listOf(first) : first.front()) +
                           ", " + second + ", adds, " + llvm::join(immediates, ", ") + ";\n}";
  const SmallVector<Type> types(count, code.f32);
  return changeRegisters(types, sums, operands, text,
                         areWords ? "r,r,r,r,l,r,n,n,n" : "l,l,r,n,n,n,n");
}

SmallVector<Value> WarpgroupCode::add(ValueRange sums, Value rows, Value columns, Value adds) {
  return addProduct(sums.size(), sums, rows, columns, adds);
}

SmallVector<Value> WarpgroupCode::multiply(size_t count, Value rows, Value columns) {
  return addProduct(count, {}, rows, columns, constant(0));
}

SmallVector<Value> WarpgroupCode::addWords(ValueRange sums, ValueRange words, Value columns) {
  assert(words.size() == 4 && "two rows and two parts of steps");
  return addProduct(sums.size(), sums, words, columns, constant(1));
}

void WarpgroupCode::commit() { NVVM::WgmmaGroupSyncAlignedOp::create(code.builder, code.location); }

void WarpgroupCode::await(int64_t running) {
  NVVM::WgmmaWaitGroupSyncOp::create(code.builder, code.location, static_cast<uint64_t>(running));
}

SmallVector<Value> WarpgroupCode::awaitSums(ValueRange registers, int64_t running) {
  // The registers are operands, so that nothing uses them before the wait.
  return changeRegisters(
      registers.getTypes(), registers, {constant(running)},
      "wgmma.wait_group.sync.aligned $" + std::to_string(2 * registers.size()) + ";", "n");
}

} // namespace heddle
